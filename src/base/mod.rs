//! Floor 1: what everything else stands on; knows nothing of backups.

pub mod cancel;
pub mod clock;
pub mod entropy;
pub mod hex;
pub mod host;
pub mod memo;
pub mod meter;
pub mod specimen;
