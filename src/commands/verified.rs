//! Which packs are read, and what is remembered of it.

use super::Context;
use super::quantity::{parse_share, parse_size};
use crate::check::{Subset, Verified};
use std::path::PathBuf;

/// What "read" means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// The bytes have the hash that is the name.
    Hashed,
    /// And every block was opened, every chunk compared with its id.
    Opened,
}

/// What this host remembers of a repository.
pub(super) struct Memory {
    pub(super) verified: Verified,
    file: Option<PathBuf>,
}

impl Memory {
    /// What is remembered; nothing, with a word about it, where that cannot be read.
    pub(super) fn load(context: &Context, repository: &[u8; 16], depth: Depth) -> Self {
        let depth = match depth {
            Depth::Hashed => "hashed",
            Depth::Opened => "opened",
        };
        let file = context.state.as_ref().map(|state| Verified::file(state, repository, depth));
        let Some(path) = &file else {
            context.output.detail("nothing says where to remember what was read, so it is not remembered");
            return Self { verified: Verified::default(), file };
        };
        let verified = Verified::load(path).unwrap_or_else(|error| {
            context.output.warn(&format!("what was read before is not known: `{}`: {error}", path.display()));
            Verified::default()
        });
        Self { verified, file }
    }

    /// Remembers; where that is not possible it is said, and the next run reads the same again.
    pub(super) fn store(&self, context: &Context) {
        if let Some(path) = &self.file
            && let Err(error) = self.verified.store(path)
        {
            context.output.warn(&format!("what was read is not remembered: `{}`: {error}", path.display()));
        }
    }
}

/// A part of the packs, as options write it.
///
/// # Errors
/// A sentence that says what is possible.
pub(super) fn parse_subset(text: &str) -> Result<Subset, String> {
    if text.ends_with('%') {
        return match parse_share(text)? {
            0 => Err("`0%` reads nothing".to_owned()),
            share => Ok(Subset::Share(share)),
        };
    }
    if let Some((n, of)) = text.split_once('/') {
        let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<u32>().ok()).flatten();
        return match (number(n), number(of)) {
            (Some(n), Some(of)) if n >= 1 && n <= of => Ok(Subset::Part(n, of)),
            _ => Err(format!("`{text}` is no part; write such as 3/7, from 1/7 to 7/7")),
        };
    }
    match parse_size(text) {
        Ok(0) => Err("a size of 0 reads nothing".to_owned()),
        Ok(size) => Ok(Subset::Bytes(size)),
        Err(_) => Err(format!("`{text}` is no part of the packs; write a share (5%), a size (50G) or a part (3/7)")),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_subset;
    use crate::check::Subset;

    #[test]
    fn parts_are_shares_sizes_or_fractions() {
        for (text, subset) in [
            ("5%", Subset::Share(50)),
            ("100%", Subset::Share(1000)),
            ("1/1", Subset::Part(1, 1)),
            ("3/7", Subset::Part(3, 7)),
            ("50G", Subset::Bytes(50 << 30)),
        ] {
            assert_eq!(parse_subset(text), Ok(subset));
        }
        for bad in ["", "0%", "0", "0/7", "8/7", "/7", "3/", "-1/7", "+1/7", "101%", "x", "1/2/3", "5 %"] {
            assert!(parse_subset(bad).is_err(), "{bad}");
        }
    }
}
