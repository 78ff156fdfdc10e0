//! Every object compared with its name and its header: what can be proved without any key.

use super::pack::on_threads;
use super::sample::Candidate;
use super::{CheckError, Damage, Sample, Verified, Watch};
use crate::base::entropy::Entropy;
use crate::base::meter::Meter;
use crate::format::limits::{HEADER_LEN, LEASE_LEN_MAX, PACK_ALIGN, RECORD_LEN_MAX};
use crate::format::{Census, Class, FormatError, Header, Honoured, Lease, TAIL_LEN};
use crate::repo::{RepoError, list, list_if_there, without_sum};
use crate::storage::{Folder, ObjectMeta, ObjectName, Storage, StorageFault};
use std::collections::HashSet;
use std::sync::atomic::Ordering;

/// An object is read in pieces of this many bytes.
const READ_LEN: u64 = 4 << 20;

/// What a scrub looked at, and what it found.
#[derive(Clone, Debug, Default)]
pub struct ScrubReport {
    /// The repositories that config objects are of; one, where nobody planted another.
    pub repositories: Vec<[u8; 16]>,
    /// Objects that stand.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects that were read.
    pub objects_read: u64,
    /// Their bytes.
    pub bytes_read: u64,
    /// Objects that are not what their names say.
    pub damage: Vec<Damage>,
    /// Objects that could not be read this time.
    pub unreadable: Vec<Damage>,
}

/// Reads every object that `sample` chooses and compares it with its name and its header. Objects other than packs are
/// always read.
///
/// # Errors
/// When it was asked to stop, or a listing failed. Damage is no error.
pub fn scrub(
    storage: &dyn Storage,
    sample: &Sample,
    verified: &mut Verified,
    (now, entropy): (i64, &dyn Entropy),
    watch: &Watch,
) -> Result<ScrubReport, CheckError> {
    let mut report = ScrubReport { repositories: repositories(storage)?, ..ScrubReport::default() };
    let own = match &report.repositories[..] {
        [one] => Some(*one),
        _ => None,
    };
    let (mut chosen, mut packs) = (Vec::new(), Vec::new());
    for folder in Folder::ALL {
        // Others are not there before an object is put into them.
        let objects = if folder == Folder::Packs { list(storage, folder)? } else { list_if_there(storage, folder)? };
        report.objects += objects.len() as u64;
        report.bytes += objects.iter().map(|meta| meta.length).sum::<u64>();
        for what in objects {
            match what.name.hash() {
                Some(name) if folder == Folder::Packs => packs.push(Candidate { name, length: what.length, what }),
                _ => chosen.push(what),
            }
        }
    }
    let names: HashSet<[u8; 32]> = packs.iter().map(|one| one.name).collect();
    verified.retain(|name| names.contains(name));
    let mut turn = [0; 8];
    entropy.fill(&mut turn).map_err(RepoError::from)?;
    let packs = sample.choose(packs, verified, now, u64::from_le_bytes(turn));
    chosen.extend(packs.into_iter().map(|one| one.what));
    read(storage, &chosen, own.as_ref(), watch, |meta, outcome| {
        report.objects_read += 1;
        report.bytes_read += meta.length;
        match (&outcome, meta.name.hash().filter(|name| names.contains(name))) {
            (Ok(reasons), Some(name)) if reasons.is_empty() => verified.note(name, now),
            (Ok(_), Some(name)) => verified.forget(&name),
            _ => {}
        }
        sort(&meta.name, outcome, &mut report.damage, &mut report.unreadable);
    })?;
    report.damage.sort();
    report.unreadable.sort();
    Ok(report)
}

/// Sorts what came of looking at an [`object`] into what is damaged and what could not be read.
pub(super) fn sort(
    name: &ObjectName,
    outcome: Result<Vec<String>, RepoError>,
    damage: &mut Vec<Damage>,
    unreadable: &mut Vec<Damage>,
) {
    match outcome {
        Ok(reasons) => damage.extend(reasons.into_iter().map(|reason| Damage::new(name, reason))),
        // It was removed or replaced since it was listed.
        Err(error) if error.is_not_found() => {}
        Err(error) => unreadable.push(Damage::new(name, error)),
    }
}

fn read(
    storage: &dyn Storage,
    chosen: &[ObjectMeta],
    own: Option<&[u8; 16]>,
    watch: &Watch,
    mut each: impl FnMut(&ObjectMeta, Result<Vec<String>, RepoError>) + Send,
) -> Result<(), CheckError> {
    Meter::add(&watch.meter.bytes_total, chosen.iter().map(|meta| meta.length).sum());
    Meter::add(&watch.meter.files_total, chosen.len() as u64);
    watch.meter.total_known.store(true, Ordering::Relaxed);
    let told = |(meta, outcome): (&ObjectMeta, _)| each(meta, outcome);
    on_threads(watch.threads, chosen, told, |keep, mine| {
        for meta in mine {
            watch.check()?;
            keep((meta, object(storage, meta, own, &watch.meter)));
            Meter::add(&watch.meter.files_done, 1);
        }
        Ok(())
    })
}

/// The repositories that intact config objects name.
fn repositories(storage: &dyn Storage) -> Result<Vec<[u8; 16]>, CheckError> {
    let mut found = Vec::new();
    for meta in list(storage, Folder::Config)? {
        let Ok(bytes) = storage.get(&meta.name) else { continue };
        if meta.name.is_of(&bytes)
            && let Ok(header) = Header::from_bytes(&bytes)
        {
            found.push(header.repository);
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// What is wrong with an object, a line each.
///
/// # Errors
/// When it cannot be read, or is gone.
pub(super) fn object(
    storage: &dyn Storage,
    meta: &ObjectMeta,
    own: Option<&[u8; 16]>,
    meter: &Meter,
) -> Result<Vec<String>, RepoError> {
    let Some(hash) = meta.name.hash() else { return clear(storage, &meta.name, meter) };
    let (mut hasher, mut front, mut back, mut at) = (blake3::Hasher::new(), Vec::new(), Vec::new(), 0);
    while at < meta.length {
        let end = (at + READ_LEN).min(meta.length);
        let piece = match storage.get_range(&meta.name, at..end) {
            Err(error) if error.fault == StorageFault::ShortRead => {
                return Ok(vec![format!("it ends before its {} bytes", meta.length)]);
            }
            other => other?,
        };
        hasher.update(&piece);
        if at == 0 {
            front = piece[..piece.len().min(HEADER_LEN)].to_vec();
        }
        // Only the last bytes are looked at again.
        back.extend_from_slice(&piece[piece.len().saturating_sub(TAIL_LEN)..]);
        back.drain(..back.len().saturating_sub(TAIL_LEN));
        Meter::add(&meter.bytes_done, end - at);
        at = end;
    }
    if *hasher.finalize().as_bytes() != hash {
        return Ok(vec!["its bytes do not have the hash that is its name".to_owned()]);
    }
    Ok(header(&meta.name, &front, &back, meta.length, own).into_iter().collect())
}

/// What is wrong with the parts that are in clear of an object whose bytes are those that were written.
fn header(name: &ObjectName, front: &[u8], back: &[u8], length: u64, own: Option<&[u8; 16]>) -> Option<String> {
    // What was set aside is damaged, and the reserve says nothing: they only have to be what was put there.
    if matches!(name.folder(), Folder::Aside | Folder::Reserve) {
        return None;
    }
    let header = match Header::from_bytes(front) {
        Ok(header) => header,
        // Not damage: somebody with a newer program wrote it.
        Err(FormatError::Version(_)) => return None,
        Err(error) => return Some(error.to_string()),
    };
    let class = match name.folder() {
        Folder::Config => Class::Config,
        Folder::Keys => Class::KeySlot,
        Folder::Packs => Class::Pack,
        Folder::Index => Class::Index,
        Folder::Snapshots | Folder::Forgotten => Class::Snapshot,
        Folder::Marks => Class::Mark,
        Folder::Leases | Folder::Census | Folder::Reserve | Folder::Aside => return None,
    };
    if header.class != class {
        return Some(format!("it is a {}, not a {}", header.class.as_str(), class.as_str()));
    }
    if own.is_some_and(|own| *own != header.repository) {
        return Some("it is of another repository".to_owned());
    }
    let pack = class == Class::Pack;
    if pack && (!length.is_multiple_of(PACK_ALIGN) || back.len() < TAIL_LEN || back[..HEADER_LEN] != *front) {
        return Some("it does not end as a pack ends".to_owned());
    }
    (!pack && length > RECORD_LEN_MAX && class != Class::Index)
        .then(|| "it is longer than such an object can be".to_owned())
}

/// What is wrong with an object that is not named by a hash; all of these are in clear.
fn clear(storage: &dyn Storage, name: &ObjectName, meter: &Meter) -> Result<Vec<String>, RepoError> {
    let census = name.folder() == Folder::Census;
    let kept = name.base().ends_with("-honoured");
    let length = storage.head(name)?.length;
    if length > if census || kept { RECORD_LEN_MAX } else { LEASE_LEN_MAX } {
        return Ok(vec![format!("it has {length} bytes, which is more than such an object can have")]);
    }
    let bytes = storage.get(name)?;
    Meter::add(&meter.bytes_done, length);
    if name.base().ends_with("-void") {
        // An empty map, of which only the name counts.
        return Ok(Vec::new());
    }
    let Ok(bytes) = without_sum(name, &bytes) else {
        return Ok(vec!["its sum is not that of what is in it".to_owned()]);
    };
    let read = match name {
        _ if census => Census::from_bytes(bytes).map(|_| ()),
        _ if kept => Honoured::from_bytes(bytes).map(|_| ()),
        _ => Lease::from_bytes(bytes).map(|_| ()),
    };
    Ok(read.err().map(|error| error.to_string()).into_iter().collect())
}
