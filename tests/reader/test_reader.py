#!/usr/bin/env python3
"""Self tests: a small writer made from repo-format.md, the reader on its repositories, and damage of every kind.

    /tmp/reader-venv/bin/python test_reader.py
"""
import contextlib
import io
import os
import random
import shutil
import stat
import struct
import tempfile
import unittest
import zlib
from base64 import b32encode

import cbor2
import zstandard
from argon2.low_level import Type, hash_secret_raw
from blake3 import blake3
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

import nightjar_reader as reader

CONTEXT = "nightjar v1 2026-12 "
PASSWORD = "correct horse"
MIB = 1 << 20
VECTORS = [
    "151cfcbeaef3cdb01f642086f417a8a7a7bbf1868f036b9f19612c28f8975611",
    "1ce81767b3fb4f9d4682f90102a81a0643813771ad38d86ccf4443116b60ac00",
    b"nj1-aaaqeay-eaudaoc-ajbifqy-diob4ib-ceqtcqk-rmfyyde-nbwha5d-ypr5246",
    "e6a7a265138c84b75470d00a9a4ea4a4af6094dc329ec15b6e0949942d1b3ac2"
    "c08bef5e8ab8bf2250ba2a16c41bb77c8fc81b718ba27f22a31e20a13aba97d1",
    "05b8a6dcbf53a851cdcc225c40750fa1af6e43f3c6d006e8",
    "2c1adda2da77341a3ff4a40bca21853b333f155d6a49b768"]


def kdf(context, data):
    return blake3(data, derive_key_context=CONTEXT + context).digest()


def mac(key, data, n=32):
    return blake3(data, key=key).digest(length=n)


def record(value):
    return cbor2.dumps(value, canonical=True)


def lz4_compress(data):
    """A greedy LZ4 block encoder; the last five bytes stay literals, the last match begins 12 bytes before the end."""
    out, anchor, p, last = bytearray(), 0, 0, {}

    def more(n):
        while n >= 255:
            out.append(255)
            n -= 255
        out.append(n)

    def sequence(literals, distance=0, match=0):
        n, m = len(literals), match - 4
        out.append(min(n, 15) << 4 | (min(m, 15) if match else 0))
        if n >= 15:
            more(n - 15)
        out.extend(literals)
        if match:
            out.extend(struct.pack("<H", distance))
            if m >= 15:
                more(m - 15)

    while p + 12 < len(data):
        four = data[p:p + 4]
        q = last.get(four)
        last[four] = p
        if q is not None and p - q <= 65535:
            n = 4
            while p + n < len(data) - 5 and data[p + n] == data[q + n]:
                n += 1
            sequence(data[anchor:p], p - q, n)
            p += n
            anchor = p
        else:
            p += 1
    sequence(data[anchor:])
    return bytes(out)


def compress(codec, data):
    if codec == 0:
        return data
    if codec == 1:
        return zstandard.ZstdCompressor().compress(data)
    if codec == 2:
        c = zlib.compressobj(6, zlib.DEFLATED, -15)
        return c.compress(data) + c.flush()
    return lz4_compress(data)


class Writer:
    def __init__(self, root, suite=1, seed=1):
        self.root, self.suite, self.r = root, suite, random.Random(seed)
        self.repo_id, self.D = self.r.randbytes(16), self.r.randbytes(32)
        self.M = {0: self.r.randbytes(32), 1: self.r.randbytes(32)}
        self.pending = {1: [], 2: []}        # kind -> [(codec, [chunk])]
        self.packs = []                      # (name, header, length, block records, chunk records)
        self.recovery = self.r.randbytes(32)
        self.hostile = False                 # lengths may be wrong, too

    # ---- objects
    def put(self, folder, data):
        name = blake3(data).hexdigest()
        place = os.path.join(self.root, folder, name[:2] if folder == "packs" else "")
        os.makedirs(place, exist_ok=True)
        path = os.path.join(place, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def header(self, cls, kind=0, root=None, params=b"", version=1, repo_id=None, salt=None, epoch=1,
               zero=bytes(32)):
        h = struct.pack("<7sBBBBBI16s32s32x32s", b"NJAROBJ", version, cls, kind, self.suite, 0,
                        0 if cls == 5 else epoch, repo_id or self.repo_id, salt or self.r.randbytes(32), zero)
        if root is None:
            purpose = {(1, 1): "pack data", (1, 2): "pack tree", (2, 0): "index", (3, 0): "snapshot", (4, 0): "config"}
            root = kdf(purpose[cls, kind], self.M[epoch])
        out = mac(root, h + params, 64)
        return h[:64] + out[32:] + h[96:], out[:32]

    def seal(self, key, tag, counter, data):
        n = bytes([tag, 0, 0, 0]) + struct.pack("<Q", counter)
        return {1: AESGCM, 2: ChaCha20Poly1305}[self.suite](key).encrypt(n, data, None)

    def sealed_record(self, folder, cls, tag, value, **how):
        h, key = self.header(cls, **how)
        return self.put(folder, h + self.seal(key, tag, 0, value if type(value) is bytes else record(value)))

    def config(self, generation=0, **how):
        return self.sealed_record("config", 4, 64, {
            0: generation, 1: how.pop("inside", self.repo_id), 2: 1 << 16, 3: 1 << 17, 4: 1 << 20, 5: MIB, 6: 16 * MIB,
            7: 4 * MIB, 8: "zstd", 9: [1_800_000_000, 5], 77: "of the future"}, **how)

    def keyring(self):
        return {0: self.repo_id, 1: self.D, 2: self.M, 3: "password", 4: [1_800_000_000, 0]}

    def slot(self, secret, params=None, keyring=None, repo_id=None):
        salt = self.r.randbytes(32)
        if type(secret) is str:
            params = params or struct.pack("<B3xIII", 1, 8192, 1, 1)
            root = hash_secret_raw(secret.encode(), salt, time_cost=1, memory_cost=8192, parallelism=1, hash_len=32,
                                   type=Type.ID, version=0x13)
        else:
            params, root = struct.pack("<B3xIII", 2, 0, 0, 0), kdf("recovery key", secret)
        h, key = self.header(5, root=root, params=params, salt=salt, repo_id=repo_id)
        return self.put("keys", h + params + self.seal(key, 48, 0, record(keyring or self.keyring())))

    def recovery_text(self):
        s = b32encode(self.recovery + kdf("recovery checksum", self.recovery)[:3]).decode().lower()
        assert len(s) == 56
        return "nj1-" + "-".join(s[i:i + 7] for i in range(0, 56, 7))

    # ---- chunks, packs, index
    def block(self, kind, codec, *chunks, payload=None):
        self.pending[kind].append((codec, chunks, payload))
        key = kdf({1: "chunk id data", 2: "chunk id tree"}[kind], self.D)
        return [mac(key, c) for c in chunks]

    def tree(self, value, codec=1):
        return self.block(2, codec, value if type(value) is bytes else record(value))[0]

    def pack(self, kind, epoch=1, wrong_id=False, id_kind=None, forge=None, gap=0, pad=None):
        h, key = self.header(1, kind, epoch=epoch)
        pending, self.pending[kind] = self.pending[kind], []
        numbers = self.r.sample(range(1 << 20), len(pending))
        body, blocks, chunks = bytearray(h), b"", b""
        id_key = kdf({1: "chunk id data", 2: "chunk id tree"}[id_kind or kind], self.D)
        for number, (codec, parts, payload) in zip(numbers, pending):
            plain = b"".join(parts)
            sealed = self.seal(key, 1, number, bytes([codec]) + struct.pack("<I", len(plain))[:3]
                               + (payload if payload is not None else compress(codec, plain)))
            blocks += struct.pack("<IIIIHH", number, len(body), len(sealed), len(plain), len(parts), 0)
            chunks += b"".join(mac(id_key, b"x" + c if wrong_id else c) + struct.pack("<I", len(c)) for c in parts)
            body += sealed
        if forge:
            blocks = bytearray(blocks)
            forge(blocks)
            blocks = bytes(blocks)
        body += bytes(gap)
        footer = blocks + chunks
        footer += bytes(-(len(body) + len(footer) + 16 + 128 + 24) % 4096)
        footer = footer[:-1] + pad if pad else footer
        body += self.seal(key, 3, 0, footer) + h
        body += self.seal(key, 4, 0, struct.pack("<II", len(footer) + 16, len(pending)))
        assert len(body) % 4096 == 0 or self.hostile
        path = self.put("packs", bytes(body))
        self.packs.append((bytes.fromhex(os.path.basename(path)), h, len(body), blocks, chunks))
        return path

    def index(self, superseded=0, count=None, empty_segment=False):
        packs, self.packs = self.packs, []
        table = b"".join(n + h + struct.pack("<II", length, len(b) // 20) for n, h, length, b, c in packs)
        table += b"".join(p[3] for p in packs) + b"".join(p[4] for p in packs)
        table = self.r.randbytes(32 * superseded) + table
        n = -(-(len(table) + 24) // MIB) + empty_segment
        table = struct.pack("<6I", count or n, superseded, len(packs), sum(len(p[3]) for p in packs) // 20,
                            sum(len(p[4]) for p in packs) // 36, 0) + table
        h, key = self.header(2)
        return self.put("index", h + b"".join(self.seal(key, 16, i, table[i * MIB:(i + 1) * MIB]) for i in range(n)))

    def snapshot(self, root, lamport=1, **how):
        extra = how.pop("extra", {})
        return self.sealed_record("snapshots", 3, 32, {
            0: [1_800_000_000, 123], 1: 3600, 3: "host", 4: "me", 5: [b"/etc", b"/h\xff\x1b"], 6: ["a", "b"], 7: root,
            9: "test 1", 11: {0: 1}, 14: bytes(16), 15: bytes(16), 16: 1, 18: lamport, **extra}, **how)

    def finish(self, root, **how):
        """Packs, index and snapshot over what is pending."""
        paths = {"data": self.pack(1) if self.pending[1] else None, "tree": self.pack(2)}
        paths["index"] = self.index(how.pop("superseded", 0))
        paths["snapshot"] = self.snapshot(root, **how)
        return paths

    def base(self):
        return {"config": self.config(), "slot": self.slot(PASSWORD), "recovery": self.slot(self.recovery)}


def node(name, kind, **more):
    keys = {"mode": 2, "mtime": 7, "ctime": 8, "size": 10, "inode": 11, "fs": 12, "nlink": 13, "target": 14, "dev": 15,
            "xattrs": 16, "inline": 18, "extents": 19, "tree_of": 20, "tree": 21}
    n = {0: name, 1: kind, 2: 0o644, 3: os.getuid(), 4: os.getgid(), 7: [1_700_000_000, 123_456_789]}
    n.update({keys[k]: v for k, v in more.items()})
    return n


def inline(name, data=b"", **more):
    return node(name, 1, inline=data, size=len(data), **more)


def leaf(*nodes):
    return {0: 1, 1: sorted(nodes, key=lambda n: n[0])}


def full_repository(root, suite, seed=1):
    """Every feature of the format once; returns the writer, the paths of its objects and the expected files."""
    w, files = Writer(root, suite, seed), {}
    paths, nodes = w.base(), []
    for codec in range(4):
        parts = [w.r.randbytes(3000) * 3, (b"abc%d" % codec) * 20_000, w.r.randbytes(70_000)]
        ids = w.block(1, codec, *parts)
        name = b"codec%d" % codec
        nodes.append(node(name, 1, extents=[[i, len(c)] for i, c in zip(ids, parts)], size=sum(map(len, parts)),
                          mode=0o640 + codec))
        files[name] = b"".join(parts)
    a, b = b"A" * 5000, b"B" * 7000
    ia, ib = w.block(1, 1, a, b)
    hole = 3 * MIB
    nodes.append(node(b"holes", 1, extents=[hole, [ia, 5000], hole, [ib, 7000], hole], size=3 * hole + 12_000))
    files[b"holes"] = bytes(hole) + a + bytes(hole) + b + bytes(hole)
    l1 = w.tree({0: 3, 1: [[ia, 5000], 100]}, 0)
    l2 = w.tree({0: 3, 1: [[ib, 7000]]}, 2)
    l3 = w.tree({0: 3, 1: [7, [ia, 5000]]}, 3)
    mid = w.tree({0: 4, 1: [[5100, l1], [7000, l2]]})
    top = w.tree({0: 4, 1: [[12_100, mid], [5007, l3]]})
    nodes.append(node(b"nested", 1, tree_of=top, size=17_107))
    files[b"nested"] = a + bytes(100) + b + bytes(7) + a
    nodes += [inline(b"empty"), inline(b"inline", b"hello", xattrs=[[b"user.a", b"1"], [b"user.b", b"\0\xff"]]),
              inline(b"\xff odd \n name", b"x"), node(b"link", 3, target=b"../../outside"), node(b"pipe", 4, mode=0o600),
              node(b"null", 5, dev=[1, 3]), node(b"before-1970", 1, inline=b"", mtime=[-5, 7])]
    files.update({b"empty": b"", b"inline": b"hello", b"\xff odd \n name": b"x", b"before-1970": b""})
    same = dict(nlink=2, fs=1, inode=77, ctime=[5, 5])
    nodes += [inline(b"hard1", b"hard", **same), inline(b"hard2", b"hard", **same), inline(b"hard3", b"soft", **same)]
    files.update({b"hard1": b"hard", b"hard2": b"hard", b"hard3": b"soft"})
    # a directory of branches over branches and leaves
    names = [b"f%04d" % i for i in range(300)]
    leaves = [(part[-1], w.tree(leaf(*(inline(n, n) for n in part)))) for part in
              (names[i:i + 20] for i in range(0, 300, 20))]
    low = [(part[-1][0], w.tree({0: 2, 1: [list(x) for x in part]})) for part in (leaves[:7], leaves[7:14])]
    big = w.tree({0: 2, 1: [list(x) for x in low] + [list(leaves[14])]})
    nodes.append(node(b"big", 2, tree=big, mode=0o750))
    nodes.append(node(b"void", 2, tree=w.tree({0: 1, 1: []}), mode=0o555))
    files.update({b"big/" + n: n for n in names})
    home = w.tree(leaf(*nodes), 2)
    root_id = w.tree(leaf(node(b"home", 2, tree=home)), 3)
    paths.update(w.finish(root_id, superseded=34_000))      # more than 1 MiB: an index of two segments
    assert os.path.getsize(paths["index"]) > MIB + 200
    return w, paths, {b"home/" + k: v for k, v in files.items()}


class Case(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.mkdtemp(prefix="nightjar-reader-")
        self.repo = os.path.join(self.tmp, "repo")
        self.addCleanup(shutil.rmtree, self.tmp, True)
        os.environ.pop("NIGHTJAR_PASSWORD_FILE", None)
        os.environ["NIGHTJAR_PASSWORD"] = PASSWORD

    def run_reader(self, *args):
        raw = io.BytesIO()
        out, err = io.TextIOWrapper(raw, "utf-8"), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = reader.main([self.repo, *args])
        out.flush()
        return code, raw.getvalue(), err.getvalue()

    def restore(self, *flags, snap="latest", expect=0):
        target = tempfile.mkdtemp(dir=self.tmp)
        code, _, err = self.run_reader("restore", snap, target, *flags)
        self.assertEqual(code, expect, err)
        return os.fsencode(target), err

    def check_files(self, target, files, missing=()):
        for name, data in files.items():
            path = os.path.join(target, name)
            if name in missing:
                self.assertFalse(os.path.lexists(path), name)
            else:
                with open(path, "rb") as f:
                    self.assertEqual(f.read(), data, name)

    @staticmethod
    def edit(path, change, rename=False, position=None):
        with open(path, "rb") as f:
            data = bytearray(f.read())
        change(data)
        os.unlink(path)
        if rename:                      # an attacker gives altered bytes their right name
            path = os.path.join(os.path.dirname(path), blake3(bytes(data)).hexdigest())
        with open(path, "wb") as f:
            f.write(data)
        return path

    def flip(self, path, at, rename=False):
        def change(data):
            data[at] ^= 1
        return self.edit(path, change, rename)

    # a repository with one hostile or odd tree
    def small(self, root_value, writer=None, **how):
        w = writer or Writer(self.repo)
        w.base()
        root = w.tree(root_value)
        return w.finish(root, **how)


class RoundTrip(Case):
    def both(self, suite):
        w, _, files = full_repository(self.repo, suite)
        for flags in ((), ("--without-index",)):
            target, err = self.restore(*flags)
            self.assertIn("devices and sockets", err)
            self.check_files(target, files)
            found = {os.path.relpath(os.path.join(d, f), target) for d, _, fs in os.walk(target) for f in fs}
            self.assertEqual(found, set(files) | {b"home/link", b"home/pipe"})
            home = os.path.join(target, b"home")
            st = os.lstat(home + b"/codec1")
            self.assertEqual(stat.S_IMODE(st.st_mode), 0o641)
            self.assertEqual(st.st_mtime_ns, 1_700_000_000_123_456_789)
            self.assertEqual(os.lstat(home + b"/before-1970").st_mtime_ns, -5 * 10 ** 9 + 7)
            self.assertEqual(os.lstat(home + b"/big").st_mtime_ns, 1_700_000_000_123_456_789)
            self.assertEqual(stat.S_IMODE(os.lstat(home + b"/void").st_mode), 0o555)
            self.assertEqual(os.readlink(home + b"/link"), b"../../outside")
            self.assertTrue(stat.S_ISFIFO(os.lstat(home + b"/pipe").st_mode))
            inodes = [os.lstat(home + b"/hard%d" % i).st_ino for i in (1, 2, 3)]
            self.assertTrue(inodes[0] == inodes[1] != inodes[2])
            self.assertLess(os.lstat(home + b"/holes").st_blocks * 512, 2 * MIB)
            if "extended attribute" not in err:
                self.assertEqual(os.getxattr(home + b"/inline", b"user.b"), b"\0\xff")
            for name in (b"holes", b"nested", b"codec3", b"inline"):
                code, out, _ = self.run_reader("cat", "latest", "/home/" + name.decode(), *flags)
                self.assertEqual((code, out), (0, files[b"home/" + name]))
        code, out, _ = self.run_reader("ls", "latest")
        self.assertEqual(code, 0)
        self.assertEqual(len(out.splitlines()), len(files) + 6)
        self.assertIn(b"/home/link -> ../../outside", out)
        os.environ["NIGHTJAR_PASSWORD"] = w.recovery_text().upper().replace("-", " ", 3)
        self.assertEqual(self.run_reader("snapshots")[0], 0)

    def test_aes(self):
        self.both(1)

    def test_chacha(self):
        self.both(2)

    def test_snapshots(self):
        w = Writer(self.repo)
        w.base()
        w.config(generation=3)
        root = w.tree({0: 1, 1: []})
        w.finish(root, lamport=5)
        first = os.path.basename(w.snapshot(root, lamport=9, epoch=0))
        second = os.path.basename(w.snapshot(root, lamport=2, extra={13: True}))
        code, out, _ = self.run_reader("snapshots")
        lines = out.decode().splitlines()
        self.assertEqual((code, len(lines)), (0, 3))
        self.assertTrue(lines[0].startswith(second[:12]) and lines[0].endswith("PARTIAL"))
        self.assertTrue(lines[2].startswith(first[:12]))
        self.assertIn("2027-01-15T08:00:00.000000123Z  host  /etc /h\\xff\\x1b  a,b", lines[2])
        self.restore(snap=second[:8])
        self.assertEqual(self.run_reader("ls", "ffffffffffffff")[0], 1)

    def test_snapshots_of_a_settled_lease(self):
        w = Writer(self.repo)
        w.base()
        root = w.tree({0: 1, 1: []})
        w.finish(root, lamport=1)
        honoured = os.path.basename(w.snapshot(root, lamport=2, extra={14: b"L" * 16}))
        w.snapshot(root, lamport=3, extra={14: b"L" * 16})
        w.snapshot(root, lamport=4, extra={14: b"M" * 16, 19: bytes(32)})
        self.assertEqual(len(self.run_reader("snapshots")[1].splitlines()), 4)
        path = os.path.join(self.repo, "leases", (b"L" * 16).hex() + "-honoured")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            settled = record({0: b"L" * 16, 1: bytes.fromhex(honoured)})
            f.write(settled + blake3(settled).digest()[:8])
        code, out, _ = self.run_reader("snapshots")
        self.assertEqual((code, len(out.splitlines())), (0, 3))
        self.assertIn(honoured[:12], out.decode())
        with open(path, "wb") as f:
            f.write(b"nothing")
        code, out, _ = self.run_reader("snapshots")
        self.assertEqual((code, len(out.splitlines())), (4, 2))

    def test_password_file_and_codecs(self):
        Writer(self.repo).base()
        del os.environ["NIGHTJAR_PASSWORD"]
        os.environ["NIGHTJAR_PASSWORD_FILE"] = os.path.join(self.tmp, "p")
        for content, code in ((PASSWORD + "\n", 0), (PASSWORD + "\r\n", 0), (PASSWORD, 0), (PASSWORD + "\n\n", 12)):
            with open(os.environ["NIGHTJAR_PASSWORD_FILE"], "w", newline="") as f:
                f.write(content)
            self.assertEqual(self.run_reader("snapshots")[0], code)
        r = random.Random(5)
        for n in (1, 4, 12, 13, 64, 255, 300, 5000, 70_000):
            for data in (bytes(n), r.randbytes(n), (b"ab" * n)[:n], (r.randbytes(270) * n)[:n]):
                packed = lz4_compress(data)
                self.assertEqual(reader.lz4_block(packed, n), data)
                for bad in (packed[:-1], packed + b"\0"):
                    with self.assertRaises(reader.Damaged):
                        reader.CODEC[3](bad, n) == data or self.fail()
                        if len(reader.CODEC[3](bad, n)) != n:
                            raise reader.Damaged
                for _ in range(20):             # must end in an error or in bytes, never in something else
                    noise = bytearray(packed)
                    noise[r.randrange(len(noise))] ^= 1 << r.randrange(8)
                    with contextlib.suppress(reader.Damaged):
                        self.assertLessEqual(len(reader.lz4_block(bytes(noise), n)), n)

    def test_vectors(self):
        """Known answers, to compare with other readers and writers."""
        z = bytes(range(32))
        self.assertEqual(reader.kdf("recovery key", z).hex(), VECTORS[0])
        self.assertEqual(reader.mac(reader.kdf("chunk id data", z), b"nightjar").hex(), VECTORS[1])
        self.assertEqual(reader.recovery_key(VECTORS[2]), z)
        h = b"NJAROBJ" + bytes([1, 3, 0, 1, 0, 7, 0, 0, 0]) + bytes(range(16)) + z + bytes(64)
        out = mac(reader.kdf("snapshot", z), h, 64)             # object key || commitment
        self.assertEqual(out.hex(), VECTORS[3])
        for suite in (1, 2):                                    # nonce 01 000000 0201000000000000
            self.assertEqual(reader.open_sealed(suite, out[:32], 1, 258, bytes.fromhex(VECTORS[3 + suite])), b"nightjar")

    def test_known_lz4(self):
        self.assertEqual(reader.lz4_block(b"\x11a\x01\x00\x50hello", 11), b"a" + b"a" * 5 + b"hello")

    def test_cbor(self):
        good = {0: [1, -2, b"x", "y", True], 24: 24, 256: 65535, 1 << 32: {1: 2}}
        self.assertEqual(reader.cbor(record(good)), good)
        for bad in ("a200010001", "a201000000", "a10018", "a1001801", "bf0001ff", "a1005f4100ff", "a10000" + "00",
                    "80", "a100" + "81" * 40 + "00", "a1005bffffffffffffffff", "a1009bffffffffffffffff", "a10061ff",
                    "a1200" + "0", "", "a1001b0000000000000001"):
            with self.assertRaises(reader.Damaged, msg=bad):
                reader.cbor(bytes.fromhex(bad))
        self.assertEqual(reader.cbor(bytes.fromhex("a20001187bc11a6553f100"))[0], 1)     # unknown key with a tag


class Password(Case):
    def test_wrong(self):
        Writer(self.repo).base()
        os.environ["NIGHTJAR_PASSWORD"] = "wrong"
        self.assertEqual(self.run_reader("snapshots")[0], 12)
        os.environ["NIGHTJAR_PASSWORD"] = Writer(self.repo, seed=2).recovery_text()
        self.assertEqual(self.run_reader("snapshots")[0], 12)

    def test_recovery_typo(self):
        w = Writer(self.repo)
        w.base()
        t = w.recovery_text()
        os.environ["NIGHTJAR_PASSWORD"] = t[:10] + ("a" if t[10] != "a" else "b") + t[11:]
        code, _, err = self.run_reader("snapshots")
        self.assertEqual(code, 12)
        self.assertIn("checksum", err)

    def test_no_repository(self):
        os.makedirs(self.repo + "/config")
        with open(self.repo + "/config/README", "w"):
            pass
        self.assertEqual(self.run_reader("snapshots")[0], 10)

    def test_newer(self):
        w = Writer(self.repo)
        w.slot(PASSWORD)
        w.config(version=2)
        self.assertEqual(self.run_reader("snapshots")[0], 14)

    def test_newer_snapshot_beside(self):
        self.small(leaf(inline(b"a", b"1")))
        Writer(self.repo).snapshot(bytes(32), version=2)
        target, err = self.restore(expect=14)
        self.assertIn("too new", err)
        self.check_files(target, {b"a": b"1"})

    def test_flipped_version_is_damage(self):
        w = Writer(self.repo)
        p = w.base()
        self.edit(p["config"], lambda d: d.__setitem__(7, 2))
        code, _, err = self.run_reader("snapshots")
        self.assertEqual(code, 4)

    def test_forged_cost(self):
        for params in ((1, 8192, 1, 17), (1, 2097153, 1, 1), (1, 0xFFFFFFFF, 0xFFFFFFFF, 255), (1, 8191, 1, 1),
                       (1, 8192, 0, 1), (1, 8192, 17, 1), (1, 8192, 1, 0), (3, 8192, 1, 1), (2, 8192, 0, 0)):
            shutil.rmtree(self.repo, True)
            w = Writer(self.repo)
            w.config()
            w.slot(PASSWORD, struct.pack("<B3xIII", *params))
            code, _, err = self.run_reader("snapshots")
            self.assertEqual(code, 4, params)
            w.slot(PASSWORD)                    # a good slot beside it still serves
            self.assertEqual(self.run_reader("snapshots")[0], 4)
            self.assertNotIn("no usable", self.run_reader("snapshots")[2])
        shutil.rmtree(self.repo, True)
        w = Writer(self.repo)
        w.config()
        path = w.slot(PASSWORD)                 # parameters altered within the limits: the commitment differs
        self.edit(path, lambda d: d.__setitem__(slice(128 + 8, 128 + 12), struct.pack("<I", 2)), rename=True)
        self.assertEqual(self.run_reader("snapshots")[0], 12)

    def test_other_repositories_objects(self):
        self.small(leaf(inline(b"a", b"1")))
        other = Writer(self.repo, seed=9)
        other.config()
        other.slot("other")
        target, _ = self.restore(expect=4)      # the foreign config is reported
        self.check_files(target, {b"a": b"1"})

    def test_config_or_keyring_with_other_id_inside(self):
        w = Writer(self.repo)
        w.base()
        w.config(inside=bytes(16))
        self.assertEqual(self.run_reader("snapshots")[0], 4)
        shutil.rmtree(self.repo)
        w.config()
        w.slot(PASSWORD, keyring={**w.keyring(), 0: bytes(16)})
        self.assertIn("another repository", self.run_reader("snapshots")[2])


class Damage(Case):
    def setUp(self):
        super().setUp()
        self.w, self.paths, self.files = full_repository(self.repo, 1 + len(self.id()) % 2)

    def test_bit_in_each_class(self):
        """In turn a bit in the header and in the sealed bytes, with the old name and with the right name."""
        original = self.repo
        for what, expect in (("config", 4), ("slot", 12), ("recovery", 4), ("index", 4), ("snapshot", 4)):
            for at in (0, 8, 9, 10, 11, 12, 20, 40, 70, 100, 130, 150, -1):
                for rename in (False, True):
                    self.repo = os.path.join(self.tmp, "copy")
                    shutil.copytree(original, self.repo)
                    self.flip(self.paths[what].replace(original, self.repo), at, rename)
                    code, out, err = self.run_reader("cat", "latest", "home/inline")
                    case = (what, at, rename, code, err)
                    if what == "config" or (what == "recovery" and at not in (20,)):
                        self.assertEqual(out, b"hello", case)
                    if what in ("index", "snapshot"):
                        self.assertEqual((code, out), (4, b""), case)
                    elif what == "config":
                        self.assertEqual(code, 4, case)
                    elif what == "slot":
                        self.assertIn(code, (4, 12), case)
                        self.assertEqual(out, b"", case)
                    else:                       # the slot of the recovery key is not needed here, and with its
                        # right name an altered one looks like a slot for another key
                        self.assertIn(code, (0, 4), case)
                        if not rename:
                            self.assertEqual(code, 4, case)
                    shutil.rmtree(self.repo)

    def test_index_lost(self):
        os.unlink(self.paths["index"])
        self.restore(expect=4)
        self.check_files(self.restore("--without-index")[0], self.files)

    def test_index_cut_at_segment(self):
        self.edit(self.paths["index"], lambda d: d.__delitem__(slice(128 + MIB + 16, None)), rename=True)
        self.assertIn("table does not", self.restore(expect=4)[1])

    def test_index_segments_swapped_or_count_wrong(self):
        def swap(d):
            d[128:] = d[128 + MIB + 16:] + d[128:128 + MIB + 16]
        self.edit(self.paths["index"], swap, rename=True)
        self.assertIn("does not open", self.restore(expect=4)[1])
        self.w.index(count=3)
        self.assertIn("table does not", self.restore(expect=4)[1])

    def test_bit_in_block(self):
        self.flip(self.paths["data"], 128 + 1000)
        for flags in ((), ("--without-index",)):
            target, err = self.restore(*flags, expect=4)
            self.assertIn("/home/codec0", err)
            self.check_files(target, self.files, {b"home/codec0"})
        code, out, err = self.run_reader("cat", "latest", "home/codec0")
        self.assertEqual((code, out), (4, b""))

    def test_bit_in_footer_trailer_headers(self):
        size = os.path.getsize(self.paths["data"])
        for at, good in ((size - 1, False), (size - 200, False), (0, True), (12, True), (size - 152 + 12, False)):
            self.flip(self.paths["data"], at)
            self.check_files(self.restore()[0], self.files)       # the index makes the footer unnecessary
            target, err = self.restore("--without-index", expect=4)
            if good:                                              # one of the two headers serves
                self.check_files(target, self.files)
            self.flip(self.paths["data"], at)
        self.restore("--without-index")

    def test_epoch_flipped(self):
        size = os.path.getsize(self.paths["tree"])

        def change(d):
            d[12] ^= 1
            d[size - 152 + 12] ^= 1
        self.edit(self.paths["tree"], change)
        err = self.restore("--without-index", expect=4)[1]
        self.assertIn("commitment differs", err)
        path = self.flip(self.paths["snapshot"], 12, rename=True)
        code, out, err = self.run_reader("snapshots")
        self.assertEqual((code, out), (4, b""))
        self.assertIn("commitment differs", err)
        self.edit(path, lambda d: d.__setitem__(12, 9), rename=True)
        self.assertIn("epoch 9", self.run_reader("snapshots")[2])

    def test_truncated_pack(self):
        for cut in (1, 4096, 150_000):
            size = os.path.getsize(self.paths["data"])
            with open(self.paths["data"], "r+b") as f:
                f.truncate(size - cut)
            self.restore("--without-index", expect=4)
        target, err = self.restore(expect=4)                      # by the index the first blocks still come
        self.check_files(target, {k: self.files[k] for k in (b"home/codec0", b"home/inline")})
        self.assertIn("/home/nested", err)
        os.unlink(self.paths["data"])
        self.assertIn("No such file", self.restore(expect=4)[1])

    def test_swapped_blocks(self):
        """Two blocks of one sealed length change places."""
        w = Writer(self.repo, seed=1)                             # same keys as the repository
        w.r.seed(99)
        x, y = w.r.randbytes(1000), w.r.randbytes(1000)
        (ix,), (iy,) = w.block(1, 0, x), w.block(1, 0, y)
        w.suite = self.w.suite
        root = w.tree(leaf(node(b"x", 1, extents=[[ix, 1000]], size=1000), node(b"y", 1, extents=[[iy, 1000]], size=1000)))
        path = w.finish(root, lamport=7)["data"]
        self.check_files(self.restore()[0], {b"x": x, b"y": y})

        def swap(d):
            d[128:128 + 1020], d[128 + 1020:128 + 2040] = d[128 + 1020:128 + 2040], d[128:128 + 1020]
        self.edit(path, swap)
        for flags in ((), ("--without-index",)):
            target, err = self.restore(*flags, expect=4)
            self.assertEqual(os.listdir(target), [])

    def test_second_place_serves(self):
        """A damaged block whose chunks lie in a second pack costs nothing."""
        w = self.w
        code, data, _ = self.run_reader("cat", "latest", "home/holes")
        w.block(1, 2, b"B" * 7000)
        w.block(1, 3, b"A" * 5000)
        w.pack(1)
        w.index()
        # the last block of the first data pack holds A and B
        name = bytes.fromhex(os.path.basename(self.paths["data"]))
        os.environ["NIGHTJAR_PASSWORD"] = PASSWORD
        repo = reader.Repository(self.repo, PASSWORD.encode())
        repo.load_index()
        block = max((p[0] for ps in repo.chunks.values() for p in ps if p[0].pack.name == name.hex()),
                    key=lambda b: b.offset)
        self.flip(self.paths["data"], block.offset + 5)
        self.check_files(self.restore()[0], self.files)

    def test_damaged_latest_snapshot(self):
        path = self.w.snapshot(bytes(32), lamport=50)
        self.flip(path, 200)
        target, err = self.restore(expect=4)
        self.check_files(target, self.files)
        self.assertIn("newer one may be", err)

    def test_random_flips(self):
        """Whatever bit flips: no exception, and never a wrong file."""
        r = random.Random(4)
        everything = [p for p in self.paths.values()]
        for _ in range(25):
            path = r.choice(everything)
            at = r.randrange(os.path.getsize(path))
            self.flip(path, at)
            target = tempfile.mkdtemp(dir=self.tmp)
            code, _, err = self.run_reader("restore", "latest", target, *(["--without-index"] if r.random() < .5 else []))
            self.assertIn(code, (0, 4, 12), (path, at, err))
            for name, data in self.files.items():
                if os.path.lexists(os.path.join(os.fsencode(target), name)):
                    with open(os.path.join(os.fsencode(target), name), "rb") as f:
                        self.assertEqual(f.read(), data)
            shutil.rmtree(target)
            self.flip(path, at)


class Hostile(Case):
    """Bytes that somebody with the keys wrote."""

    def refused(self, root_value, message, left=(), ls=4):
        shutil.rmtree(self.repo, True)
        self.small(root_value)
        target, err = self.restore(expect=4)
        self.assertIn(message, err)
        self.assertEqual(sorted(os.listdir(target)), sorted(left))
        self.assertEqual(self.run_reader("ls", "latest")[0], ls)

    def test_names(self):
        for name in (b"..", b".", b"", b"a/b", b"/etc", b"a\0b", b"n" * 256, "text"):
            self.refused({0: 1, 1: [{**inline(b"x"), 0: name}]}, "field 0")

    def test_double_and_unsorted(self):
        self.refused({0: 1, 1: [node(b"a", 3, target=b"/tmp"), inline(b"a")]}, "not sorted, or one twice")
        self.refused({0: 1, 1: [inline(b"b"), inline(b"a")]}, "not sorted, or one twice")

    def test_double_over_branches(self):
        w = Writer(self.repo)
        l1 = w.tree(leaf(inline(b"a"), node(b"b", 3, target=b"/tmp")))
        l2 = w.tree(leaf(inline(b"b"), inline(b"c")))
        self.small({0: 2, 1: [[b"b", l1], [b"c", l2]]}, w)
        target, err = self.restore(expect=4)
        self.assertIn("do not fit", err)
        self.assertEqual(sorted(os.listdir(target)), [b"a", b"b"])

    def test_last_name_wrong_and_empty_leaf(self):
        for entries, message in ((leaf(inline(b"a")), "do not fit"), ({0: 1, 1: []}, "empty part")):
            shutil.rmtree(self.repo, True)
            w = Writer(self.repo)
            self.small({0: 2, 1: [[b"b", w.tree(entries)]]}, w)
            self.assertIn(message, self.restore(expect=4)[1])

    def test_too_deep(self):
        w = Writer(self.repo)
        t = w.tree(leaf(inline(b"a")))
        for _ in range(40):
            t = w.tree({0: 2, 1: [[b"a", t]]})
        self.small({0: 2, 1: [[b"a", t]]}, w)
        self.assertIn("too deep", self.restore(expect=4)[1])

    def test_nodes(self):
        for n, message in (
                (inline(b"x", mode=0o10000), "field 2"), (node(b"x", 8), "field 1"), (node(b"x", 1), "0 contents"),
                ({**inline(b"x"), 19: []}, "2 contents"), ({**inline(b"x", b"ab"), 10: 3}, "its size"),
                (node(b"x", 2), "fit its kind"), (node(b"x", 3), "fit its kind"), (node(b"x", 2, tree=b"short"), "field 21"),
                (inline(b"x", mtime=[0, 10 ** 9]), "field 7"), (inline(b"x", b"y" * 257), "field 18"),
                (inline(b"x", xattrs=[[b"b", b""], [b"a", b""]]), "extended"), (node(b"x", 3, target=b"a\0"), "zero byte"),
                (node(b"x", 1, extents=[1] * 1025, size=1025), "field 19"), (node(b"x", 1, extents=[0]), "field 19"),
                (node(b"x", 1, extents=[True], size=1), "field 19")):
            self.refused({0: 1, 1: [n]}, message)
        self.refused({0: 1, 1: [inline(b"%05d" % i) for i in range(2049)]}, "too many")
        self.refused({0: 5, 1: []}, "type")
        self.refused({0: 3, 1: [5]}, "type")

    def test_extents(self):
        self.refused(leaf(node(b"x", 1, extents=[5, 6], size=10), inline(b"y")), "exceed the size", [b"y"], 0)
        self.refused(leaf(node(b"x", 1, extents=[5, 6], size=12), inline(b"y")), "do not add up", [b"y"], 0)
        for length, size in ((5, 5), (4, 4)):
            shutil.rmtree(self.repo)
            w = Writer(self.repo)
            i, = w.block(1, 0, b"12345")
            ok = length == 5
            self.small(leaf(node(b"x", 1, extents=[[i, length]], size=size)), w)
            self.assertEqual(os.listdir(self.restore(expect=0 if ok else 4)[0]), [b"x"] if ok else [])
        shutil.rmtree(self.repo)
        w = Writer(self.repo)
        below = w.tree({0: 3, 1: [5]})
        top = w.tree({0: 4, 1: [[4, below], [6, below]]})
        self.small(leaf(node(b"x", 1, tree_of=top, size=10)), w)
        self.assertIn("extent branch", self.restore(expect=4)[1])

    def test_bombs(self):
        """Each codec with a payload that is far too long, one byte too long, too short, or followed by bytes."""
        for codec in (0, 1, 2, 3):
            for bad in ("huge", "long", "short", "tail"):
                shutil.rmtree(self.repo, True)
                w = Writer(self.repo)
                data = b"z" * 1000
                real = {"huge": bytes(64 * MIB), "long": data + b"z", "short": data[:-1], "tail": data}[bad]
                payload = (lz4_bomb(len(real)) if codec == 3 and bad == "huge" else compress(codec, real))
                payload += b"\0\0" if bad == "tail" else b""
                i, = w.block(1, codec, data, payload=payload)
                self.small(leaf(node(b"x", 1, extents=[[i, 1000]], size=1000), inline(b"y")), w)
                target, err = self.restore(expect=4)
                self.assertEqual(os.listdir(target), [b"y"], (codec, bad))
        with self.assertRaises(reader.Damaged):
            reader.lz4_block(lz4_bomb(1 << 32), 100)

    def test_wrong_chunk_id(self):
        w = Writer(self.repo)
        w.base()
        w.block(1, 0, b"12345")
        key = kdf("chunk id data", w.D)
        w.pack(1, wrong_id=True)
        root = w.tree(leaf(node(b"x", 1, extents=[[mac(key, b"x12345"), 5]], size=5)))
        w.finish(root)
        self.assertIn("does not have its id", self.restore(expect=4)[1])

    def test_target_not_empty(self):
        self.small(leaf(inline(b"a")))
        os.symlink("/tmp", os.path.join(self.tmp, "t"))
        self.assertEqual(self.run_reader("restore", "latest", self.tmp)[0], 1)

    def test_symlink_then_below(self):
        """The entries below a directory never pass through a link that the snapshot made."""
        w = Writer(self.repo)
        outside = os.path.join(self.tmp, "outside")
        os.mkdir(outside)
        sub = w.tree(leaf(inline(b"evil", b"x")))
        self.small({0: 1, 1: [node(b"a", 3, target=os.fsencode(outside)), node(b"a", 2, tree=sub)]}, w)
        self.restore(expect=4)
        self.assertEqual(os.listdir(outside), [])

    def test_random_hostile_plain(self):
        """Bytes change before they are sealed or get their chunk id: no exception, nothing outside of the target."""
        r = random.Random(11)
        for round_ in range(150):
            shutil.rmtree(self.repo, True)
            w = Writer(self.repo, seed=round_)
            w.hostile = True
            victim, calls, seal, tree = r.randrange(16), [0], w.seal, w.tree

            def change(data):
                calls[0] += 1
                if calls[0] - 1 != victim or not data:
                    return data
                data = bytearray(data)
                for _ in range(r.randrange(1, 4)):
                    data[r.randrange(len(data))] = r.choice((0, 1, 255, r.randrange(256)))
                return bytes(data[:r.randrange(len(data))] if r.random() < .1 else data)
            w.seal = lambda key, tag, counter, data: seal(key, tag, counter, change(data))
            w.tree = lambda value, codec=1: tree(change(record(value)), codec)
            w.base()
            i, = w.block(1, 1, b"data" * 99)
            low = w.tree({0: 3, 1: [[i, 396], 4]})
            sub = w.tree(leaf(inline(b"f", b"1"), node(b"g", 1, tree_of=w.tree({0: 4, 1: [[400, low]]}), size=400)))
            root = w.tree(leaf(node(b"d", 2, tree=w.tree({0: 2, 1: [[b"g", sub]]})), node(b"l", 3, target=b"/")))
            w.finish(root)
            target = tempfile.mkdtemp(dir=self.tmp)
            for flags in ([], ["--without-index"]):
                code, _, err = self.run_reader("restore", "latest", os.path.join(target, "x"), *flags)
                self.assertIn(code, (0, 1, 4, 12, 14), err)
                self.assertLessEqual(set(os.listdir(target)), {"x"})
                self.run_reader("ls", "latest", *flags)
                shutil.rmtree(os.path.join(target, "x"), True)

    def test_forged_records(self):
        """Block and chunk records that break a rule, in the footer and in the index."""
        def put(at, form, value):
            return lambda b: struct.pack_into(form, b, at, value)

        def add(at, n):
            return lambda b: struct.pack_into("<I", b, at, struct.unpack_from("<I", b, at)[0] + n)

        def same_number(b):
            b[20:24] = b[0:4]

        def no_chunks(b):                       # both chunks belong to block 0, none to block 1
            put(16, "<H", 2)(b), put(12, "<I", 9)(b), put(36, "<H", 0)(b)
        both, footer_only = ([], ["--without-index"]), (["--without-index"],)
        for how, message, modes in (
                (dict(forge=same_number), "block record 1", both), (dict(forge=put(18, "<H", 1)), "block record 0", both),
                (dict(forge=no_chunks), "block record 1", both), (dict(forge=add(24, 1)), "block record 1", both),
                (dict(forge=put(12, "<I", 4 * MIB + 1)), "block record 0", both),
                (dict(forge=put(8, "<I", 19)), "block record 0", both), (dict(forge=add(12, 1)), "do not add up", both),
                (dict(forge=add(28, 1 << 24)), "fill their space", both), (dict(gap=16), "fill their space", footer_only),
                (dict(pad=b"\1"), "footer of the pack", footer_only), (dict(id_kind=2), "in no pack", both)):
            shutil.rmtree(self.repo, True)
            w = Writer(self.repo)
            w.base()
            (i,), (j,) = w.block(1, 0, b"12345"), w.block(1, 0, b"6789")
            root = w.tree(leaf(node(b"x", 1, extents=[[i, 5], [j, 4]], size=9), inline(b"y")))
            w.pack(1, **how)
            w.index()                           # of its own: wrong counts make a whole index object useless
            w.finish(root)
            for flags in modes:
                target, err = self.restore(*flags, expect=4)
                self.assertIn(message, err)
                self.assertEqual(os.listdir(target), [b"y"])
        for chunks, codec, message in (((b"", b"12345"), 0, "empty chunk"), ((b"12345",), 4, "codec or plain"),
                                       ((b"12345",), 255, "codec or plain"), ((b"5",) * 4097, 0, "block record 0")):
            shutil.rmtree(self.repo, True)
            w = Writer(self.repo)
            i = w.block(1, codec, *chunks, payload=b"".join(chunks))[-1]
            self.small(leaf(node(b"x", 1, extents=[[i, len(chunks[-1])]], size=len(chunks[-1]))), w)
            self.assertIn(message, self.restore(expect=4)[1])

    def test_chunk_in_pack_of_wrong_kind(self):
        w = Writer(self.repo)
        w.base()
        w.pending[2].append((0, [b"12345"], None))
        w.pack(2, id_kind=1)
        i = mac(kdf("chunk id data", w.D), b"12345")
        w.finish(w.tree(leaf(node(b"x", 1, extents=[[i, 5]], size=5))))
        self.assertIn("wrong kind", self.restore(expect=4)[1])

    def test_plain_length_in_block_differs(self):
        w = Writer(self.repo)
        i, = w.block(1, 0, b"12345")
        seal = w.seal
        w.seal = lambda key, tag, n, d: seal(key, tag, n, d[:1] + b"\6" + d[2:] if tag == 1 and d.endswith(b"12345") else d)
        self.small(leaf(node(b"x", 1, extents=[[i, 5]], size=5)), w)
        self.assertIn("codec or plain", self.restore(expect=4)[1])

    def test_zero_field_and_empty_segment(self):
        self.small(leaf(inline(b"x")))
        w = Writer(self.repo)
        w.snapshot(bytes(32), lamport=9, zero=bytes(31) + b"\1")
        self.assertIn("zero field", self.restore(expect=4)[1])
        for empty in (False, True):
            shutil.rmtree(self.repo)
            w = Writer(self.repo)
            w.base()
            w.block(1, 0, b"1", b"2", b"3")
            w.pack(1)
            path = w.index(superseded=32_758, empty_segment=empty)      # a table of exactly 1 MiB
            self.assertEqual(os.path.getsize(path), 128 + MIB + 16 + 16 * empty)
            w.finish(w.tree(leaf(inline(b"x"))))
            err = self.restore(expect=4 if empty else 0)[1]
            self.assertEqual("empty segment" in err, empty)

    def test_set_id(self):
        self.small(leaf(inline(b"a", mode=0o4755)))
        target, _ = self.restore()
        mode = stat.S_IMODE(os.lstat(target + b"/a").st_mode)
        self.assertEqual(mode, 0o4755 if os.geteuid() == 0 else 0o755)

    def test_hostile_directories_are_no_hard_links(self):
        w = Writer(self.repo)
        t = w.tree({0: 1, 1: []})
        same = dict(nlink=2, fs=1, inode=7, ctime=[1, 1], tree=t)
        self.small(leaf(node(b"a", 2, **same), node(b"b", 2, **same)), w)
        self.assertEqual(sorted(os.listdir(self.restore()[0])), [b"a", b"b"])


def lz4_bomb(n):
    match = n - 1 - 5 - 4 - 15
    return b"\x1fz\x01\x00" + b"\xff" * (match // 255) + bytes([match % 255]) + b"\x50zzzzz"


if __name__ == "__main__":
    unittest.main()
