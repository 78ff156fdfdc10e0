//! The longer texts of the help.

/// What the program is.
pub(super) const ABOUT: &str = "\
Nightjar backs up files into a repository: a folder of encrypted objects in which equal contents are kept once. Every \
backup is a snapshot from which any file, or all of it, can be restored. Without the password or the recovery key \
nobody can read a repository, and what is changed in it is noticed when it is read.

A first backup and a look at it:

  nightjar --repo /srv/repo init
  nightjar --repo /srv/repo backup /home
  nightjar --repo /srv/repo snapshots
  nightjar --repo /srv/repo restore latest:/home/me --target /tmp/back

To see all of it work in a scratch folder: nightjar demo";

/// Variables, exit codes, and how snapshots are named.
pub(super) const AFTER: &str = "\
VARIABLES (options beat them; one that is set but empty is an error)
  NIGHTJAR_REPO              where the repository is
  NIGHTJAR_PASSWORD_FILE     file with the password
  NIGHTJAR_PASSWORD_COMMAND  command that prints the password
  NIGHTJAR_PASSWORD          the password itself
  NIGHTJAR_COMPRESSION       how new data is compressed
  NIGHTJAR_ENGINE            where blocks are compressed
  NIGHTJAR_QATZIP_LIB        file of QATzip [otherwise libqatzip.so.3, where the loader finds it]
  NIGHTJAR_QAT_ROOT          folder instead of / in which sys and dev are looked at; for tests
  NIGHTJAR_STATE_DIR         folder for what this host remembers of repositories
                             [otherwise $XDG_STATE_HOME/nightjar, /var/lib/nightjar or ~/.local/state/nightjar]
  NIGHTJAR_CACHE_DIR         folder for objects of repositories on other hosts
                             [otherwise $XDG_CACHE_HOME/nightjar, /var/cache/nightjar or ~/.cache/nightjar]
  NIGHTJAR_CACHE_SIZE        how large the cache of a repository may be
  NO_COLOR                   no colours

EXIT STATUS
    0  done                            12  wrong password or key
    1  not done                        13  storage out of reach, or it refuses
    2  wrong command line or variable  14  format too new or not supported
    3  done, but some items failed     15  no space left
    4  damage found                   130  stopped by SIGINT
   10  no repository there            143  stopped by SIGTERM
   11  somebody else is at work

SNAPSHOTS
  0a1b2c3d           the one whose id begins so
  latest, latest~1   the newest, the one before, and so on
  latest:/etc        a part of it

EXAMPLE
  nightjar --repo /srv/repo --password-file /etc/nightjar/password backup /home";

pub(super) const INIT: &str = "\
The password comes from the options above or from the terminal. A recovery key is made and shown once: write it down.

EXIT STATUS
  0 made; 1 there is a repository already; 2 wrong options; 12 no usable password; 13 storage refuses; 15 no space

EXAMPLE
  nightjar --repo /srv/repo --password-file /etc/nightjar/password init";

pub(super) const SNAPSHOTS: &str = "\
EXIT STATUS
  0 all listed; 4 some are damaged, the others are listed; 10 no repository; 12 wrong password; 13 storage out of reach

EXAMPLE
  nightjar --repo /srv/repo snapshots --host web1 --last 7";

pub(super) const LS: &str = "\
Names are escaped: control characters and bytes that are not UTF-8 as \\xNN, a backslash as \\\\.

EXIT STATUS
  0 all listed; 1 no such snapshot or path; 4 a directory is damaged, the rest is listed; 10 no repository;
  12 wrong password; 13 storage out of reach

EXAMPLE
  nightjar --repo /srv/repo ls -l latest:/etc";

pub(super) const STATS: &str = "\
EXIT STATUS
  0 done; 4 damaged or missing objects are named; 10 no repository; 12 wrong password; 13 storage out of reach

EXAMPLE
  nightjar --repo /srv/repo stats --per-snapshot";

pub(super) const COMPLETIONS: &str = "\
EXIT STATUS
  0 printed; 1 standard output failed; 2 no such shell

EXAMPLE
  nightjar completions bash > /etc/bash_completion.d/nightjar";

pub(super) const MAN: &str = "\
EXIT STATUS
  0 written; 1 the folder cannot be written to

EXAMPLE
  nightjar man /usr/local/share/man/man1";

pub(super) const BACKUP: &str = "\
Equal contents are stored once, across files, backups and hosts. Files that have not changed since the last snapshot of \
the same host and paths (or job) are not read again. What cannot be read is named and does not stop the backup.

Patterns are those of .gitignore: without a slash they fit names at any depth, with one the path below the folder that \
is saved; a slash in front also means the absolute path; ! in front takes back in; the last one that fits decides.

EXIT STATUS
  0 saved; 1 no snapshot was made; 2 wrong options; 3 saved, but some items could not be read; 10 no repository;
  12 wrong password; 13 storage out of reach; 15 no space; 130, 143 stopped by a signal

EXAMPLE
  nightjar --repo /srv/repo backup /home /etc --exclude '*.cache' --tag nightly";

pub(super) const RESTORE: &str = "\
With :/PATH of a folder its contents come directly into the target. Files that stand there already are replaced, others \
are left alone, and nothing is written outside the target.

EXIT STATUS
  0 restored; 1 no such snapshot or path, or no target; 3 restored, but some items could not be written;
  4 restored, but damage was found and is named; 10 no repository; 12 wrong password; 13 storage out of reach; 15 target full;
  130, 143 stopped by a signal

EXAMPLE
  nightjar --repo /srv/repo restore latest:/home/me/letters --target /tmp/letters";

pub(super) const DEMO: &str = "\
Makes a repository with a generated password in a new folder, saves a tree of files into it, saves it again after \
changes, copies the repository as a stand-in for one on a NAS, restores from the copy, and compares every byte and all \
metadata. PATH is only read. Everything is removed at the end.

EXIT STATUS
  0 all equal; 1 something differs, or a step failed; 3 equal, but some items of PATH could not be read; 15 no space;
  130, 143 stopped by a signal

EXAMPLE
  nightjar demo --keep /usr/share/doc";

pub(super) const BENCH: &str = "\
The first row is gzip level 6 on the CPU, by zlib (zlib-rs), a thread a block, as file systems use it; `x gzip` compares \
with it at the same block size and number of jobs, `x gzip 1` with one job of it. MB are 10^6 plain bytes. Latency is \
from handing a block in to having it back, with twice as many blocks in flight as jobs. A sample of the outputs of each \
row is opened and compared. With --engine qat, or auto and a device, deflate is measured there too; without a device \
--engine qat says why.

EXIT STATUS
  0 measured; 1 a file or folder cannot be read or written, or the engine asked for is not there; 2 wrong options;
  4 an output did not open to what went in; 130, 143 stopped by a signal, what was measured is printed

EXAMPLE
  nightjar bench --codecs zstd:3,deflate:1 --block-sizes 64K,512K --jobs 1,8 --explain --html bench.html";

pub(super) const PRUNE: &str = "\
What no snapshot needs is removed in two steps. A prune marks it, and copies what is needed out of packs that hold little \
of it; a later prune removes what was marked, once the grace has passed and every backup that was at work when the mark was put has ended. \
So it never hurts a backup, never waits for one, and no backup waits for it. Forgotten snapshots can be brought back \
until their mark is swept. What cannot be read stops it. Run it nightly, on one host.

EXIT STATUS
  0 done; 2 wrong options; 4 something cannot be read, and nothing was removed; 10 no repository; 11 another prune is at
  work; 12 wrong password; 13 storage out of reach; 15 no space; 130, 143 stopped by a signal

EXAMPLE
  nightjar --repo /srv/repo prune --max-unused 5% --max-repack 10%";

pub(super) const CHECK: &str = "\
Goes from the snapshots down: every folder is read, every chunk looked up in the index, every pack that the index names looked \
for. With --read-data, --read-data-subset or --every packs are read too. All damage is found in one run; each object is \
named, and each file of each snapshot that is lost by it. Backups and prunes may run meanwhile; nothing is changed.

This host remembers when it last read each pack, in its state folder. For a nightly job that reads everything once a \
month: --every 30d --read-data-subset 5%

EXIT STATUS
  0 no damage; 2 wrong options; 4 damage, which is named; 10 no repository; 12 wrong password; 13 something could not be
  read this time; 14 format too new; 130, 143 stopped by a signal, and what was read until then is remembered

EXAMPLE
  nightjar --repo /srv/repo check --read-data-subset 5% --every 30d";

pub(super) const SCRUB: &str = "\
Every object but leases and censuses is named by the hash of its bytes, so any host that can read them can prove that they \
are what was written, without any key: also on a server that must not read the backups. What a scrub cannot see is \
an object that is missing; see `nightjar check`.

EXIT STATUS
  0 all is well; 2 wrong options; 4 damage, which is named; 10 no repository; 13 something could not be read this time;
  130, 143 stopped by a signal, and what was read until then is remembered

EXAMPLE
  nightjar --repo /srv/repo scrub --every 30d --subset 50G";

pub(super) const REPAIR: &str = "\
Without --apply nothing is changed, and it is said what would be done. With it, in this order:

  fetched    objects that are damaged or missing come from the copy that --from names, bit for bit
  indexed    packs that no index object names any more get into the index again
  salvaged   what is good in damaged packs is stored again; the damaged packs are set aside, in the folder aside/
  marked     snapshots that have lost something are put once more, marked as partial, with the names of what is lost;
             the originals are forgotten and can be brought back until a prune sweeps them

Damage inside packs is found only by reading them: --read-data. A backup that runs afterwards stores again what is lost, \
where the sources still have it, and files of older snapshots become whole by that too.

EXIT STATUS
  0 nothing to repair, or all is well again; 2 wrong options; 4 damage, and what could not be done about it; 10 no
  repository; 11 a prune is at work; 12 wrong password; 13 storage out of reach; 15 no space; 130, 143 stopped by a signal

EXAMPLE
  nightjar --repo /srv/repo repair --read-data --from /mnt/replica --apply";

pub(super) const CACHE: &str = "\
Index objects, snapshots and blocks of folders of a repository that is not on a disk of this host are kept here as they are there: encrypted, and \
verified at every use. It may be deleted at any time, may be full, and serves several processes at once. At least 5 % or 1 GiB of the file \
system stay free. For a repository on a local disk nothing is kept, unless --cache-dir or its variable says where. `check`, \
`scrub` and `repair` always read the repository itself.

EXIT STATUS
  0 done; 1 the folder cannot be read or cleared; 2 wrong options

EXAMPLE
  nightjar cache show";

pub(super) const CACHE_ACTIONS: &[(&str, &str)] = &[
    ("show", "EXIT STATUS\n  0 shown; 1 the folder cannot be read\n\nEXAMPLE\n  nightjar cache show"),
    ("clear", "EXIT STATUS\n  0 cleared; 1 something could not be removed\n\nEXAMPLE\n  nightjar cache clear"),
];

pub(super) const FORGET: &str = "\
Rules count within groups: the snapshots of a job, or of a host and its paths where there is no job. A snapshot that any \
rule keeps is kept, and the reason is shown. What is newest goes by the order of the backups, not by clocks. Snapshots that are partial, suspicious or \
from the future are counted by no rule and removed by none; a group is not emptied without --allow-empty. Space comes \
back with `nightjar prune`; until it has swept, --undo brings a snapshot back, under a new id.

A suggestion: --keep-last 3 --keep-daily 7 --keep-weekly 5 --keep-monthly 12 --keep-yearly 3

EXIT STATUS
  0 done; 1 no such snapshot; 2 wrong options; 4 a snapshot cannot be read, and nothing was forgotten; 10 no repository;
  11 an undo came too late; 12 wrong password; 13 storage out of reach; 15 no space

EXAMPLE
  nightjar --repo /srv/repo forget --job nightly --keep-daily 7 --keep-weekly 5 --keep-monthly 12";

pub(super) const KEY: &str = "\
A key slot is what one password, key file or recovery key opens: in it lie the keys of the repository. Each opens all of it. \
Removing a slot or changing a password shuts out whoever did not open the repository before; who did may have kept \
its keys, and copies of the repository from before still open with what opened them then.

EXIT STATUS
  0 done; 1 not done, such as for the last slot; 2 wrong options; 4 a slot is damaged; 10 no repository; 12 wrong password
  or key; 13 storage out of reach; 15 no space

EXAMPLE
  nightjar --repo /srv/repo key add --key-file /etc/nightjar/key";

/// For each command below `key`.
pub(super) const KEY_ACTIONS: &[(&str, &str)] =
    &[("list", KEY_LIST), ("add", KEY_ADD), ("remove", KEY_REMOVE), ("passwd", KEY_PASSWD), ("verify", KEY_VERIFY)];

const KEY_LIST: &str = "\
What a slot is called and when it was made stands inside it, so it is shown for the slot that was opened only.

EXIT STATUS
  0 all listed; 4 one cannot be read; 10 no repository; 12 wrong password; 13 storage out of reach

EXAMPLE
  nightjar --repo /srv/repo key list";

const KEY_ADD: &str = "\
The new slot is read back and opened before this says that it is there. A key file holds a random key and is given as \
--password-file; only its owner can read it. A recovery key is shown once.

EXIT STATUS
  0 added; 1 the password opens a slot already, or the key file cannot be made; 2 wrong options; 10 no repository;
  12 wrong password, or no usable new one; 13 storage refuses; 15 no space

EXAMPLE
  nightjar --repo /srv/repo key add --new-password-file /root/new-password";

const KEY_REMOVE: &str = "\
The last slot stays. That others are there does not say that anybody still has what opens them.

EXIT STATUS
  0 removed; 1 no such slot, several begin so, or it is the last; 10 no repository; 12 wrong password;
  13 storage refuses; 14 the slot has a newer format

EXAMPLE
  nightjar --repo /srv/repo key remove 0a1b2c3d";

const KEY_PASSWD: &str = "\
A slot for the new password is put, read back and opened; then every slot that the old password opens is removed. \
Stopped at any moment, it leaves the old or the new password working, or both; run it again with the old one then.

EXIT STATUS
  0 changed; 1 not changed, because a key opened the repository, or the old password still works too; 2 wrong options;
  10 no repository; 12 wrong password, or no usable new one; 13 storage refuses; 15 no space

EXAMPLE
  nightjar --repo /srv/repo key passwd";

const KEY_VERIFY: &str = "\
Asks for the recovery key in one of its two forms and opens the repository with it. No password is needed.

EXIT STATUS
  0 it opens the repository; 2 nobody can be asked; 4 damage; 10 no repository; 12 it does not, or it is no recovery key;
  13 storage out of reach

EXAMPLE
  nightjar --repo /srv/repo key verify";

pub(super) const REPO: &str = "\
Chunk sizes, cipher and id are decided at init and never change.

EXIT STATUS
  0 done; 2 wrong options; 4 damage; 10 no repository; 11 somebody else changed it at the same time; 12 wrong password;
  13 storage out of reach; 15 no space

EXAMPLE
  nightjar --repo /srv/repo repo show";

/// For each command below `repo`.
pub(super) const REPO_ACTIONS: &[(&str, &str)] = &[("show", REPO_SHOW), ("accept", REPO_ACCEPT), ("set", REPO_SET)];

const REPO_ACCEPT: &str = "\
This host remembers, in its state folder, which repository was at a place and the newest snapshot of each host and job in it. \
When another repository is there, or snapshots have vanished that nobody has removed with `forget` and `prune`, commands \
say so and end with 4; `forget` and `prune` then change nothing, and backups are made all the same. This takes it as it is; that a snapshot is missing \
between two others is written down in the repository, for all hosts.

EXIT STATUS
  0 accepted; 10 no repository; 12 wrong password; 13 storage out of reach or it refuses; 15 no space

EXAMPLE
  nightjar --repo /srv/repo repo accept";

const REPO_SHOW: &str = "\
EXIT STATUS
  0 shown; 4 damage; 10 no repository; 12 wrong password; 13 storage out of reach

EXAMPLE
  nightjar --repo /srv/repo repo show";

const REPO_SET: &str = "\
It counts for what is stored from the next command on; what is stored already stays as it is and is read as before. \
--compression is taken from the command line only, not from the variable.

EXIT STATUS
  0 set; 2 nothing to set, or outside the limits; 4 damage; 10 no repository; 11 somebody else changed it at the same time;
  12 wrong password; 13 storage refuses; 15 no space

EXAMPLE
  nightjar --repo /srv/repo repo set --compression better --pack-size 64M";
