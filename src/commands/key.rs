//! `nightjar key`: what opens a repository: passwords, key files, recovery keys.

use super::init::Hash;
use super::named::{put_name, record};
use super::password::Asking;
use super::{CommandError, Context, Exit, PasswordSource, key_file, recovery, when};
use crate::crypto::{RecoveryKey, Secret};
use crate::format::Kdf;
use crate::repo::{KeySlots, ReplacedSlots, RepoError, SlotInfo, SlotSecret, SlotState};
use crate::storage::ObjectName;
use crate::ui::{Table, bytes, clean, escape};
use serde_json::{Value, json};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Options of `key`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Action {
    /// List the key slots
    List,
    /// Add a password, a key file or a recovery key
    Add(AddArgs),
    /// Remove a key slot; what it was for opens the repository no more
    Remove(RemoveArgs),
    /// Change the password that the repository is opened with
    Passwd(NewPassword),
    /// Say whether a recovery key opens the repository
    Verify(VerifyArgs),
}

/// Where a new password comes from, and what guessing it costs.
#[derive(Clone, Debug, clap::Args)]
#[expect(clippy::struct_field_names, reason = "the names are those of the options")]
struct NewPassword {
    /// File whose one line is the new password [default: the terminal is asked, twice]
    #[arg(long, value_name = "FILE", conflicts_with = "new_password_command")]
    new_password_file: Option<PathBuf>,
    /// Shell command that prints the new password
    #[arg(long, value_name = "COMMAND")]
    new_password_command: Option<String>,
    /// How hard guessing the new password is made: standard takes 64 MiB of memory a guess, strong 1 GiB
    /// [default: as for the password that opens the repository, else standard]
    #[arg(long, value_name = "NAME", value_enum)]
    kdf: Option<Hash>,
}

#[derive(Clone, Debug, clap::Args)]
struct AddArgs {
    #[command(flatten)]
    password: NewPassword,
    /// Make a key file there instead, which opens the repository as --password-file; an existing file is not touched
    #[arg(long, value_name = "PATH",
        conflicts_with_all = ["new_password_file", "new_password_command", "kdf", "recovery"])]
    key_file: Option<PathBuf>,
    /// Make another recovery key instead, which is shown once
    #[arg(long, conflicts_with_all = ["new_password_file", "new_password_command", "kdf"])]
    recovery: bool,
}

#[derive(Clone, Debug, clap::Args)]
struct RemoveArgs {
    /// The beginning of the slot's id, as `key list` shows it
    #[arg(value_name = "ID")]
    slot: String,
}

#[derive(Clone, Debug, clap::Args)]
struct VerifyArgs {
    /// File whose one line is the recovery key, such as a key file [default: the terminal is asked]
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

/// Runs `key`.
///
/// # Errors
/// When the repository cannot be opened, the new secret is not to be had, or the storage refuses.
pub fn run(args: &Args, context: &Context) -> Result<Exit, CommandError> {
    let exit = match &args.action {
        Action::List => list(context)?,
        Action::Add(args) => add(args, context)?,
        Action::Remove(args) => remove(&args.slot, context)?,
        Action::Passwd(args) => change(args, context)?,
        Action::Verify(args) => verify(args, context)?,
    };
    context.output.flush()?;
    Ok(exit)
}

impl NewPassword {
    /// The new password and its cost.
    fn slot(&self, slots: &KeySlots, context: &Context) -> Result<SlotSecret, CommandError> {
        let source = match (&self.new_password_file, &self.new_password_command) {
            (Some(file), _) => PasswordSource::File(file.clone()),
            (None, Some(command)) => PasswordSource::Command(command.clone()),
            (None, None) => PasswordSource::Terminal,
        };
        let usual = if slots.own_kdf() == Kdf::Key { Kdf::STANDARD } else { slots.own_kdf() };
        let secret = source.read(&context.output, Asking::Changed)?;
        Ok(SlotSecret { secret, kdf: self.kdf.map_or(usual, Hash::kdf), label: "password".to_owned() })
    }
}

/// The first digits of a slot's name.
fn short(name: &ObjectName) -> &str {
    &name.base()[..8]
}

fn list(context: &Context) -> Result<Exit, CommandError> {
    let slots = context.open_slots()?;
    let mut table = Table::new(&["id", "opens with", "cost of a guess", "cipher", "what is known"]);
    let mut exit = Exit::Done;
    for info in slots.list()? {
        if let SlotState::Unreadable(error) = &info.state {
            context.output.warn(&error.to_string());
            exit = Exit::Damage;
        }
        context.output.record(&record_of(&info, &slots))?;
        table.row(row_of(&info, &slots, context));
    }
    for line in table.lines() {
        context.output.line(&line)?;
    }
    Ok(exit)
}

fn row_of(info: &SlotInfo, slots: &KeySlots, context: &Context) -> Vec<String> {
    let id = short(&info.name).to_owned();
    let (with, cost, suite) = match &info.state {
        SlotState::Usable { kdf: Kdf::Argon2id { memory_kib, passes, lanes }, suite } => {
            let memory = bytes(u64::from(*memory_kib) << 10);
            ("password", format!("{memory}, {passes} passes, {lanes} lanes"), suite.as_str())
        }
        SlotState::Usable { kdf: Kdf::Key, suite } => ("recovery key or key file", String::new(), suite.as_str()),
        SlotState::Foreign => {
            return vec![id, String::new(), String::new(), String::new(), "of another repository".into()];
        }
        SlotState::Unreadable(_) => {
            return vec![id, String::new(), String::new(), String::new(), "cannot be read".into()];
        }
    };
    let known = if info.is_own {
        let made = when::local(slots.created(), &context.zone);
        format!("opened just now: {}, made {made}", clean(slots.label()))
    } else {
        String::new()
    };
    vec![id, with.to_owned(), cost, suite.to_owned(), known]
}

fn record_of(info: &SlotInfo, slots: &KeySlots) -> Value {
    let mut record = json!({"type": "key_slot", "id": info.name.base(), "opened": info.is_own});
    match &info.state {
        SlotState::Usable { kdf, suite } => {
            record["state"] = json!("usable");
            record["cipher"] = json!(suite.as_str());
            record["kind"] = json!(if *kdf == Kdf::Key { "key" } else { "password" });
            if let Kdf::Argon2id { memory_kib, passes, lanes } = kdf {
                record["kdf"] = json!({"memory_kib": memory_kib, "passes": passes, "lanes": lanes});
            }
        }
        SlotState::Foreign => record["state"] = json!("foreign"),
        SlotState::Unreadable(error) => {
            record["state"] = json!("unreadable");
            record["reason"] = json!(error.to_string());
        }
    }
    if info.is_own {
        record["label"] = json!(slots.label());
        record["created"] = json!(when::utc(slots.created()));
    }
    record
}

/// A slot for a random key.
fn key_slot(key: &RecoveryKey, label: &str) -> SlotSecret {
    SlotSecret { secret: Secret::new(key.to_text()), kdf: Kdf::Key, label: label.to_owned() }
}

fn add(args: &AddArgs, context: &Context) -> Result<Exit, CommandError> {
    let slots = context.open_slots()?;
    let mut summary = record("summary");
    summary.insert("command".to_owned(), json!("key add"));
    let (kind, slot) = if let Some(path) = &args.key_file {
        let key = slots.new_key()?;
        // First the file: a slot whose key nobody has would be worse than a file that opens nothing.
        key_file::create(path, &key)?;
        let slot = slots.add(&key_slot(&key, "key file")).inspect_err(|_| key_file::discard(path))?;
        put_name(&mut summary, "key_file", path.as_os_str().as_bytes());
        ("key file", slot)
    } else if args.recovery {
        let key = slots.new_key()?;
        let slot = slots.add(&key_slot(&key, "recovery"))?;
        recovery::tell(&key, context)?;
        summary.insert("recovery_key".to_owned(), json!(key.to_text().to_string()));
        summary.insert("recovery_words".to_owned(), json!(key.to_words()));
        ("recovery key", slot)
    } else {
        ("password", slots.add(&args.password.slot(&slots, context)?)?)
    };
    summary.insert("kind".to_owned(), json!(kind));
    summary.insert("slot".to_owned(), json!(slot.base()));
    context.output.line(&format!("added key slot {} for a {kind}", short(&slot)))?;
    if let Some(path) = &args.key_file {
        let path = escape(path.as_os_str().as_bytes());
        context
            .output
            .note(&format!("`--password-file {path}` opens the repository; keep the file as secret as a password"));
    }
    context.output.record(&Value::from(summary))?;
    Ok(Exit::Done)
}

fn remove(prefix: &str, context: &Context) -> Result<Exit, CommandError> {
    let slots = context.open_slots()?;
    let removed = slots.remove(prefix)?;
    if removed.was_own {
        context.output.warn(
            "this was the slot that opened with what you gave; only those who have the passwords or keys of the others \
             can tell whether those open",
        );
    }
    context.output.line(&format!("removed key slot {}, {} left", short(&removed.name), removed.left))?;
    context.output.record(&json!({
        "type": "summary", "command": "key remove", "slot": removed.name.base(), "opened": removed.was_own,
        "left": removed.left,
    }))?;
    Ok(Exit::Done)
}

fn change(args: &NewPassword, context: &Context) -> Result<Exit, CommandError> {
    let slots = context.open_slots()?;
    if slots.own_kdf() == Kdf::Key {
        // Nobody should have to think of a password to learn that.
        return Err(RepoError::NoPassword.into());
    }
    let ReplacedSlots { slot, removed, kept, untried } = slots.replace(&args.slot(&slots, context)?)?;
    for error in &untried {
        context.output.warn(&format!("the old password may still open a key slot that could not be tried: {error}"));
    }
    if let Some((name, error)) = kept.first() {
        return Err(CommandError::failed(
            "the old password still opens the repository",
            error.to_string(),
            format!("the new one opens it too; remove the old slot with `nightjar key remove {}`", short(name)),
        ));
    }
    context.output.line(&format!("the password was changed; its key slot is {}", short(&slot)))?;
    context.output.note("copies of the repository from before still open with the old password");
    context.output.record(&json!({
        "type": "summary", "command": "key passwd", "slot": slot.base(),
        "removed": removed.iter().map(ObjectName::base).collect::<Vec<_>>(),
    }))?;
    Ok(Exit::Done)
}

fn verify(args: &VerifyArgs, context: &Context) -> Result<Exit, CommandError> {
    let storage = context.existing()?;
    let source = args.key_file.clone().map_or(PasswordSource::Terminal, PasswordSource::File);
    let secret = source.read(&context.output, Asking::Recovery)?;
    if secret.recovery_key().is_none() {
        return Err(CommandError::password(
            "this is no recovery key",
            "it has not the form of one, or a character or word of it is wrong",
            "compare it with the paper: behind `nj1-` stand 56 letters and digits from 2 to 7; or 24 English words",
        ));
    }
    let slots = KeySlots::open(storage, context.environment.clone(), &secret).map_err(|error| match error {
        RepoError::WrongSecret => CommandError::password(
            "this recovery key does not open the repository",
            "it was written down without a mistake, but no key slot is for it",
            "it may be of another repository, or its slot was removed; `nightjar key list` shows what there is",
        ),
        error => error.into(),
    })?;
    let made = when::local(slots.created(), &context.zone);
    context.output.line(&format!("this key opens the repository: key slot {}, made {made}", short(slots.own())))?;
    context.output.record(&json!({
        "type": "summary", "command": "key verify", "slot": slots.own().base(), "label": slots.label(),
        "created": when::utc(slots.created()),
    }))?;
    Ok(Exit::Done)
}
