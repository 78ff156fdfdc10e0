//! What a writer says of itself, in clear (`repo-format.md`, chapter 12).

use super::FormatError;
use super::record::{MapReader, MapWriter, missing, whole};

const LEASE: &str = "lease";

/// The record of a lease object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// Random.
    pub id: [u8; 16],
    /// Number of renewals.
    pub counter: u64,
    /// Host.
    pub host: String,
    /// Process id.
    pub pid: u64,
    /// Boot id of the host.
    pub boot: String,
    /// Start of the process in clock ticks since boot.
    pub started: u64,
    /// What the writer does.
    pub operation: String,
    /// PID namespace.
    pub namespace: u64,
}

impl Lease {
    /// The record's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut map = MapWriter::new();
        map.bytes(0, &self.id);
        map.u64(1, self.counter);
        map.text(2, &self.host);
        map.u64(3, self.pid);
        map.text(4, &self.boot);
        map.u64(5, self.started);
        map.text(6, &self.operation);
        map.u64(7, self.namespace);
        map.finish()
    }

    /// Reads a lease object.
    ///
    /// # Errors
    /// When the record, a field or a limit is broken.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        whole(bytes, LEASE, |decoder| {
            let mut map = MapReader::new(decoder, LEASE)?;
            let (mut lease, mut seen) = (Self::default(), 0);
            while let Some(key) = map.next_key()? {
                if key < 8 {
                    seen |= 1 << key;
                }
                match key {
                    0 => lease.id = map.fixed()?,
                    1 => lease.counter = map.u64()?,
                    2 => lease.host = map.text(256)?,
                    3 => lease.pid = map.u64()?,
                    4 => lease.boot = map.text(64)?,
                    5 => lease.started = map.u64()?,
                    6 => lease.operation = map.text(64)?,
                    7 => lease.namespace = map.u64()?,
                    _ => map.skip()?,
                }
            }
            if seen == 0xff { Ok(lease) } else { Err(missing(LEASE, "a field")) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Lease;
    use proptest::prelude::*;

    #[test]
    fn a_lease_survives_its_bytes() {
        let lease = Lease {
            id: [1; 16],
            counter: 2,
            host: "nas".into(),
            pid: 3,
            boot: "b".into(),
            started: 4,
            operation: "backup".into(),
            namespace: 5,
        };
        assert_eq!(Lease::from_bytes(&lease.to_bytes()), Ok(lease));
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_a_lease_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = Lease::from_bytes(&bytes);
        }
    }
}
