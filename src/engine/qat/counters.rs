//! What the device was asked and what came of it, in the manner of ZFS's kstat.
//!
//! Two sums hold at every moment when nothing is in flight: `offered = requests + incompressible + failed + abandoned`, and
//! `fallback_blocks = offered - requests`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// A copy of the counters; blocks unless bytes are named.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[doc = $doc])+ pub $name: u64,)+
            /// Failed blocks by the library's code; 1 stands for success with impossible lengths or a wrong output.
            pub failures: BTreeMap<i32, u64>,
        }

        /// The counters themselves.
        #[derive(Debug, Default)]
        pub(super) struct Live {
            $(pub(super) $name: AtomicU64,)+
            failures: Mutex<BTreeMap<i32, u64>>,
        }

        impl Live {
            /// A copy.
            pub(super) fn read(&self) -> Counters {
                Counters {
                    $($name: self.$name.load(Ordering::Relaxed),)+
                    failures: self.failures.lock().unwrap_or_else(PoisonError::into_inner).clone(),
                }
            }
        }

        /// Name and meaning of every counter.
        #[must_use]
        pub fn named() -> Vec<(&'static str, &'static str)> {
            vec![$((stringify!($name), concat!($($doc),+).trim_ascii_start()),)+]
        }

        impl Counters {
            /// Every number with its name, without the failures by code.
            #[must_use]
            pub fn numbers(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)+]
            }
        }
    };
}

counters! {
    /// Blocks that were offered to the device.
    offered,
    /// Of these, compressed by the device and used.
    requests,
    /// Plain bytes of the requests.
    bytes_in,
    /// Compressed bytes of the requests.
    bytes_out,
    /// Offered, compressed, and stored plain because they did not shrink by 3 %.
    incompressible,
    /// Offered, and failed or wrong.
    failed,
    /// Offered, and not answered in time.
    abandoned,
    /// Waits because no instance was free.
    busy_waits,
    /// Not offered: shorter than 4 KiB.
    too_small,
    /// Not offered: longer than 512 KiB.
    too_large,
    /// Not offered: a sample shows that they will not shrink.
    unpromising,
    /// Not offered: another codec or level, or a block to be opened.
    unfit,
    /// Not offered: the device was no longer in use.
    after_off,
    /// Offered, and sealed on the CPU all the same.
    fallback_blocks,
    /// Plain bytes of these.
    fallback_bytes,
    /// Outputs that were inflated on the CPU and compared.
    verified,
    /// Of these, different.
    verify_failed,
    /// Results that were made again on the CPU because another one was wrong.
    made_again,
    /// Sessions that were begun.
    sessions,
}

impl Live {
    /// Counts a failed block by its code.
    pub(super) fn fail(&self, code: i32) {
        add(&self.failed, 1);
        *self.failures.lock().unwrap_or_else(PoisonError::into_inner).entry(code).or_insert(0) += 1;
    }
}

pub(super) fn add(counter: &AtomicU64, more: usize) {
    counter.fetch_add(more as u64, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::{Live, add, named};

    #[test]
    fn every_counter_has_a_name_and_a_meaning() {
        let live = Live::default();
        add(&live.offered, 3);
        live.fail(-2);
        live.fail(-2);
        let read = live.read();
        assert_eq!((read.offered, read.failed, read.failures[&-2]), (3, 2, 2));
        assert_eq!(named()[0], ("offered", "Blocks that were offered to the device."));
        assert_eq!(named().len(), read.numbers().len());
    }
}
