//! How a run ended, for scripts.

/// What the exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything was done.
    Done,
    /// It was not done.
    Failed,
    /// The command line or the environment is wrong.
    Usage,
    /// It was done, but some items could not be read or written.
    Partial,
    /// Stored data is damaged.
    Damage,
    /// There is no repository.
    NoRepository,
    /// A lease was lost, or could not be had in time.
    Lease,
    /// Wrong password or key.
    WrongSecret,
    /// The storage is out of reach or refuses.
    Storage,
    /// The format is too new or not supported.
    TooNew,
    /// There is no space left.
    NoSpace,
    /// A signal with this number asked to stop.
    Signal(u8),
}

impl Exit {
    /// The code that the process ends with.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Partial => 3,
            Self::Damage => 4,
            Self::NoRepository => 10,
            Self::Lease => 11,
            Self::WrongSecret => 12,
            Self::Storage => 13,
            Self::TooNew => 14,
            Self::NoSpace => 15,
            Self::Signal(number) => number.saturating_add(128),
        }
    }
}
