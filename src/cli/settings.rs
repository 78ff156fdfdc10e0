//! Flags and variables made into settings.

use super::arguments::Global;
use crate::codec::Compression;
use crate::commands::{CacheSettings, CacheSize, CommandError, EngineSettings, Location, PasswordSource};
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use zeroize::Zeroizing;

const REPO: &str = "NIGHTJAR_REPO";
const PASSWORD: &str = "NIGHTJAR_PASSWORD";
const PASSWORD_FILE: &str = "NIGHTJAR_PASSWORD_FILE";
const PASSWORD_COMMAND: &str = "NIGHTJAR_PASSWORD_COMMAND";
const COMPRESSION: &str = "NIGHTJAR_COMPRESSION";
const ENGINE: &str = "NIGHTJAR_ENGINE";
const QATZIP_LIB: &str = "NIGHTJAR_QATZIP_LIB";
const QAT_ROOT: &str = "NIGHTJAR_QAT_ROOT";
const STATE_DIR: &str = "NIGHTJAR_STATE_DIR";
const CACHE_DIR: &str = "NIGHTJAR_CACHE_DIR";
const CACHE_SIZE: &str = "NIGHTJAR_CACHE_SIZE";

/// The variables that matter, as they are.
pub(super) struct Variables {
    repo: Option<OsString>,
    password: Option<OsString>,
    password_file: Option<OsString>,
    password_command: Option<OsString>,
    compression: Option<OsString>,
    engine: Option<OsString>,
    qatzip_lib: Option<OsString>,
    qat_root: Option<OsString>,
    state: Option<OsString>,
    state_home: Option<OsString>,
    cache: Option<OsString>,
    cache_size: Option<OsString>,
    cache_home: Option<OsString>,
    home: Option<OsString>,
    user: Option<OsString>,
    /// Whether colours are forbidden.
    pub(super) no_color: bool,
    /// Folder for scratch files.
    pub(super) temporary: PathBuf,
}

impl Variables {
    #[expect(clippy::disallowed_methods, reason = "this is the room that reads the environment")]
    pub(super) fn read() -> Self {
        Self {
            repo: std::env::var_os(REPO),
            password: std::env::var_os(PASSWORD),
            password_file: std::env::var_os(PASSWORD_FILE),
            password_command: std::env::var_os(PASSWORD_COMMAND),
            compression: std::env::var_os(COMPRESSION),
            engine: std::env::var_os(ENGINE),
            qatzip_lib: std::env::var_os(QATZIP_LIB),
            qat_root: std::env::var_os(QAT_ROOT),
            state: std::env::var_os(STATE_DIR),
            state_home: std::env::var_os("XDG_STATE_HOME"),
            cache: std::env::var_os(CACHE_DIR),
            cache_size: std::env::var_os(CACHE_SIZE),
            cache_home: std::env::var_os("XDG_CACHE_HOME"),
            home: std::env::var_os("HOME"),
            user: std::env::var_os("LOGNAME").or_else(|| std::env::var_os("USER")),
            // https://no-color.org: set and not empty
            no_color: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
            temporary: std::env::temp_dir(),
        }
    }

    /// The name of whoever runs the program, for the record; the number where nothing says the name.
    pub(super) fn user(&self) -> String {
        let named = self.user.as_ref().and_then(|name| name.to_str());
        let id = rustix::process::geteuid();
        match named.filter(|name| !name.is_empty()) {
            Some(name) => name.to_owned(),
            None if id.is_root() => "root".to_owned(),
            None => id.as_raw().to_string(),
        }
    }
}

/// A variable that must not be empty.
fn filled<'a>(name: &str, value: Option<&'a OsString>) -> Result<Option<&'a OsString>, CommandError> {
    match value {
        Some(value) if value.is_empty() => Err(CommandError::usage(
            format!("the variable {name} is set but empty"),
            "nobody can tell whether it was meant to say something",
            format!("give it a value, or take it away with `unset {name}`"),
        )),
        value => Ok(value),
    }
}

/// A variable that must be text.
fn text<'a>(name: &str, value: Option<&'a OsString>) -> Result<Option<&'a str>, CommandError> {
    let Some(value) = filled(name, value)? else {
        return Ok(None);
    };
    let text = value.to_str().ok_or_else(|| {
        CommandError::usage(
            format!("the variable {name} cannot be used"),
            "it is not UTF-8",
            format!("set {name} to UTF-8 text"),
        )
    })?;
    Ok(Some(text))
}

/// The place of the repository.
pub(super) fn location(global: &Global, variables: &Variables) -> Result<Option<Location>, CommandError> {
    let variable = filled(REPO, variables.repo.as_ref())?;
    global.repo.as_ref().or(variable).map(|place| Location::parse(place)).transpose()
}

/// Where the password comes from.
pub(super) fn password(global: &Global, variables: &Variables) -> Result<PasswordSource, CommandError> {
    let file = filled(PASSWORD_FILE, variables.password_file.as_ref())?;
    let command = text(PASSWORD_COMMAND, variables.password_command.as_ref())?;
    let given = text(PASSWORD, variables.password.as_ref())?;
    let flags = [
        global.password_file.clone().map(PasswordSource::File),
        global.password_command.clone().map(PasswordSource::Command),
    ];
    let from_flags = at_most_one(flags.into_iter().flatten().collect(), "options", "option")?;
    if let Some(source) = from_flags {
        return Ok(source);
    }
    let variables = [
        file.map(|path| PasswordSource::File(PathBuf::from(path))),
        command.map(|command| PasswordSource::Command(command.to_owned())),
        given.map(|text| PasswordSource::Given(Zeroizing::new(text.to_owned()))),
    ];
    let from_variables = at_most_one(variables.into_iter().flatten().collect(), "variables", "variable")?;
    Ok(from_variables.unwrap_or(PasswordSource::Terminal))
}

fn at_most_one(
    mut sources: Vec<PasswordSource>,
    several: &str,
    one: &str,
) -> Result<Option<PasswordSource>, CommandError> {
    if sources.len() > 1 {
        return Err(CommandError::usage(
            "the password comes from more than one place",
            format!("several {several} say where it is"),
            format!("keep one {one} of them"),
        ));
    }
    Ok(sources.pop())
}

/// The compression that was asked for.
pub(super) fn compression(global: &Global, variables: &Variables) -> Result<Option<Compression>, CommandError> {
    Ok(global.compression.or(parsed(COMPRESSION, variables.compression.as_ref())?))
}

/// The folder for what this host remembers of repositories; `None` where nothing says where that could be.
pub(super) fn state(variables: &Variables) -> Result<Option<PathBuf>, CommandError> {
    if let Some(given) = filled(STATE_DIR, variables.state.as_ref())? {
        return Ok(Some(PathBuf::from(given)));
    }
    Ok(own_folder(variables, variables.state_home.as_ref(), "/var/lib", ".local/state"))
}

/// The folder of this program for one purpose: below what the variable says, for root in a folder of the system, else below the
/// home folder.
fn own_folder(variables: &Variables, base: Option<&OsString>, system: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |path: Option<&OsString>| path.map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute(base)
        .or_else(|| rustix::process::geteuid().is_root().then(|| PathBuf::from(system)))
        .or_else(|| absolute(variables.home.as_ref()).map(|home| home.join(below_home)));
    base.map(|base| base.join("nightjar"))
}

/// Where objects of repositories that are far away are kept.
pub(super) fn cache(global: &Global, variables: &Variables) -> Result<CacheSettings, CommandError> {
    let folder = filled(CACHE_DIR, variables.cache.as_ref())?.map(PathBuf::from);
    let given = global.cache_dir.clone().or(folder);
    let size = parsed::<CacheSize>(CACHE_SIZE, variables.cache_size.as_ref())?;
    Ok(CacheSettings {
        wanted: !global.no_cache,
        is_given: given.is_some(),
        folder: given.unwrap_or_else(|| scratch(variables)),
        limit: global.cache_size.or(size).unwrap_or_default().0,
    })
}

/// The folder for scratch files that are too large for memory; one on a disk, as temporary folders often are not.
pub(super) fn scratch(variables: &Variables) -> PathBuf {
    let own = own_folder(variables, variables.cache_home.as_ref(), "/var/cache", ".cache");
    own.unwrap_or_else(|| variables.temporary.clone())
}

/// Where blocks are compressed, and how an accelerator is found.
pub(super) fn engine(global: &Global, variables: &Variables) -> Result<EngineSettings, CommandError> {
    let choice = parsed(ENGINE, variables.engine.as_ref())?;
    Ok(EngineSettings {
        choice: global.engine.or(choice).unwrap_or_default(),
        verify: global.qat_verify,
        library: filled(QATZIP_LIB, variables.qatzip_lib.as_ref())?.map(PathBuf::from),
        root: filled(QAT_ROOT, variables.qat_root.as_ref())?.map_or(PathBuf::from("/"), PathBuf::from),
    })
}

/// The value of a variable that has a few possible ones.
fn parsed<T: FromStr>(name: &str, value: Option<&OsString>) -> Result<Option<T>, CommandError>
where
    T::Err: ToString,
{
    text(name, value)?.map(T::from_str).transpose().map_err(|error| {
        CommandError::usage(
            format!("the variable {name} cannot be used"),
            error.to_string(),
            format!("set {name} to one of these, or take it away"),
        )
    })
}
