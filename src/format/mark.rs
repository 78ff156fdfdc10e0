//! What a prune writes down: marks, censuses, and which snapshots of a void lease are honoured
//! (`repo-format.md`, chapter 12).

use super::limits::MARK_NAMES_MAX;
use super::record::{MapReader, MapWriter, missing, whole};
use super::{FormatError, Time};

const MARK: &str = "mark";
const CENSUS: &str = "census";
const HONOURED: &str = "honoured";
/// Bytes of a lease in a census.
const SEEN_LEN: usize = 24;

/// What is to be removed once nobody can need it any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When it was put, by the clock of the host that put it.
    pub created: Time,
    /// Names of packs.
    pub packs: Vec<[u8; 32]>,
    /// Names of forgotten snapshots, after whose removal they cannot be brought back.
    pub forgotten: Vec<[u8; 32]>,
    /// Names of snapshots that were removed for good, so that a gap in a chain of snapshots can be told from a loss.
    pub gone: Vec<[u8; 32]>,
}

impl Mark {
    /// Whether anything is to be removed; otherwise it only remembers.
    #[must_use]
    pub fn removes(&self) -> bool {
        !(self.packs.is_empty() && self.forgotten.is_empty())
    }

    /// The record's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut map = MapWriter::new();
        map.time(0, self.created);
        map.bytes(1, &self.packs.concat());
        map.bytes(2, &self.forgotten.concat());
        map.bytes(3, &self.gone.concat());
        map.finish()
    }

    /// Reads an opened mark.
    ///
    /// # Errors
    /// When the record, a field or a limit is broken.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        whole(bytes, MARK, |decoder| {
            let mut map = MapReader::new(decoder, MARK)?;
            let (mut created, mut lists) = (None, [None, None, None]);
            while let Some(key) = map.next_key()? {
                match key {
                    0 => created = Some(map.time()?),
                    1 => lists[0] = Some(names(&mut map, MARK)?),
                    2 => lists[1] = Some(names(&mut map, MARK)?),
                    3 => lists[2] = Some(names(&mut map, MARK)?),
                    _ => map.skip()?,
                }
            }
            match (created, lists) {
                (Some(created), [Some(packs), Some(forgotten), Some(gone)]) => {
                    Ok(Self { created, packs, forgotten, gone })
                }
                _ => Err(missing(MARK, "a field")),
            }
        })
    }
}

/// The leases that stood after a mark did; a mark without its census is void.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Name of the mark.
    pub mark: [u8; 32],
    /// Leases with the highest counter of each, ascending by id.
    pub leases: Vec<([u8; 16], u64)>,
}

impl Census {
    /// The counter of a lease, if it stood.
    #[must_use]
    pub fn counter(&self, lease: &[u8; 16]) -> Option<u64> {
        let place = self.leases.binary_search_by(|(id, _)| id.cmp(lease)).ok()?;
        Some(self.leases[place].1)
    }

    /// The record's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut map = MapWriter::new();
        map.bytes(0, &self.mark);
        let seen = self.leases.iter().flat_map(|(id, counter)| id.iter().copied().chain(counter.to_le_bytes()));
        map.bytes(1, &seen.collect::<Vec<u8>>());
        map.finish()
    }

    /// Reads a census.
    ///
    /// # Errors
    /// When the record, a field or a limit is broken, or the leases do not ascend.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        whole(bytes, CENSUS, |decoder| {
            let mut map = MapReader::new(decoder, CENSUS)?;
            let (mut mark, mut leases) = (None, None);
            while let Some(key) = map.next_key()? {
                match key {
                    0 => mark = Some(map.fixed()?),
                    1 => leases = Some(seen(map.bytes(MARK_NAMES_MAX * SEEN_LEN)?)?),
                    _ => map.skip()?,
                }
            }
            match (mark, leases) {
                (Some(mark), Some(leases)) => Ok(Self { mark, leases }),
                _ => Err(missing(CENSUS, "a field")),
            }
        })
    }
}

fn seen(bytes: &[u8]) -> Result<Vec<([u8; 16], u64)>, FormatError> {
    let broken = |reason: &str| FormatError::Record { what: CENSUS, reason: reason.to_owned() };
    let (entries, []) = bytes.as_chunks::<SEEN_LEN>() else {
        return Err(broken("the leases are not whole"));
    };
    let leases: Vec<_> = entries
        .iter()
        .map(|entry| {
            let (id, counter) = entry.split_at(16);
            (id.try_into().expect("16 of 24 bytes"), u64::from_le_bytes(counter.try_into().expect("8 of 24 bytes")))
        })
        .collect();
    if leases.is_sorted_by(|(a, _), (b, _): &([u8; 16], u64)| a < b) {
        Ok(leases)
    } else {
        Err(broken("the leases do not ascend"))
    }
}

/// Which snapshots of a lease that was made void count all the same, because they stood before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Honoured {
    /// The lease.
    pub lease: [u8; 16],
    /// Names of its snapshots that count.
    pub snapshots: Vec<[u8; 32]>,
}

impl Honoured {
    /// The record's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut map = MapWriter::new();
        map.bytes(0, &self.lease);
        map.bytes(1, &self.snapshots.concat());
        map.finish()
    }

    /// Reads the record.
    ///
    /// # Errors
    /// When the record, a field or a limit is broken.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        whole(bytes, HONOURED, |decoder| {
            let mut map = MapReader::new(decoder, HONOURED)?;
            let (mut lease, mut snapshots) = (None, None);
            while let Some(key) = map.next_key()? {
                match key {
                    0 => lease = Some(map.fixed()?),
                    1 => snapshots = Some(names(&mut map, HONOURED)?),
                    _ => map.skip()?,
                }
            }
            match (lease, snapshots) {
                (Some(lease), Some(snapshots)) => Ok(Self { lease, snapshots }),
                _ => Err(missing(HONOURED, "a field")),
            }
        })
    }
}

/// A list of names as one byte string.
fn names(map: &mut MapReader<'_, '_>, what: &'static str) -> Result<Vec<[u8; 32]>, FormatError> {
    let bytes = map.bytes(MARK_NAMES_MAX * 32)?;
    match bytes.as_chunks::<32>() {
        (names, []) => Ok(names.to_vec()),
        _ => Err(FormatError::Record { what, reason: "a name is not whole".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Census, Honoured, Mark};
    use crate::format::Time;
    use proptest::prelude::*;

    #[test]
    fn each_record_survives_its_bytes() {
        let created = Time { seconds: 7, nanos: 8 };
        let mark = Mark { created, packs: vec![[1; 32], [2; 32]], forgotten: vec![[3; 32]], gone: vec![] };
        assert_eq!(Mark::from_bytes(&mark.to_bytes()), Ok(mark));
        let census = Census { mark: [1; 32], leases: vec![([1; 16], 3), ([2; 16], u64::MAX)] };
        assert_eq!(Census::from_bytes(&census.to_bytes()), Ok(census.clone()));
        assert_eq!((census.counter(&[2; 16]), census.counter(&[3; 16])), (Some(u64::MAX), None));
        let honoured = Honoured { lease: [4; 16], snapshots: vec![[5; 32]] };
        assert_eq!(Honoured::from_bytes(&honoured.to_bytes()), Ok(honoured));
    }

    #[test]
    fn a_census_that_is_not_in_order_is_refused() {
        let census = Census { mark: [1; 32], leases: vec![([2; 16], 3), ([1; 16], 4)] };
        assert!(Census::from_bytes(&census.to_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_a_record_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (Mark::from_bytes(&bytes), Census::from_bytes(&bytes), Honoured::from_bytes(&bytes));
        }
    }
}
