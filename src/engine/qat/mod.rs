//! Sealing with Intel QuickAssist: deflate on the device through QATzip, encryption on the thread that gets the result.
//!
//! The library is foreign code over foreign hardware, so this room keeps to eight rules, each of which the real library
//! punishes otherwise:
//! 1. One block is one call and one request; after a failed call of several, late answers land in later calls.
//! 2. The library's own software fallback is off; ours runs block by block.
//! 3. A session belongs to one thread, stays where it is, and is not used after a failed set-up; there are at most as many
//!    workers as instances; the process does not fork once the library runs.
//! 4. Neither the asynchronous calls nor the library's allocator.
//! 5. Success is a code of 0, all input taken and an output that fits, nothing less.
//! 6. The library has no timeout. A watchdog abandons a worker that does not come back, with its buffers, and the process
//!    ends without asking the library.
//! 7. After a failure the next outputs are inflated on the CPU and compared; one that differs ends the use of the device,
//!    and so do too many failures.
//! 8. What the device gave is untrusted until its block was opened.

mod api;
mod counters;
mod device;
mod lane;
mod probe;
mod session;
mod trust;
mod watchdog;
mod worker;

pub use api::{library_names, load};
pub use counters::{Counters, named};
pub use device::{QatEngine, QatSettings, Refusal, abandoned, leave};
pub use probe::{Access, Device, Missing, Probe};
pub use trust::{OnOff, Verify};

/// The least and the most bytes of a block that is offered to the device; the most is one request.
pub const OFFERED: std::ops::RangeInclusive<usize> = 4096..=qatzip_sys::QZ_HW_BUFF_MAX_SZ as usize;
