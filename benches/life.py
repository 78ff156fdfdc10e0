#!/usr/bin/env python3
"""The life of a repository, side by side: many nights of backups, then forget, prune, check and the reading of all data, with
nightjar and with whichever of restic and borg are installed.

    benches/life.py SCRATCH [--gigabytes 5] [--nights 200] [--keep 20] [--tools nightjar,restic,borg]

Prints wall time, CPU time and peak memory of each step, what the repository takes, and what prune writes. Standard library only.
"""
import argparse
import hashlib
import os
import random
import shutil
import subprocess
import sys
import time

FILE = 2 << 20
WORDS = [hashlib.sha256(str(n).encode()).hexdigest()[: 2 + n % 9].encode() for n in range(4000)]


def text(rng, length):
    out = bytearray()
    while len(out) < length:
        out += b" ".join(rng.choices(WORDS, k=512)) + b"\n"
    return bytes(out[:length])


def content(rng, length):
    return rng.randbytes(length) if rng.random() < 0.5 else text(rng, length)


def make(source, gigabytes):
    rng = random.Random(1)
    for n in range(gigabytes * (1 << 30) // FILE):
        path = f"{source}/folder{n % 40}/file{n}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content(rng, FILE))


def night(source, number):
    """Twenty files change in the middle, one comes, one goes."""
    rng = random.Random(1000 + number)
    files = sorted(os.path.join(top, name) for top, _, names in os.walk(source) for name in names)
    for path in rng.sample(files, 20):
        with open(path, "r+b") as file:
            file.seek(rng.randrange(FILE // 2))
            file.write(content(rng, 256 << 10))
    os.remove(rng.choice(files))
    with open(f"{source}/folder0/night{number}", "wb") as file:
        file.write(content(rng, 1 << 20))


def run(env, *command):
    began = time.monotonic()
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{' '.join(command)}: {error.decode(errors='replace')[-2000:]}")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, usage.ru_oublock * 512 / 1e6


def size(repo):
    return sum(os.path.getsize(os.path.join(top, name)) for top, _, names in os.walk(repo) for name in names) / 1e6


class Tool:
    def __init__(self, name, scratch, source, keep):
        self.repo = f"{scratch}/{name}"
        self.source = source
        home = f"{scratch}/home-{name}"
        os.makedirs(home, exist_ok=True)
        self.env = dict(os.environ, HOME=home, XDG_CACHE_HOME=f"{home}/cache", NIGHTJAR_STATE_DIR=f"{home}/state",
                        NIGHTJAR_PASSWORD="p", RESTIC_PASSWORD="p", BORG_PASSPHRASE="p",
                        BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK="yes", BORG_RELOCATED_REPO_ACCESS_IS_OK="yes")
        here = os.path.dirname(os.path.abspath(__file__))
        nightjar = [os.environ.get("NIGHTJAR_BIN", f"{here}/../target/release/nightjar"), "-q", "-r", self.repo]
        restic = ["restic", "-q", "-r", self.repo]
        one = f"{source.lstrip('/')}/folder7/file7"
        back = f"{scratch}/back-{name}"
        self.steps = {
            "nightjar": {
                "init": [*nightjar, "init", "--no-recovery-key"],
                "backup": [*nightjar, "backup", source],
                "snapshots": [[*nightjar, "snapshots"]],
                "restore one file": [[*nightjar, "restore", f"latest:/{one}", "--target", back]],
                "check": [[*nightjar, "check"]],
                "forget": [[*nightjar, "forget", "--keep-last", str(keep)]],
                "prune": [[*nightjar, "prune", "--grace", "0", "--max-repack", "100%"]],
                "check, all data": [[*nightjar, "check", "--read-data"]],
                "scrub": [[*nightjar, "scrub"]],
            },
            "restic": {
                "init": [*restic, "init", "--repository-version", "2"],
                "backup": [*restic, "backup", source],
                "snapshots": [[*restic, "snapshots"]],
                "restore one file": [[*restic, "restore", "latest", "--include", f"/{one}", "--target", back]],
                "check": [[*restic, "check"]],
                "forget": [[*restic, "forget", "--keep-last", str(keep)]],
                "prune": [[*restic, "prune"]],
                "check, all data": [[*restic, "check", "--read-data"]],
            },
            "borg": {
                "init": ["borg", "init", "-e", "repokey-blake2", self.repo],
                "backup": None,
                "snapshots": [["borg", "list", self.repo]],
                "restore one file": None,
                "check": [["borg", "check", "--archives-only", self.repo]],
                "forget": [["borg", "prune", "--keep-last", str(keep), self.repo]],
                "prune": [["borg", "compact", "--threshold", "5", self.repo]],
                "check, all data": [["borg", "check", "--verify-data", self.repo]],
                "scrub": [["borg", "check", "--repository-only", self.repo]],
            },
        }[name]
        self.name = name
        self.back = back
        self.one = one

    def backup(self, number):
        if self.name == "borg":
            return run(self.env, "borg", "create", "-C", "zstd,3", f"{self.repo}::night{number}", self.source)
        return run(self.env, *self.steps["backup"])

    def step(self, step, nights):
        if step == "restore one file":
            shutil.rmtree(self.back, ignore_errors=True)
            os.makedirs(self.back)
            if self.name == "borg":
                os.chdir(self.back)
                return run(self.env, "borg", "extract", f"{self.repo}::night{nights - 1}", self.one)
        return [run(self.env, *command) for command in self.steps[step]][0]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("scratch")
    options.add_argument("--gigabytes", type=int, default=5)
    options.add_argument("--nights", type=int, default=200)
    options.add_argument("--keep", type=int, default=20)
    options.add_argument("--tools", default="nightjar,restic,borg")
    options = options.parse_args()
    source = os.path.abspath(f"{options.scratch}/source")
    make(source, options.gigabytes)
    names = [name for name in options.tools.split(",") if name == "nightjar" or shutil.which(name)]
    tools = [Tool(name, os.path.abspath(options.scratch), source, options.keep) for name in names]
    totals = {tool.name: [0.0, 0.0, 0.0] for tool in tools}
    for tool in tools:
        run(tool.env, *tool.steps["init"])
    for number in range(options.nights):
        if number:
            night(source, number)
        for tool in tools:
            wall, cpu, peak, _ = tool.backup(number)
            total = totals[tool.name]
            totals[tool.name] = [total[0] + wall, total[1] + cpu, max(total[2], peak)]
    print(f"{options.gigabytes} GiB, {options.nights} nights, {options.keep} kept")
    print(f"{'step':<18}" + "".join(f"{name + ' s':>14}{'cpu s':>9}{'MiB':>7}" for name in names))

    def line(step, figures):
        cells = [f"{f[0]:>14.2f}{f[1]:>9.2f}{f[2]:>7.0f}" if f else f"{'-':>14}{'-':>9}{'-':>7}" for f in figures]
        print(f"{step:<18}" + "".join(cells), flush=True)

    line("all backups", [totals[tool.name] for tool in tools])
    print(f"{'MB':<18}" + "".join(f"{size(tool.repo):>14.1f}{'':>16}" for tool in tools), flush=True)
    for step in ["snapshots", "restore one file", "check", "forget", "prune"]:
        figures = [tool.step(step, options.nights) for tool in tools]
        line(step, figures)
        if step == "prune":
            print(f"{'MB written by it':<18}" + "".join(f"{f[3]:>14.1f}{'':>16}" for f in figures), flush=True)
    print(f"{'MB':<18}" + "".join(f"{size(tool.repo):>14.1f}{'':>16}" for tool in tools), flush=True)
    for step in ["check, all data", "scrub"]:
        line(step, [tool.step(step, options.nights) if step in tool.steps else None for tool in tools])


if __name__ == "__main__":
    main()
