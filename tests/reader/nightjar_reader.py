#!/usr/bin/env python3
"""A reader for Nightjar repositories, format version 1.

Written from repo-format.md alone; "ch. 7" in a comment is chapter 7 of that document, "GUESS" marks a
place where the document leaves room and this reader had to choose.  It never writes to the repository.

    nightjar_reader.py REPO snapshots
    nightjar_reader.py REPO ls SNAP
    nightjar_reader.py REPO cat SNAP PATH
    nightjar_reader.py REPO restore SNAP TARGET
"""
import argparse
import base64
import datetime
import hmac
import os
import re
import stat
import struct
import sys
import zlib
from collections import OrderedDict
from typing import NamedTuple

import zstandard
from argon2.exceptions import HashingError
from argon2.low_level import Type, hash_secret_raw
from blake3 import blake3
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

EXIT_OK, EXIT_OTHER, EXIT_DAMAGE, EXIT_NO_REPO, EXIT_PASSWORD, EXIT_TOO_NEW = 0, 1, 4, 10, 12, 14


class Damaged(Exception):
    """Bytes that break a rule of the format."""


class TooNew(Damaged):
    """An object of a later format version."""


class Stop(Exception):
    """Nothing more can be done: args are the exit code and the message."""


# ---------------------------------------------------------------- constants (ch. 3, 4, 7, 13)
KIB, MIB = 1 << 10, 1 << 20
MAGIC, HEADER, TAG = b"NJAROBJ", 128, 16
PACK, INDEX, SNAPSHOT, CONFIG, KEYSLOT = 1, 2, 3, 4, 5                # classes
DATA, TREE = 1, 2                                                     # kinds of packs
AEAD = {1: AESGCM, 2: ChaCha20Poly1305}                               # suites
N_BLOCK, N_FOOTER, N_TRAILER, N_SEGMENT, N_SNAPSHOT, N_KEYSLOT, N_CONFIG = 1, 3, 4, 16, 32, 48, 64
PURPOSE = {(PACK, DATA): "pack data", (PACK, TREE): "pack tree", (INDEX, 0): "index",
           (SNAPSHOT, 0): "snapshot", (CONFIG, 0): "config"}
MAX_PLAIN, MAX_BLOCK_CHUNKS, MAX_BLOCKS, MAX_CHUNKS = 4 * MIB, 4096, 16384, 65536
MAX_PACK, PACK_STEP, MAX_RECORD = 256 * MIB, 4096, 16 * MIB
SEGMENT, MAX_SEGMENTS = MIB, 256
MAX_INDEX = HEADER + MAX_SEGMENTS * (SEGMENT + TAG)
MAX_ENTRIES, MAX_INLINE, MAX_NODE_EXTENTS, MAX_XATTRS = 2048, 256, 1024, 3145728
FILE, DIR, SYMLINK, FIFO, CHAR, BLOCKDEV, SOCKET = 1, 2, 3, 4, 5, 6, 7  # node kinds (ch. 9)
LEAF, BRANCH, EXTENT_LEAF, EXTENT_BRANCH = 1, 2, 3, 4                   # tree chunks (ch. 9)
MAX_TREE_DEPTH = 16        # GUESS: levels of branches; 2048 ** 3 entries are enough for anything
MAX_DIR_DEPTH = 4096       # GUESS: directories in directories
ZSTD_WINDOW = 128 * MIB    # GUESS: no limit in the document; this is the default of the zstd program


# ---------------------------------------------------------------- primitives (ch. 4)
def kdf(context, data):
    return blake3(data, derive_key_context="nightjar v1 2026-12 " + context).digest()


def mac(key, data, length=32):
    return blake3(data, key=key).digest(length=length)


def nonce(tag, counter):
    return struct.pack("<B3xQ", tag, counter)     # GUESS: the counter is little-endian, as all numbers


def open_sealed(suite, key, tag, counter, sealed):
    """ciphertext || tag -> plain bytes, or Damaged."""
    if len(sealed) < TAG:
        raise Damaged("sealed part cut short")
    try:
        return AEAD[suite](key).decrypt(nonce(tag, counter), sealed, None)
    except InvalidTag:
        raise Damaged("sealed part does not open (altered bytes)") from None


def check_header(header, cls, repo_id=None):
    """The checks of ch. 3 in their order; the commitment is checked by object_key()."""
    if len(header) < HEADER:
        raise Damaged("shorter than a header")
    if header[:7] != MAGIC:
        raise Damaged("not a Nightjar object")
    if header[7] > 1:
        raise TooNew("format too new (version %d)" % header[7])
    if header[7] != 1:
        raise Damaged("format version 0")
    if header[8] != cls:
        raise Damaged("class %d, expected %d" % (header[8], cls))
    if header[9] not in ((DATA, TREE) if cls == PACK else (0,)):
        raise Damaged("unknown kind %d" % header[9])
    if header[10] not in AEAD:
        raise Damaged("unknown suite %d" % header[10])
    if header[11] != 0:
        raise Damaged("unknown key mode %d" % header[11])
    if any(header[96:128]):
        raise Damaged("zero field of the header is not zero")
    if repo_id is not None and header[16:32] != repo_id:
        raise Damaged("belongs to another repository")
    if cls == KEYSLOT and any(header[12:16]):
        raise Damaged("key slot with an epoch")


def object_key(root, header, kdf_parameters=b""):
    """The object key, or None when the commitment differs (ch. 4)."""
    out = mac(root, header[:64] + bytes(32) + header[96:128] + kdf_parameters, 64)
    return out[:32] if hmac.compare_digest(out[32:], header[64:96]) else None


# ---------------------------------------------------------------- decompression (ch. 7)
def lz4_block(src, size):
    """One LZ4 block of exactly `size` plain bytes."""
    out, p = bytearray(), 0

    def length(n):                   # lengths from 15 on continue in bytes until one is not 255
        nonlocal p
        while n >= 15:
            n, p = n + src[p], p + 1
            if src[p - 1] != 255:
                break
        return n

    try:
        while True:
            token, p = src[p], p + 1
            literals = length(token >> 4)
            if len(out) + literals > size or p + literals > len(src):
                raise Damaged("LZ4: literals too long")
            out += src[p:p + literals]
            p += literals
            if p == len(src):        # the last sequence has literals only
                break
            distance, p = src[p] | src[p + 1] << 8, p + 2
            match = length(token & 15) + 4
            if not 1 <= distance <= len(out) or len(out) + match > size:
                raise Damaged("LZ4: bad match")
            part = bytes(out[-distance:])           # it may overlap what it writes: repeat it
            out += (part * (match // distance + 1))[:match]
    except IndexError:
        raise Damaged("LZ4: cut short") from None
    return bytes(out)


def zstd_frame(src, size):
    """One zstd frame.  Fed in pieces of 1 KiB (at most 32 MiB of output each), so a bomb cannot fill the memory."""
    out, p = bytearray(), 0
    try:
        frame = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW).decompressobj()
        while p < len(src) and not frame.eof:
            out += frame.decompress(src[p:p + KIB])
            p += KIB
            if len(out) > size:
                raise Damaged("zstd: more than the plain length")
    except zstandard.ZstdError as e:
        raise Damaged("zstd: %s" % e) from None
    if not frame.eof or frame.unused_data or p < len(src):
        raise Damaged("zstd: payload is not exactly one frame")
    return bytes(out)


def deflate_stream(src, size):
    stream = zlib.decompressobj(-15)
    try:
        out = stream.decompress(src, size + 1)
    except zlib.error as e:
        raise Damaged("deflate: %s" % e) from None
    if len(out) > size or not stream.eof or stream.unused_data:
        raise Damaged("deflate: payload is not exactly one stream of the plain length")
    return out


CODEC = {0: lambda src, size: src, 1: zstd_frame, 2: deflate_stream, 3: lz4_block}


# ---------------------------------------------------------------- records (conventions: strict CBOR)
def cbor(data):
    """Decode one record.  Refuses indefinite lengths, integers not in the shortest form, map keys that are not
    unsigned or do not ascend strictly, and bytes after the record.  Tags and floats can stand only under unknown
    keys; they become tuples, which fit no field."""

    def take(p, n):
        if n > len(data) - p:
            raise Damaged("record cut short")
        return data[p:p + n]

    def item(p, depth):
        if depth > 16:                              # GUESS: no limit in the document
            raise Damaged("record nested too deep")
        first = take(p, 1)[0]
        major, n, p = first >> 5, first & 31, p + 1
        if n > 27:
            raise Damaged("record with an indefinite length")
        if n >= 24:
            width = 1 << (n - 24)
            n = int.from_bytes(take(p, width), "big")
            p += width
            if major == 7:
                return ("simple or float", n), p
            if n < (24 if width == 1 else 1 << 4 * width):
                raise Damaged("record with an integer not in its shortest form")
        if major == 0:
            return n, p
        if major == 1:
            return -1 - n, p
        if major == 2:
            return take(p, n), p + n
        if major == 3:
            try:
                return take(p, n).decode("utf-8"), p + n
            except UnicodeDecodeError:
                raise Damaged("text is not UTF-8") from None
        if major == 4:
            take(p, n)                              # every element has at least one byte
            values = []
            for _ in range(n):
                value, p = item(p, depth + 1)
                values.append(value)
            return values, p
        if major == 5:
            take(p, 2 * n)
            record, last = {}, -1
            for _ in range(n):
                key, p = item(p, depth + 1)
                if type(key) is not int or key <= last:
                    raise Damaged("record keys do not ascend")
                record[key], p = item(p, depth + 1)
                last = key
            return record, p
        if major == 6:
            value, p = item(p, depth + 1)
            return ("tag", n, value), p
        return {20: False, 21: True}.get(n, ("simple", n)), p

    record, end = item(0, 0)
    if end != len(data) or type(record) is not dict:
        raise Damaged("not one record")
    return record


# Checks of field types.  type() instead of isinstance(): True is not a number here.
def u(bits):
    return lambda v: type(v) is int and 0 <= v < 1 << bits


def raw(low, high):
    return lambda v: type(v) is bytes and low <= len(v) <= high


def text(v):
    return type(v) is str


def integer(v):
    return type(v) is int


def boolean(v):
    return type(v) is bool


def array(check, most=1 << 32):
    return lambda v: type(v) is list and len(v) <= most and all(map(check, v))


def fields(*checks):                                # an array of fixed length
    return lambda v: type(v) is list and len(v) == len(checks) and all(c(x) for c, x in zip(checks, v))


def time(v):                                        # ch. 6
    return fields(integer, integer)(v) and 0 <= v[1] <= 999_999_999


def name_ok(v):                                     # ch. 9
    return raw(1, 255)(v) and b"/" not in v and b"\0" not in v and v not in (b".", b"..")


def extent(v):                                      # ch. 10: "1 to 4 MiB" read as one byte to 4 MiB
    return (type(v) is int and v >= 1) or (fields(raw(32, 32), u(32))(v) and 1 <= v[1] <= MAX_PLAIN)


def masters(v):                                     # ch. 5
    return type(v) is dict and 1 <= len(v) <= 1024 and all(map(u(32), v)) and all(map(raw(32, 32), v.values()))


NEED, MAY = True, False
ID = raw(32, 32)
KEYRING = {0: (raw(16, 16), NEED), 1: (ID, NEED), 2: (masters, NEED),
           3: (lambda v: text(v) and len(v.encode()) <= 256, NEED), 4: (time, NEED)}
CONFIG_RECORD = {0: (u(64), NEED), 1: (raw(16, 16), NEED)}     # the rest is for writers
SNAPSHOT_RECORD = {
    0: (time, NEED), 1: (integer, NEED), 2: (text, MAY), 3: (text, NEED), 4: (text, NEED),
    5: (array(raw(0, MAX_RECORD)), NEED), 6: (array(text), MAY), 7: (ID, NEED), 8: (ID, MAY), 9: (text, NEED),
    10: (array(text), MAY), 11: (lambda v: type(v) is dict, NEED),
    12: (array(fields(raw(0, MAX_RECORD), text), 10_000), MAY), 13: (boolean, MAY), 14: (raw(16, 16), NEED),
    15: (raw(16, 16), NEED), 16: (u(64), NEED), 17: (ID, MAY), 18: (u(64), NEED), 19: (ID, MAY)}
HONOURED_RECORD = {0: (raw(16, 16), NEED), 1: (lambda v: type(v) is bytes and len(v) % 32 == 0, NEED)}
NODE = {
    0: (name_ok, NEED), 1: (lambda v: integer(v) and FILE <= v <= SOCKET, NEED),
    2: (lambda v: u(32)(v) and v <= 0o7777, NEED), 3: (u(32), NEED), 4: (u(32), NEED), 5: (text, MAY), 6: (text, MAY),
    7: (time, MAY), 8: (time, MAY), 9: (time, MAY), 10: (u(64), MAY), 11: (u(64), MAY), 12: (u(32), MAY),
    13: (u(64), MAY), 14: (raw(1, 65535), MAY), 15: (fields(integer, integer), MAY),
    16: (array(fields(raw(0, 65535), raw(0, MAX_XATTRS))), MAY), 17: (u(32), MAY), 18: (raw(0, MAX_INLINE), MAY),
    19: (array(extent, MAX_NODE_EXTENTS), MAY), 20: (ID, MAY), 21: (ID, MAY)}


def check_record(record, table):
    for key, (check, needed) in table.items():
        if key in record:
            if not check(record[key]):
                raise Damaged("field %d is not as it must be" % key)
        elif needed:
            raise Damaged("field %d is missing" % key)
    return record


def check_node(node):
    """Every rule of ch. 9 for one node."""
    if type(node) is not dict:
        raise Damaged("node is not a map")
    check_record(node, NODE)
    kind, contents = node[1], [k for k in (18, 19, 20) if k in node]
    if len(contents) != (1 if kind == FILE else 0):
        raise Damaged("node %s has %d contents" % (show(node[0]), len(contents)))
    if (21 in node) != (kind == DIR) or (kind == SYMLINK and 14 not in node):
        raise Damaged("node %s does not fit its kind" % show(node[0]))
    if 18 in node and len(node[18]) != node.get(10, 0):
        raise Damaged("node %s: content does not have its size" % show(node[0]))
    if 14 in node and b"\0" in node[14]:
        raise Damaged("node %s: zero byte in its target" % show(node[0]))
    names = [name for name, _ in node.get(16, [])]
    if names != sorted(set(names)) or sum(len(n) + len(v) for n, v in node.get(16, [])) > MAX_XATTRS:
        raise Damaged("node %s: extended attributes" % show(node[0]))


def extent_length(e):
    return e if type(e) is int else e[1]


def show(data):
    """Names for people: what could confuse a terminal is escaped."""
    s = data if type(data) is str else data.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in s)


def show_time(t):
    try:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=t[0])
        return moment.isoformat() + (".%09dZ" % t[1])
    except OverflowError:
        return "%d.%09ds" % tuple(t)


# ---------------------------------------------------------------- password (ch. 5)
def read_password():
    if "NIGHTJAR_PASSWORD" in os.environ:
        return os.environb[b"NIGHTJAR_PASSWORD"]
    if "NIGHTJAR_PASSWORD_FILE" in os.environ:
        try:
            with open(os.environ["NIGHTJAR_PASSWORD_FILE"], "rb") as f:
                return re.sub(rb"\r?\n\Z", b"", f.read(MIB))
        except OSError as e:
            raise Stop(EXIT_OTHER, "password file: %s" % e) from None
    raise Stop(EXIT_PASSWORD, "no password: set NIGHTJAR_PASSWORD or NIGHTJAR_PASSWORD_FILE")


def recovery_key(password):
    """The 32 bytes of a recovery key in its text form, or None when it is none."""
    s = re.sub(rb"[\s-]", b"", password).lower()
    if not re.fullmatch(rb"nj1[a-z2-7]{56}", s):
        return None
    key = base64.b32decode(s[3:].upper())
    if key[32:] != kdf("recovery checksum", key[:32])[:3]:
        report("password", "has the form of a recovery key, but its checksum is wrong: mistyped?", damage=False)
        return None
    return key[:32]


# ---------------------------------------------------------------- what went wrong
seen = set()                     # exit codes of what was reported


def report(what, why, damage=True):
    print("%s: %s" % (show(what), why), file=sys.stderr)
    seen.add((EXIT_TOO_NEW if isinstance(why, TooNew) else EXIT_DAMAGE) if damage else EXIT_OK)


class Pack(NamedTuple):
    name: str                    # 64 hex digits
    header: bytes
    length: int
    key: bytes


class Block(NamedTuple):         # ch. 7, a block record
    pack: Pack
    number: int
    offset: int
    sealed: int
    plain: int


def count_chunks(block_records):
    return sum(count for count, in struct.iter_unpack("<16xH2x", block_records))


# ---------------------------------------------------------------- the repository
class Repository:
    def __init__(self, root, password, without_index=False):
        self.root = root
        self.without_index = without_index
        self.blocks = OrderedDict()          # the last few opened blocks
        self.purpose_keys = {}
        self.chunks = {}                     # chunk id -> [(Block, position, length)]
        if not self.names("config"):
            raise Stop(EXIT_NO_REPO, "%s: no Nightjar repository (nothing in config/)" % root)
        self.unlock(password)
        self.read_configs()

    # ---- objects (ch. 2)
    def names(self, folder):
        """The 64-hex names in a folder; everything else there is ignored."""
        try:
            return sorted(n for n in os.listdir(os.path.join(self.root, folder)) if re.fullmatch("[0-9a-f]{64}", n))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def read_file(self, path, offset, length):
        """Up to `length` bytes of a regular file, and its size."""
        try:
            fd = os.open(os.path.join(self.root, path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(fd, "rb") as f:
                status = os.fstat(fd)
                if not stat.S_ISREG(status.st_mode):
                    raise Damaged("not a regular file")
                f.seek(offset)
                return f.read(length), status.st_size
        except OSError as e:
            raise Damaged(e.strerror) from None

    def read_object(self, folder, name, cls, limit, repo_id=None):
        """A whole object: its limit (ch. 13), its name (ch. 2) and its header (ch. 3) are checked."""
        data, size = self.read_file(folder + "/" + name, 0, limit + 1)
        if size > limit or len(data) > limit:
            raise Damaged("larger than the limit")
        if blake3(data).hexdigest() != name:
            raise Damaged("its bytes do not have the hash that is its name")
        check_header(data, cls, repo_id)
        return data

    def pack_path(self, name):
        return "packs/%s/%s" % (name[:2], name)

    # ---- keys (ch. 4, 5, 14.1, 14.2)
    def unlock(self, password):
        ids, slots = set(), []
        for name in self.names("config"):
            try:
                ids.add(self.read_object("config", name, CONFIG, MAX_RECORD)[16:32])
            except Damaged as e:
                report("config/" + name, e)
        if not ids and seen == {EXIT_TOO_NEW}:      # beside a config of version 1 a newer one is only reported
            raise Stop(EXIT_TOO_NEW, "format too new for this reader")
        for name in self.names("keys"):
            try:
                slot = self.read_object("keys", name, KEYSLOT, MAX_RECORD)
                # GUESS: slots whose repository id is in no config come last instead of never: a config is not
                # authentic before a key slot is open, and a forged or lost one shall not lock anybody out.
                slots.append((slot[16:32] not in ids, self.kdf_cost(slot), name, slot))
            except Damaged as e:
                report("keys/" + name, e)
        key = recovery_key(password)
        for _, _, name, slot in sorted(slots):      # the cheap ones first: a forged costly slot delays nobody
            try:
                root = self.slot_root(slot, password, key)
                slot_key = object_key(root, slot[:HEADER], slot[HEADER:HEADER + 16]) if root else None
                if slot_key is None:
                    continue                                        # made for another password
                record = open_sealed(slot[10], slot_key, N_KEYSLOT, 0, slot[HEADER + 16:])
                self.keyring = check_record(cbor(record), KEYRING)
                if self.keyring[0] != slot[16:32]:
                    raise Damaged("keyring of another repository")
                self.repo_id = slot[16:32]
                return
            except Damaged as e:
                report("keys/" + name, e)
        if slots:
            raise Stop(EXIT_PASSWORD, "wrong password (no key slot opens with it)")
        if EXIT_TOO_NEW in seen and EXIT_DAMAGE not in seen:
            raise Stop(EXIT_TOO_NEW, "format too new for this reader")
        raise Stop(EXIT_DAMAGE, "no usable key slot")

    @staticmethod
    def kdf_cost(slot):
        """Refuse parameters outside the limits before anything is allocated."""
        if len(slot) < HEADER + 16 + TAG:
            raise Damaged("key slot cut short")
        kind, zero, memory, passes, lanes = struct.unpack_from("<B3sIII", slot, HEADER)
        if any(zero) or kind not in (1, 2):
            raise Damaged("unknown kind of key slot")
        if kind == 2 and (memory or passes or lanes):
            raise Damaged("KDF parameters outside the limits")
        if kind == 1 and not (8192 <= memory <= 2097152 and 1 <= passes <= 16 and 1 <= lanes <= 16):
            raise Damaged("KDF parameters outside the limits")
        return memory * passes

    @staticmethod
    def slot_root(slot, password, key):
        kind, memory, passes, lanes = struct.unpack_from("<B3xIII", slot, HEADER)
        if kind == 2:
            return kdf("recovery key", key) if key else None
        try:
            return hash_secret_raw(password, slot[32:64], time_cost=passes, memory_cost=memory, parallelism=lanes,
                                   hash_len=32, type=Type.ID, version=0x13)
        except HashingError as e:
            raise Damaged("Argon2id: %s" % e) from None

    def key_of(self, header):
        """The object key for a checked header; R by class and kind, M by epoch (ch. 4)."""
        epoch, = struct.unpack_from("<I", header, 12)
        which = (epoch, header[8], header[9])
        if which not in self.purpose_keys:
            if epoch not in self.keyring[2]:
                raise Damaged("epoch %d is not in the keyring" % epoch)
            self.purpose_keys[which] = kdf(PURPOSE[which[1:]], self.keyring[2][epoch])
        key = object_key(self.purpose_keys[which], header)
        if key is None:
            raise Damaged("commitment differs: the header was altered")
        return key

    def read_record(self, folder, name, cls, tag, table):
        data = self.read_object(folder, name, cls, MAX_RECORD, self.repo_id)
        record = open_sealed(data[10], self.key_of(data[:HEADER]), tag, 0, data[HEADER:])
        return check_record(cbor(record), table)

    def read_configs(self):
        """Ch. 14.3.  Reading needs nothing that stands in the config, so damage here is reported only."""
        for name in self.names("config"):
            try:
                if self.read_record("config", name, CONFIG, N_CONFIG, CONFIG_RECORD)[1] != self.repo_id:
                    raise Damaged("config of another repository")
            except Damaged as e:
                report("config/" + name, e)

    # ---- where chunks lie (ch. 7, 8, 14.4)
    def load_index(self):
        if self.without_index:
            try:
                folders = sorted(os.listdir(os.path.join(self.root, "packs")))
            except OSError:
                folders = []
            for folder in folders:
                for name in self.names("packs/" + folder):
                    if name[:2] == folder:
                        self.guard(self.pack_path(name), self.load_footer, name)
        else:
            for name in self.names("index"):
                self.guard("index/" + name, self.load_index_object, name)

    @staticmethod
    def guard(what, action, *arguments):
        try:
            action(*arguments)
        except Damaged as e:
            report(what, e)

    def load_index_object(self, name):
        data = self.read_object("index", name, INDEX, MAX_INDEX, self.repo_id)
        key, table, count = self.key_of(data[:HEADER]), bytearray(), 0
        for p in range(HEADER, len(data), SEGMENT + TAG):
            segment = open_sealed(data[10], key, N_SEGMENT, count, data[p:p + SEGMENT + TAG])
            if not segment:
                raise Damaged("empty segment")
            table += segment
            count += 1
        if len(table) < 24:
            raise Damaged("table cut short")
        segments, superseded, packs, blocks, chunks, zero = struct.unpack_from("<6I", table)
        at_packs = 24 + 32 * superseded
        at_blocks = at_packs + 168 * packs
        at_chunks = at_blocks + 20 * blocks
        if segments != count or zero or at_chunks + 36 * chunks != len(table):
            raise Damaged("table does not have the length it states")
        table = bytes(table)
        b, c = at_blocks, at_chunks                 # where the records of the next pack begin
        for p in range(at_packs, at_blocks, 168):
            pack_name, (length, n) = table[p:p + 32].hex(), struct.unpack_from("<II", table, p + 160)
            if not 1 <= n <= MAX_BLOCKS or b + 20 * n > at_chunks:
                raise Damaged("number of blocks of a pack")
            block_records = table[b:b + 20 * n]
            n_chunks = count_chunks(block_records)
            if c + 36 * n_chunks > len(table):
                raise Damaged("number of chunks of a pack")
            self.guard("index/%s, pack %s" % (name, pack_name), self.add_pack, pack_name, table[p + 32:p + 160],
                       length, block_records, table[c:c + 36 * n_chunks], None)
            b, c = b + 20 * n, c + 36 * n_chunks
        if b != at_chunks or c != len(table):
            raise Damaged("records of the packs do not add up")

    def load_footer(self, name):
        path = self.pack_path(name)
        header, size = self.read_file(path, 0, HEADER)
        if size > MAX_PACK or size % PACK_STEP or size == 0:
            raise Damaged("length of the pack (cut short?)")
        tail, _ = self.read_file(path, size - HEADER - 24, HEADER + 24)
        if header != tail[:HEADER]:
            report(path, "its two headers differ; the second one is used")
            header = tail[:HEADER]
        check_header(header, PACK, self.repo_id)
        key, suite = self.key_of(header), header[10]
        length, n = struct.unpack("<II", self.exactly(open_sealed(suite, key, N_TRAILER, 0, tail[HEADER:]), 8))
        end = size - HEADER - 24
        if not 1 <= n <= MAX_BLOCKS or length > end - HEADER:
            raise Damaged("trailer of the pack")
        if length > 20 * MAX_BLOCKS + 36 * MAX_CHUNKS + PACK_STEP + TAG:
            raise Damaged("footer larger than the limit")
        sealed, _ = self.read_file(path, end - length, length)
        footer = open_sealed(suite, key, N_FOOTER, 0, sealed)
        if len(footer) < 20 * n:
            raise Damaged("footer cut short")
        at_zero = 20 * n + 36 * count_chunks(footer[:20 * n])
        if len(footer) < at_zero or any(footer[at_zero:]):
            raise Damaged("footer of the pack")
        self.add_pack(name, header, size, footer[:20 * n], footer[20 * n:at_zero], end - length)

    @staticmethod
    def exactly(data, length):
        if len(data) != length:
            raise Damaged("sealed part has the wrong length")
        return data

    def add_pack(self, name, header, length, block_records, chunk_records, end):
        """Check the records of one pack wholly, then add its chunks.  `end`: where the footer begins, if known."""
        check_header(header, PACK, self.repo_id)
        if not 0 < length <= MAX_PACK or length % PACK_STEP:
            raise Damaged("length of the pack")
        if len(chunk_records) > 36 * MAX_CHUNKS:
            raise Damaged("too many chunks in the pack")
        pack = Pack(name, header, length, self.key_of(header))
        found, numbers, offset, c = [], set(), HEADER, 0
        for number, start, sealed, plain, count, zero in struct.iter_unpack("<IIIIHH", block_records):
            # GUESS: the blocks fill their space without gaps by the index objects, too
            if number in numbers or start != offset or zero or not 1 <= count <= MAX_BLOCK_CHUNKS \
                    or not 1 <= plain <= MAX_PLAIN or sealed < 4 + TAG:
                raise Damaged("block record %d" % len(numbers))
            numbers.add(number)
            offset += sealed
            block, position = Block(pack, number, start, sealed, plain), 0
            for chunk_id, size in struct.iter_unpack("<32sI", chunk_records[c:c + 36 * count]):
                if size < 1:
                    raise Damaged("empty chunk")
                found.append((chunk_id, (block, position, size)))
                position += size
            if position != plain:
                raise Damaged("chunks of a block do not add up to its plain length")
            c += 36 * count
        if (offset != end) if end is not None else (offset > length - HEADER - 24):
            raise Damaged("blocks do not fill their space")
        for chunk_id, place in found:
            places = self.chunks.setdefault(chunk_id, [])
            if place not in places:
                places.append(place)

    # ---- chunks (ch. 14.6)
    def read_block(self, block):
        where = (block.pack.name, block.offset, block.number)
        if where not in self.blocks:
            sealed, _ = self.read_file(self.pack_path(block.pack.name), block.offset, block.sealed)
            self.exactly(sealed, block.sealed)
            opened = open_sealed(block.pack.header[10], block.pack.key, N_BLOCK, block.number, sealed)
            codec, plain = opened[0], int.from_bytes(opened[1:4], "little")
            if codec not in CODEC or plain != block.plain:
                raise Damaged("codec or plain length of a block")
            self.blocks[where] = self.exactly(CODEC[codec](opened[4:], plain), plain)
            if len(self.blocks) > 16:
                self.blocks.popitem(last=False)
        self.blocks.move_to_end(where)
        return self.blocks[where]

    def chunk(self, kind, chunk_id, length=None):
        """The bytes of a chunk from any place that serves."""
        reasons = []
        for block, position, size in self.chunks.get(chunk_id, []):
            try:
                if block.pack.header[9] != kind:
                    raise Damaged("chunk in a pack of the wrong kind")
                if length is not None and size != length:
                    raise Damaged("length of chunk differs from that of the extent")
                data = self.read_block(block)[position:position + size]
                if mac(self.id_key(kind), data) != chunk_id:
                    raise Damaged("chunk does not have its id")
                return data
            except Damaged as e:
                reasons.append("pack %s: %s" % (block.pack.name, e))
        raise Damaged("chunk %s: %s" % (chunk_id.hex(), "; ".join(reasons) or "in no pack"))

    def id_key(self, kind):
        if kind not in self.purpose_keys:
            self.purpose_keys[kind] = kdf({DATA: "chunk id data", TREE: "chunk id tree"}[kind], self.keyring[1])
        return self.purpose_keys[kind]

    # ---- trees (ch. 9, 14.7)
    def tree(self, tree_id, *types):
        record = cbor(self.chunk(TREE, tree_id))
        if record.get(0) not in types or type(record.get(0)) is not int or type(record.get(1)) is not list:
            raise Damaged("tree chunk %s: type" % tree_id.hex())
        entries, kind = record[1], record[0]
        if len(entries) > MAX_ENTRIES:
            raise Damaged("tree chunk %s: too many entries" % tree_id.hex())
        if kind == LEAF:
            for node in entries:
                check_node(node)
            names = [node[0] for node in entries]
        else:
            check = {BRANCH: fields(name_ok, ID), EXTENT_LEAF: extent, EXTENT_BRANCH: fields(u(64), ID)}[kind]
            if not all(map(check, entries)):
                raise Damaged("tree chunk %s: entries" % tree_id.hex())
            names = [entry[0] for entry in entries] if kind == BRANCH else []
        if any(a >= b for a, b in zip(names, names[1:])):
            raise Damaged("tree chunk %s: names not sorted, or one twice" % tree_id.hex())
        return kind, entries

    def nodes(self, tree_id, where, after=b"", last=None, depth=0):
        """The nodes of a directory in order.  All names are above `after`; the last one is `last` if given.
        A damaged part is reported and left out; the rest still comes."""
        try:
            if depth > MAX_TREE_DEPTH:
                raise Damaged("tree too deep")
            kind, entries = self.tree(tree_id, LEAF, BRANCH)
            names = [e[0] for e in entries] if kind == BRANCH else [n[0] for n in entries]
            if not names and (kind == BRANCH or last is not None):
                raise Damaged("empty part of a tree")
            if (names and names[0] <= after) or (last is not None and names[-1] != last):
                raise Damaged("names do not fit those of the branch above")
        except Damaged as e:
            report(where, e)
            return
        if kind == LEAF:
            yield from entries
            return
        for name, child in entries:
            yield from self.nodes(child, where, after, name, depth + 1)
            after = name

    def extents(self, node):
        """The extents of a file; their sum is checked on the way (ch. 10)."""
        total, size = 0, node.get(10, 0)
        for e in node[19] if 19 in node else self.extent_tree(node[20]):
            total += extent_length(e)
            if total > size:
                raise Damaged("extents exceed the size of the file")
            yield e
        if total != size:
            raise Damaged("extents do not add up to the size of the file")

    def extent_tree(self, tree_id, depth=0):
        if depth > MAX_TREE_DEPTH:
            raise Damaged("extent tree too deep")
        kind, entries = self.tree(tree_id, EXTENT_LEAF, EXTENT_BRANCH)
        if kind == EXTENT_LEAF:
            yield from entries
            return
        for length, child in entries:
            total = 0
            for e in self.extent_tree(child, depth + 1):
                total += extent_length(e)
                yield e
            if total != length or length == 0:
                raise Damaged("length in an extent branch")

    # ---- leases (ch. 12): {lease: names of its snapshots that count}, of those that a sweep settled
    def settled(self):
        found = {}
        try:
            names = os.listdir(os.path.join(self.root, "leases"))
        except (FileNotFoundError, NotADirectoryError):
            return found
        for name in names:
            if not re.fullmatch("[0-9a-f]{32}-honoured", name):
                continue
            found[name[:32]] = []
            try:
                data, _ = self.read_file("leases/" + name, 0, MAX_RECORD)
                data, total = data[:-8], data[-8:]
                if blake3(data).digest()[:8] != total:
                    raise Damaged("its sum is not that of what is in it")
                honoured = check_record(cbor(data), HONOURED_RECORD)[1]
                found[name[:32]] = [honoured[at:at + 32].hex() for at in range(0, len(honoured), 32)]
            except Damaged as e:
                report("leases/" + name, e)
        return found

    # ---- snapshots (ch. 11)
    def snapshots(self):
        """[(name, record)], the newest last."""
        found = []
        for name in self.names("snapshots"):
            try:
                found.append((name, self.read_record("snapshots", name, SNAPSHOT, N_SNAPSHOT, SNAPSHOT_RECORD)))
            except Damaged as e:
                report("snapshots/" + name, e)
        settled = self.settled()
        found = [s for s in found if s[0] in settled.get(s[1][14].hex(), [s[0]])]
        return sorted(found, key=lambda s: (s[1][18], s[1][0], s[0]))

    def snapshot(self, wanted):
        found = self.snapshots()
        chosen = found[-1:] if wanted == "latest" else [s for s in found if s[0].startswith(wanted)]
        if len(chosen) != 1:
            code = min(seen & {EXIT_DAMAGE, EXIT_TOO_NEW}, default=EXIT_OTHER)
            raise Stop(code, "%d readable snapshots match %s" % (len(chosen), wanted))
        if wanted == "latest" and seen - {EXIT_OK}:
            report("latest", "is %s; a newer one may be among the damaged" % chosen[0][0][:12], damage=False)
        return chosen[0][1]


# ---------------------------------------------------------------- commands
def command_snapshots(repo):
    for name, s in repo.snapshots():
        print("%s  %s  %s  %s  %s%s" % (name[:12], show_time(s[0]), show(s[3]), " ".join(map(show, s[5])),
                                        ",".join(map(show, s.get(6, []))), "  PARTIAL" if s.get(13) else ""))


LETTER = {FILE: "-", DIR: "d", SYMLINK: "l", FIFO: "p", CHAR: "c", BLOCKDEV: "b", SOCKET: "s"}


def command_ls(repo, tree_id, path=b"", depth=0):
    if depth > MAX_DIR_DEPTH:
        return report(path, "directories too deep")
    for node in repo.nodes(tree_id, path or b"/"):
        full = path + b"/" + node[0]
        print("%s%04o %12d %s %s%s" % (LETTER[node[1]], node[2], node.get(10, 0), show_time(node.get(7, [0, 0])),
                                       show(full), " -> " + show(node[14]) if node[1] == SYMLINK else ""))
        if node[1] == DIR:
            command_ls(repo, node[21], full, depth + 1)


def command_cat(repo, root, path, out):
    node = {1: DIR, 21: root}
    for part in filter(None, path.split(b"/")):
        node = next((n for n in repo.nodes(node[21], path) if n[0] == part), None) if node[1] == DIR else None
        if node is None:
            break
    if node is None or node[1] != FILE:
        raise Stop(EXIT_DAMAGE if EXIT_DAMAGE in seen else EXIT_OTHER, "%s: no such file in the snapshot" % show(path))
    try:
        if 18 in node:
            out.write(node[18])
        else:
            for e in repo.extents(node):
                if type(e) is int:
                    for at in range(0, e, MIB):
                        out.write(bytes(min(MIB, e - at)))
                else:
                    out.write(repo.chunk(DATA, e[0], e[1]))
    except Damaged as e:
        report(path, e)
    out.flush()


class Restore:
    """Every entry is created anew (mkdir, O_EXCL, link, …) inside a target that was empty, in directories that this
    program made itself, and names have no "/" and are not "..": so nothing is written outside of the target."""

    def __init__(self, repo, target):
        self.repo, self.links = repo, {}
        target = os.fsencode(target)
        os.makedirs(target, exist_ok=True)
        if os.listdir(target):
            raise Stop(EXIT_OTHER, "the target is not empty")
        self.target = os.path.realpath(target)

    def directory(self, tree_id, inner, depth=0):
        if depth > MAX_DIR_DEPTH:
            raise Damaged("directories too deep")
        for node in self.repo.nodes(tree_id, inner or b"/"):
            name = inner + b"/" + node[0]
            try:
                self.node(node, name, self.target + name, depth)
            except Damaged as e:
                report(name, e)
            except (OSError, OverflowError, ValueError) as e:
                self.problem(name, e)

    @staticmethod
    def problem(name, why):                     # not damage of the repository
        report(name, why, damage=False)
        seen.add(EXIT_OTHER)

    def node(self, node, name, path, depth):
        kind = node[1]
        # Hard links (ch. 9).  GUESS: directories are none, and the kind and a link's target have to be equal, too.
        same = (kind, node.get(12, 0), node.get(11, 0), str(node.get(8)), node.get(10, 0), node.get(14),
                node.get(18), str(node.get(19)), node.get(20)) \
            if node.get(13, 1) > 1 and node.get(12, 0) and kind != DIR else None
        if same in self.links:
            os.link(self.links[same], path, follow_symlinks=False)
            return
        if kind == FILE:
            self.file(node, path)
        elif kind == DIR:
            os.mkdir(path, 0o700)
            self.directory(node[21], name, depth + 1)
        elif kind == SYMLINK:
            os.symlink(node[14], path)
        elif kind == FIFO:
            os.mkfifo(path, 0o600)
        else:
            return report(name, "devices and sockets are not restored", damage=False)
        if same:
            self.links[same] = path
        self.metadata(node, name, path)

    def file(self, node, path):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with open(fd, "wb", buffering=0) as f:
                if 18 in node:
                    write_all(f, node[18])
                    return
                for e in self.repo.extents(node):
                    if type(e) is int:
                        f.seek(e, os.SEEK_CUR)
                    else:
                        write_all(f, self.repo.chunk(DATA, e[0], e[1]))
                f.truncate(node.get(10, 0))     # for a hole at the end
        except BaseException:
            os.unlink(path)                     # rather no file than a wrong one
            raise

    def metadata(self, node, name, path):
        """Attributes and owner before the mode (chown clears set-id bits), the times last."""
        for attribute, value in node.get(16, []):
            try:
                os.setxattr(path, attribute, value, follow_symlinks=False)
            except (OSError, ValueError, AttributeError) as e:
                report(name, "extended attribute %s: %s" % (show(attribute), e), damage=False)
        mode = node[2]
        try:
            if os.geteuid() != 0:
                raise PermissionError
            os.chown(path, node[3], node[4], follow_symlinks=False)
        except (OSError, OverflowError):
            mode &= 0o1777                      # a set-id bit under another owner would be a hole
        if node[1] != SYMLINK:
            os.chmod(path, mode)
        if 7 in node:
            stamp = node[7][0] * 10 ** 9 + node[7][1]
            os.utime(path, ns=(stamp, stamp), follow_symlinks=False)


def write_all(f, data):
    view = memoryview(data)
    while view:
        view = view[f.write(view):]


def main(arguments=None):
    seen.clear()
    sys.setrecursionlimit(50_000)               # deep directories
    parser = argparse.ArgumentParser(description="Reads Nightjar repositories (format version 1).")
    parser.add_argument("repo", metavar="REPO")
    parser.add_argument("--without-index", action="store_true", help="read pack footers instead of index objects")
    commands = parser.add_subparsers(dest="command", required=True)
    for command, rest in (("snapshots", []), ("ls", ["snap"]), ("cat", ["snap", "path"]),
                          ("restore", ["snap", "target"])):
        sub = commands.add_parser(command)
        sub.add_argument("--without-index", action="store_true", default=argparse.SUPPRESS)
        for argument in rest:
            sub.add_argument(argument, metavar=argument.upper())
    args = parser.parse_args(arguments)
    try:
        if not os.path.isdir(os.path.join(args.repo, "config")):
            raise Stop(EXIT_NO_REPO, "%s: no Nightjar repository" % args.repo)
        repo = Repository(args.repo, read_password(), args.without_index)
        if args.command == "snapshots":
            command_snapshots(repo)
        else:
            root = repo.snapshot(args.snap)[7]
            repo.load_index()
            if args.command == "ls":
                command_ls(repo, root)
            elif args.command == "cat":
                command_cat(repo, root, os.fsencode(args.path), sys.stdout.buffer)
            else:
                Restore(repo, args.target).directory(root, b"")
    except Stop as e:
        print("nightjar_reader: %s" % e.args[1], file=sys.stderr)
        return e.args[0]
    except OSError as e:
        print("nightjar_reader: %s" % e, file=sys.stderr)
        return EXIT_OTHER
    for code in (EXIT_DAMAGE, EXIT_TOO_NEW, EXIT_OTHER):
        if code in seen:
            return code
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
