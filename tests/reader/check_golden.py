#!/usr/bin/env python3
"""Restores every golden repository with the independent reader and compares the result with the manifest.

    check_golden.py FIXTURES
"""
import os
import stat
import subprocess
import sys
import tempfile

from blake3 import blake3

HERE = os.path.dirname(os.path.abspath(__file__))
READER = os.path.join(HERE, "nightjar_reader.py")
PASSWORD = "correct horse battery staple"
# What the reader says it does not restore.
NOT_RESTORED = ("CharDevice", "BlockDevice", "Socket")


def escaped(name):
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
    return "".join(chr(b) if b in plain else "%%%02x" % b for b in os.fsencode(name))


def describe(path, above, lines):
    shown = above + "/" + escaped(os.path.basename(path))
    meta = os.lstat(path)
    size, digest = 0, "-"
    if stat.S_ISDIR(meta.st_mode):
        kind = "Directory"
    elif stat.S_ISLNK(meta.st_mode):
        kind, digest = "Symlink", os.fsencode(os.readlink(path)).hex()
    elif stat.S_ISFIFO(meta.st_mode):
        kind = "Fifo"
    else:
        kind, size = "File", meta.st_size
        with open(path, "rb") as f:
            digest = blake3(f.read()).hexdigest()
    mode = stat.S_IMODE(meta.st_mode)
    lines.append("%s %s %o %d %d %s" % (shown, kind, mode, size, meta.st_mtime_ns, digest))
    if kind == "Directory":
        for name in sorted(os.listdir(os.fsencode(path))):
            describe(os.path.join(path, os.fsdecode(name)), shown, lines)


def check(repo, manifest, password, *options):
    with tempfile.TemporaryDirectory() as scratch:
        target = os.path.join(scratch, "out")
        command = [sys.executable, READER, repo, *options, "restore", "latest", target]
        subprocess.run(command, check=True, env=dict(os.environ, NIGHTJAR_PASSWORD=password))
        lines = []
        describe(os.path.join(target, "top"), "", lines)
    wanted = [line for line in manifest if line.split()[1] not in NOT_RESTORED]
    if os.geteuid() != 0:                       # without root's rights the reader leaves set-id bits out
        lines, wanted = ([line for line in which if "set-id" not in line] for which in (lines, wanted))
    if lines != wanted:
        sys.exit("%s: differs: %s" % (repo, sorted(set(lines) ^ set(wanted))[:5]))
    print("%s %s: %d entries as they must be" % (os.path.basename(repo), " ".join(options), len(lines)))


def main(fixtures):
    golden = os.path.join(fixtures, "golden")
    with open(os.path.join(golden, "manifest.txt")) as f:
        manifest = f.read().splitlines()
    repositories = sorted(name for name in os.listdir(golden) if os.path.isdir(os.path.join(golden, name)))
    if len(repositories) < 8:
        sys.exit("golden repositories are missing")
    for n, name in enumerate(repositories):
        repo = os.path.join(golden, name)
        check(repo, manifest, PASSWORD, *(["--without-index"] if n % 2 else []))
    with open(os.path.join(repo, "recovery-key.txt")) as f:
        check(repo, manifest, f.read().strip())


if __name__ == "__main__":
    main(sys.argv[1])
