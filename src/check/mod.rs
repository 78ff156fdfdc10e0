//! Floor 7: what of a repository is damaged, all of it found in one run and named down to the files of snapshots; and
//! what can be done about it.
//!
//! `check` goes from the snapshots down to the packs and needs the keys; `scrub` compares every object with its name
//! and needs none.

mod finding;
mod heal;
mod known;
mod mend;
mod pack;
mod repair;
mod salvage;
mod sample;
mod scrub;
mod structure;
mod survey;
mod verified;

pub use finding::{CheckError, CheckReport, Damage, LOST_MAX, Lost};
pub use heal::restore_entrance;
pub use mend::Mended;
pub use repair::{RepairError, RepairReport, RepairRequest, repair};
pub use salvage::Salvaged;
pub use sample::{Sample, Subset};
pub use scrub::{ScrubReport, scrub};
pub use verified::Verified;

use crate::base::cancel::Cancel;
use crate::base::meter::Meter;
use crate::repo::Repository;
use known::Known;
use std::sync::Arc;
use survey::Survey;

/// Who looks on while a check runs.
#[derive(Debug)]
pub struct Watch {
    /// How far it is.
    pub meter: Arc<Meter>,
    /// Whether it is to stop.
    pub cancel: Cancel,
    /// Threads that work at once.
    pub threads: usize,
}

impl Watch {
    fn check(&self) -> Result<(), CheckError> {
        self.cancel.requested().map_or(Ok(()), |signal| Err(CheckError::Cancelled(signal)))
    }
}

/// Checks a repository: snapshots, trees, chunks, index and packs, and of packs that `sample` chooses every byte.
///
/// Backups and prunes may run meanwhile. When it ends early, `verified` says what was read until then.
///
/// # Errors
/// When it was asked to stop, or something failed that concerns everything. Damage is no error.
pub fn check(
    repository: &Arc<Repository>,
    sample: Option<&Sample>,
    verified: &mut Verified,
    watch: &Watch,
) -> Result<CheckReport, CheckError> {
    let survey = Survey::take(repository, sample, verified, &mut Known::default(), watch)?;
    Ok(survey.report)
}
