//! The record of a snapshot (`repo-format.md`, chapter 11).

use super::limits::{SNAPSHOT_ITEMS_MAX, SNAPSHOT_LIST_BYTES, SNAPSHOT_TEXT_MAX, TARGET_MAX};
use super::record::{MapReader, MapWriter, missing, ok, whole};
use super::{ChunkId, FormatError, Time};

const SNAPSHOT: &str = "snapshot";

/// Counts of one backup run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Files that the parent snapshot did not have.
    pub files_new: u64,
    /// Files that differ from the parent's and were read.
    pub files_changed: u64,
    /// Files taken over from the parent without reading.
    pub files_unmodified: u64,
    /// Directories.
    pub directories: u64,
    /// Links, pipes, devices and sockets.
    pub others: u64,
    /// Bytes in all files.
    pub bytes_total: u64,
    /// Bytes read from files.
    pub bytes_read: u64,
    /// Plain bytes of chunks that the repository did not have.
    pub bytes_new: u64,
    /// Sealed bytes stored for them.
    pub bytes_stored: u64,
    /// Nanoseconds from start to end.
    pub nanos: u64,
    /// Items that could not be read or saved whole.
    pub items_failed: u64,
    /// Chunks that the repository did not have.
    pub chunks_new: u64,
}

impl Statistics {
    fn fields(&mut self) -> [&mut u64; 12] {
        [
            &mut self.files_new,
            &mut self.files_changed,
            &mut self.files_unmodified,
            &mut self.directories,
            &mut self.others,
            &mut self.bytes_total,
            &mut self.bytes_read,
            &mut self.bytes_new,
            &mut self.bytes_stored,
            &mut self.nanos,
            &mut self.items_failed,
            &mut self.chunks_new,
        ]
    }

    /// Files of all three sorts.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.files_new + self.files_changed + self.files_unmodified
    }
}

/// Something that could not be read or saved whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedItem {
    /// Its path.
    pub path: Vec<u8>,
    /// What went wrong, in words.
    pub reason: String,
}

/// One backup run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Start of the run.
    pub time: Time,
    /// Offset of the local time zone from UTC in seconds.
    pub zone_seconds: i32,
    /// Job, if it has a name.
    pub job: Option<String>,
    /// Host.
    pub host: String,
    /// User.
    pub user: String,
    /// Paths that were backed up.
    pub paths: Vec<Vec<u8>>,
    /// Tags.
    pub tags: Vec<String>,
    /// Tree of `/`.
    pub root: ChunkId,
    /// Snapshot whose unchanged files were not read.
    pub parent: Option<[u8; 32]>,
    /// Program and version.
    pub program: String,
    /// Options that decided what is in the snapshot.
    pub options: Vec<String>,
    /// Counts.
    pub statistics: Statistics,
    /// What could not be read or saved whole, at most 10,000 items.
    pub failed: Vec<FailedItem>,
    /// Whether the run could not save all it was asked to.
    pub partial: bool,
    /// Whether far fewer files were there than before, which may mean that a source was not mounted.
    pub suspicious: bool,
    /// Lease it was written under.
    pub lease: [u8; 16],
    /// Writer.
    pub writer: [u8; 16],
    /// Number among the snapshots of this writer and job, from 1.
    pub sequence: u64,
    /// Name of the one before.
    pub previous: Option<[u8; 32]>,
    /// One more than any the writer saw.
    pub lamport: u64,
    /// Name it had before it was forgotten and brought back.
    pub original: Option<[u8; 32]>,
}

impl Snapshot {
    /// The highest Lamport number.
    pub const LAMPORT_MAX: u64 = (1 << 63) - 1;

    /// The record's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut map = MapWriter::new();
        map.time(0, self.time);
        ok(map.entry(1).i32(self.zone_seconds));
        if let Some(job) = &self.job {
            map.text(2, job);
        }
        map.text(3, &self.host);
        map.text(4, &self.user);
        let entry = map.entry(5);
        ok(entry.array(self.paths.len() as u64));
        self.paths.iter().for_each(|path| ok(entry.bytes(path)));
        if !self.tags.is_empty() {
            map.texts(6, &self.tags);
        }
        map.bytes(7, &self.root.0);
        if let Some(parent) = &self.parent {
            map.bytes(8, parent);
        }
        map.text(9, &self.program);
        if !self.options.is_empty() {
            map.texts(10, &self.options);
        }
        let mut statistics = MapWriter::new();
        for (key, value) in (0..).zip(self.statistics.clone().fields()) {
            statistics.u64(key, *value);
        }
        map.raw(11, &statistics.finish());
        self.write_failed(&mut map);
        if self.partial {
            ok(map.entry(13).bool(true));
        }
        map.bytes(14, &self.lease);
        map.bytes(15, &self.writer);
        map.u64(16, self.sequence);
        if let Some(previous) = &self.previous {
            map.bytes(17, previous);
        }
        map.u64(18, self.lamport);
        if let Some(original) = &self.original {
            map.bytes(19, original);
        }
        if self.suspicious {
            ok(map.entry(20).bool(true));
        }
        map.finish()
    }

    /// Whether a repair has put it in the place of one that had lost something; what is lost is then written down in it.
    #[must_use]
    pub fn is_mended(&self) -> bool {
        self.partial && self.original.is_some()
    }

    /// Cuts a list of paths to what a snapshot can hold.
    pub fn cut_paths(paths: &mut Vec<Vec<u8>>) {
        paths.retain(|path| path.len() <= TARGET_MAX);
        cut(paths, Vec::len);
    }

    /// Cuts the lists that grow with what was backed up, paths and failed items, to what a snapshot can hold.
    pub fn cut_to_limits(&mut self) {
        Self::cut_paths(&mut self.paths);
        for item in &mut self.failed {
            let end = item.reason.floor_char_boundary(SNAPSHOT_TEXT_MAX.min(1_000));
            item.reason.truncate(end);
        }
        cut(&mut self.failed, |item| item.path.len() + item.reason.len());
    }

    fn write_failed(&self, map: &mut MapWriter) {
        if self.failed.is_empty() {
            return;
        }
        let entry = map.entry(12);
        ok(entry.array(self.failed.len() as u64));
        for item in &self.failed {
            ok(entry.array(2).and_then(|e| e.bytes(&item.path)).and_then(|e| e.str(&item.reason)));
        }
    }

    /// Reads an opened snapshot.
    ///
    /// # Errors
    /// When the record, a required field or a limit is broken.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        whole(bytes, SNAPSHOT, |decoder| {
            let mut map = MapReader::new(decoder, SNAPSHOT)?;
            let mut snapshot = Self::blank();
            let mut seen = 0_u32;
            while let Some(key) = map.next_key()? {
                if key < 32 {
                    seen |= 1 << key;
                }
                snapshot.read_field(key, &mut map)?;
            }
            let required = [0, 1, 3, 4, 5, 7, 9, 11, 14, 15, 16, 18];
            if let Some(key) = required.into_iter().find(|key| seen & (1 << key) == 0) {
                return Err(missing(SNAPSHOT, &format!("key {key}")));
            }
            if snapshot.lamport > Self::LAMPORT_MAX {
                let (value, limit) = (snapshot.lamport, Self::LAMPORT_MAX);
                return Err(FormatError::Limit { what: "Lamport number of a snapshot", value, limit });
            }
            Ok(snapshot)
        })
    }

    fn read_field(&mut self, key: u64, map: &mut MapReader<'_, '_>) -> Result<(), FormatError> {
        match key {
            0 => self.time = map.time()?,
            1 => self.zone_seconds = i32::try_from(map.i64()?).map_err(|_| FormatError::Invalid { what: "zone" })?,
            2 => self.job = Some(map.text(SNAPSHOT_TEXT_MAX)?),
            3 => self.host = map.text(SNAPSHOT_TEXT_MAX)?,
            4 => self.user = map.text(SNAPSHOT_TEXT_MAX)?,
            5 => {
                let count = map.array(0, SNAPSHOT_ITEMS_MAX)?;
                self.paths = (0..count).map(|_| map.bytes(TARGET_MAX).map(<[u8]>::to_vec)).collect::<Result<_, _>>()?;
            }
            6 => self.tags = map.texts(SNAPSHOT_ITEMS_MAX, SNAPSHOT_TEXT_MAX)?,
            7 => self.root = ChunkId(map.fixed()?),
            8 => self.parent = Some(map.fixed()?),
            9 => self.program = map.text(SNAPSHOT_TEXT_MAX)?,
            10 => self.options = map.texts(SNAPSHOT_ITEMS_MAX, SNAPSHOT_TEXT_MAX)?,
            11 => self.statistics = read_statistics(map)?,
            12 => {
                let count = map.array(0, SNAPSHOT_ITEMS_MAX)?;
                self.failed = (0..count).map(|_| read_failed(map)).collect::<Result<_, _>>()?;
            }
            13 => self.partial = map.bool()?,
            14 => self.lease = map.fixed()?,
            15 => self.writer = map.fixed()?,
            16 => self.sequence = map.u64()?,
            17 => self.previous = Some(map.fixed()?),
            18 => self.lamport = map.u64()?,
            19 => self.original = Some(map.fixed()?),
            20 => self.suspicious = map.bool()?,
            _ => map.skip()?,
        }
        Ok(())
    }

    fn blank() -> Self {
        Self {
            time: Time { seconds: 0, nanos: 0 },
            zone_seconds: 0,
            job: None,
            host: String::new(),
            user: String::new(),
            paths: Vec::new(),
            tags: Vec::new(),
            root: ChunkId([0; 32]),
            parent: None,
            program: String::new(),
            options: Vec::new(),
            statistics: Statistics::default(),
            failed: Vec::new(),
            partial: false,
            suspicious: false,
            lease: [0; 16],
            writer: [0; 16],
            sequence: 0,
            previous: None,
            lamport: 0,
            original: None,
        }
    }
}

/// Cuts a list to as many items as a snapshot can hold, `bytes` telling the length of one.
fn cut<T>(list: &mut Vec<T>, bytes: impl Fn(&T) -> usize) {
    let mut sum = 0;
    let fit = list.iter().take(SNAPSHOT_ITEMS_MAX).take_while(|item| {
        sum += bytes(item) + 16;
        sum <= SNAPSHOT_LIST_BYTES
    });
    let fit = fit.count();
    list.truncate(fit);
}

fn read_statistics(map: &mut MapReader<'_, '_>) -> Result<Statistics, FormatError> {
    let mut statistics = Statistics::default();
    let mut inner = MapReader::new(map.decoder(), "statistics")?;
    while let Some(key) = inner.next_key()? {
        match statistics.fields().into_iter().nth(usize::try_from(key).unwrap_or(usize::MAX)) {
            Some(field) => *field = inner.u64()?,
            None => inner.skip()?,
        }
    }
    Ok(statistics)
}

fn read_failed(map: &mut MapReader<'_, '_>) -> Result<FailedItem, FormatError> {
    map.array(2, 2)?;
    Ok(FailedItem { path: map.bytes(16 << 20)?.to_vec(), reason: map.text(SNAPSHOT_TEXT_MAX)? })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{FailedItem, Snapshot, Statistics};
    use crate::format::{ChunkId, Time};
    use proptest::prelude::*;

    /// A snapshot with every field set.
    pub(crate) fn full() -> Snapshot {
        Snapshot {
            time: Time { seconds: 1_800_000_000, nanos: 5 },
            zone_seconds: -3600,
            job: Some("nightly".into()),
            host: "nas".into(),
            user: "root".into(),
            paths: vec![b"/home".to_vec(), b"/\xff".to_vec()],
            tags: vec!["a".into()],
            root: ChunkId([1; 32]),
            parent: Some([2; 32]),
            program: "nightjar 0".into(),
            options: vec!["--exclude=*.o".into()],
            statistics: Statistics { files_new: 1, chunks_new: 12, ..Statistics::default() },
            failed: vec![FailedItem { path: b"/x".to_vec(), reason: "permission denied".into() }],
            partial: true,
            suspicious: true,
            lease: [3; 16],
            writer: [4; 16],
            sequence: 9,
            previous: Some([5; 32]),
            lamport: 10,
            original: Some([11; 32]),
        }
    }

    #[test]
    fn a_snapshot_survives_its_bytes_full_and_bare() {
        assert_eq!(Snapshot::from_bytes(&full().to_bytes()), Ok(full()));
        let bare = Snapshot {
            job: None,
            tags: vec![],
            parent: None,
            options: vec![],
            failed: vec![],
            partial: false,
            suspicious: false,
            previous: None,
            ..full()
        };
        assert_eq!(Snapshot::from_bytes(&bare.to_bytes()), Ok(bare));
    }

    #[test]
    fn a_lamport_number_beyond_its_limit_is_refused() {
        let numbered = |lamport| Snapshot { lamport, ..full() };
        let last = numbered(Snapshot::LAMPORT_MAX);
        assert_eq!(Snapshot::from_bytes(&last.to_bytes()), Ok(last));
        for lamport in [1 << 63, u64::MAX] {
            assert!(Snapshot::from_bytes(&numbered(lamport).to_bytes()).is_err());
        }
    }

    #[test]
    fn lists_are_cut_to_what_can_be_read_again() {
        let item = |n: usize| FailedItem { path: vec![b'x'; n % 4_000], reason: "ä".repeat(n % 2_000) };
        let failed = (0..20_000).map(item).collect();
        let paths = (0..12_000).map(|n| vec![b'/'; if n == 5 { 70_000 } else { n % 500 + 1 }]).collect();
        let mut snapshot = Snapshot { paths, failed, ..full() };
        snapshot.cut_to_limits();
        assert!(snapshot.failed.len() > 100 && snapshot.paths.len() > 100);
        let bytes = snapshot.to_bytes();
        assert!(bytes.len() < 16 << 20);
        assert_eq!(Snapshot::from_bytes(&bytes), Ok(snapshot));
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_a_snapshot_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Snapshot::from_bytes(&bytes);
        }

        #[test]
        fn a_flipped_byte_never_panics(at in 0_usize..400, flip in 1_u8..=255) {
            let mut bytes = full().to_bytes();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            let _ = Snapshot::from_bytes(&bytes);
        }
    }
}
