//! Recovery keys as they are shown to people: once.

use super::{CommandError, Context};
use crate::crypto::RecoveryKey;

/// Shows the key in both of its forms.
pub(super) fn tell(key: &RecoveryKey, context: &Context) -> Result<(), CommandError> {
    let output = &context.output;
    output.line(
        "\nRecovery key. It opens the repository when the password is lost. Write one of its two forms on paper,",
    )?;
    output.line("keep it away from this computer, and show it to nobody: it is as good as the password.")?;
    output.line("It is shown only this once.\n")?;
    output.line(&format!("    {}\n", *key.to_text()))?;
    for (row, words) in key.to_words().chunks(6).enumerate() {
        let words = (row * 6 + 1..).zip(words).map(|(n, word)| format!("{n:>2} {word:<9}"));
        output.line(format!("    {}", words.collect::<Vec<_>>().join(" ")).trim_end())?;
    }
    output
        .line("\nTo use it, give it wherever the password is asked for. `nightjar key verify` says whether what you")?;
    output.line("wrote down is right.")?;
    Ok(())
}
