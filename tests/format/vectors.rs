//! Test vectors: every derivation of chapters 4 and 5, computed here a second time from the document alone, and an
//! object of each class.

use crate::golden::{options, snapshot};
use crate::tables::table;
use crate::{fixed_world, model, password, same_as_fixture};
use nightjar::base::hex::encode;
use nightjar::codec::Compression;
use nightjar::crypto::{KeyTable, RecoveryKey, derive};
use nightjar::engine::SoftwareEngine;
use nightjar::format::{Class, Header, Kdf, Keyring, PackKind, Part, Suite, Time};
use nightjar::repo::{Session, SessionOptions, init};
use nightjar::storage::{Folder, MemoryStorage, Storage};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;
use zeroize::Zeroizing;

const D: [u8; 32] = [0x0d; 32];
const M: [u8; 32] = [0x3a; 32];

fn keyring() -> Keyring {
    Keyring {
        repository: [0x11; 16],
        secret: D,
        masters: BTreeMap::from([(1, Zeroizing::new(M))]),
        label: "password".into(),
        created: Time { seconds: 1_800_000_000, nanos: 1 },
    }
}

/// The purpose key as the table of the document describes it.
fn purpose_key(name: &str) -> [u8; 32] {
    let rows = table(&["key", "purpose", "from", "used for"]);
    let row = rows.iter().find(|row| row[0] == name).unwrap();
    let secret = if row[2] == "D" { D } else { M };
    blake3::derive_key(&format!("nightjar v1 2026-12 {}", row[1]), &secret)
}

#[test]
fn derivations_are_those_of_the_document_and_of_the_vectors() {
    let keys = KeyTable::new(&keyring());
    let mut lines = String::from("# name: value in hexadecimal; D is 0d repeated, M of epoch 1 is 3a repeated\n");
    let mut say = |name: &str, value: &[u8]| writeln!(lines, "{name}: {}", encode(value)).unwrap();
    for (kind, name) in [(PackKind::Data, "K_id_data"), (PackKind::Tree, "K_id_tree")] {
        let key = purpose_key(name);
        let id = keys.id(kind, b"nightjar");
        assert_eq!(id.0, *blake3::keyed_hash(&key, b"nightjar").as_bytes());
        say(name, &key);
        say(&format!("{name} id of `nightjar`"), &id.0);
    }
    let mut gear = [0; 2048];
    blake3::Hasher::new_keyed(&purpose_key("K_chunker")).finalize_xof().fill(&mut gear);
    assert!(gear.as_chunks::<8>().0.iter().zip(*keys.gear()).all(|(bytes, value)| u64::from_le_bytes(*bytes) == value));
    say("K_chunker", &purpose_key("K_chunker"));
    say("first four values of the gear table", &gear[..32]);
    let classes = [
        (Class::Pack, Some(PackKind::Data), "K_pack_data"),
        (Class::Pack, Some(PackKind::Tree), "K_pack_tree"),
        (Class::Index, None, "K_index"),
        (Class::Snapshot, None, "K_snapshot"),
        (Class::Config, None, "K_config"),
        (Class::Mark, None, "K_mark"),
    ];
    for ((class, kind, name), suite) in
        classes.into_iter().zip([Suite::Aes256Gcm, Suite::ChaCha20Poly1305].into_iter().cycle())
    {
        let (header, key) = keys.begin(class, kind, suite, [0x5a; 32]);
        let clear = Header { commitment: [0; 32], ..header.clone() }.to_bytes();
        let mut output = [0; 64];
        blake3::Hasher::new_keyed(&purpose_key(name)).update(&clear).finalize_xof().fill(&mut output);
        assert_eq!(header.commitment, output[32..]);
        let mut sealed = b"nightjar".to_vec();
        key.seal(Part::Block, 258, &mut sealed);
        say(name, &purpose_key(name));
        say(&format!("{name} header ({})", suite.as_str()), &header.to_bytes());
        say(&format!("{name} object key"), &output[..32]);
        say(&format!("{name} `nightjar` sealed as block 258"), &sealed);
    }
    let kdf = Kdf::Argon2id { memory_kib: 8 << 10, passes: 2, lanes: 3 };
    say("kdf parameters, 8 MiB, 2 passes, 3 lanes", &kdf.to_bytes());
    say(
        "R of the password `correct horse battery staple`, salt 5a repeated",
        &*derive(&password(), kdf, &[0x5a; 32]).unwrap(),
    );
    let recovery = RecoveryKey::new(Zeroizing::new([0x42; 32]));
    say("R of the recovery key 42 repeated", &*recovery.slot_secret());
    say("its text, as ASCII", recovery.to_text().as_bytes());
    say("its words, as ASCII", recovery.to_words().join(" ").as_bytes());
    say("keyring record", &keyring().to_bytes());
    same_as_fixture("vectors.txt", &lines);
}

#[test]
fn a_repository_made_again_in_the_same_world_is_the_same_to_the_byte() {
    let make = || {
        let storage = MemoryStorage::new();
        let made = init(Arc::new(storage.clone()), fixed_world(5), &options(Suite::Aes256Gcm)).unwrap();
        let repository = Arc::new(made.repository);
        let engine = SoftwareEngine::new(1, 1).unwrap();
        let work = SessionOptions { compression: Compression::Off, uploads: 1, dry_run: false };
        let mut session = Session::start(&repository, &engine, work, "backup").unwrap();
        let root = model::store(&mut session);
        session.checkpoint().unwrap();
        repository.put_snapshot(&snapshot(&session, root, 1)).unwrap();
        session.end().unwrap();
        let mut names = Vec::new();
        for folder in Folder::ALL {
            storage
                .list(folder, &mut |meta| {
                    names.push(meta.name.path());
                    ControlFlow::Continue(())
                })
                .unwrap();
        }
        names.sort();
        names
    };
    let once = make();
    assert_eq!(once, make());
    for folder in ["config/", "keys/", "packs/", "index/", "snapshots/"] {
        assert!(once.iter().any(|name| name.starts_with(folder)), "{folder}");
    }
    assert!(!once.iter().any(|name| name.starts_with("leases/")), "the lease was ended and cleared");
}
