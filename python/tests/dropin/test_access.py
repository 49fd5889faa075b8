"""Every way to the bytes of an array: buffers, files, sockets, ctypes, C code that knows nothing.

Reads must find the value of a result that had not been computed; writes must land, and must not
change what an earlier, still pending reader sees.
"""

import array as array_module
import base64
import binascii
import bz2
import ctypes
import hashlib
import io
import lzma
import mmap
import os
import socket
import struct
import zlib

import numpy as np
import pytest
from support.compare import differences, observe
from support.layouts import ordinary, plain_view

COUNT = 20000


def made(m, dtype="d"):
    """A result that has not been computed yet."""
    return m.array(ordinary(dtype, COUNT)) * m.array(3, dtype)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def _pipe(call):
    """What arrives at the other end of a pipe."""
    read, write = os.pipe()
    try:
        sent = call(write)
        os.close(write)
        write = -1
        found = b""
        while chunk := os.read(read, 65536):
            found += chunk
        return sent, digest(found)
    finally:
        os.close(read)
        if write >= 0:
            os.close(write)


def _socket(a):
    left, right = socket.socketpair()
    with left, right:
        left.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        left.sendall(a[:4000])
        left.shutdown(socket.SHUT_WR)
        found = b""
        while chunk := right.recv(65536):
            found += chunk
        return digest(found)


def _file(tmp, write, *, mode="wb"):
    path = tmp / "data.bin"
    with path.open(mode) as file:
        result = write(file)
    return result, digest(path.read_bytes())


def _memmove(a):
    target = ctypes.create_string_buffer(a.nbytes)
    ctypes.memmove(target, a.ctypes.data, a.nbytes)
    return digest(target.raw)


def _ctypes_pointer(a):
    pointer = a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    return pointer[0], pointer[COUNT - 1], pointer[77]


def _libc(a, plain):
    libc = ctypes.CDLL(None)
    libc.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    return libc.memcmp(a.ctypes.data, plain.ctypes.data, a.nbytes)


def _interface(a):
    class Holder:
        __array_interface__ = a.__array_interface__
        kept = a

    return digest(np.asarray(Holder()))


READS = {
    "tobytes": lambda a, tmp: digest(a.tobytes()),
    "bytes": lambda a, tmp: digest(bytes(a)),
    "bytearray": lambda a, tmp: digest(bytearray(a)),
    "memoryview": lambda a, tmp: (memoryview(a).format, digest(memoryview(a)), memoryview(a)[5]),
    "memoryview list": lambda a, tmp: memoryview(a)[3:9].tolist(),
    "memoryview of a view": lambda a, tmp: memoryview(a.reshape(100, -1)[::2, 3]).tolist()[:4],
    "hash": lambda a, tmp: digest(a),
    "hash of a plain view": lambda a, tmp: digest(plain_view(a)),
    "crc": lambda a, tmp: (zlib.crc32(a), binascii.crc32(a[9:]), zlib.adler32(a)),
    "compress": lambda a, tmp: (digest(zlib.compress(a)), digest(bz2.compress(a[:999]))),
    "lzma": lambda a, tmp: digest(lzma.compress(a[:999])),
    "base64": lambda a, tmp: digest(base64.b64encode(a)),
    "struct": lambda a, tmp: struct.unpack_from("3d", a, 80),
    "file": lambda a, tmp: _file(tmp, lambda f: f.write(a)),
    "file of a plain view": lambda a, tmp: _file(tmp, lambda f: f.write(plain_view(a))),
    "writelines": lambda a, tmp: _file(tmp, lambda f: f.writelines([a[:9], a[50:99]])),
    "unbuffered": lambda a, tmp: os.writev(
        os.open(tmp / "x", os.O_CREAT | os.O_WRONLY), [a, plain_view(a)]
    ),
    "tofile": lambda a, tmp: _file(tmp, lambda f: a.tofile(f)),
    "tofile of a plain view": lambda a, tmp: _file(tmp, lambda f: plain_view(a).tofile(f)),
    "tofile text": lambda a, tmp: _file(tmp, lambda f: a[:99].tofile(f, sep=" ")),
    "save": lambda a, tmp: _file(tmp, lambda f: np.save(f, a)),
    "save view": lambda a, tmp: _file(tmp, lambda f: np.save(f, a.reshape(100, -1).T)),
    "savez": lambda a, tmp: (np.savez(tmp / "a.npz", a=a), np.load(tmp / "a.npz")["a"])[1],
    "savetxt": lambda a, tmp: _file(tmp, lambda f: np.savetxt(f, a[:99])),
    "os.write": lambda a, tmp: _pipe(lambda fd: os.write(fd, a[:1000])),
    "os.write of a plain view": lambda a, tmp: _pipe(lambda fd: os.write(fd, plain_view(a)[:1000])),
    "socket": lambda a, tmp: _socket(a),
    "BytesIO": lambda a, tmp: digest(io.BytesIO(a).read()),
    "array module": lambda a, tmp: array_module.array("d", a.tobytes())[7],
    "int.from_bytes": lambda a, tmp: int.from_bytes(a[:2], "little"),
    "join": lambda a, tmp: digest(b"".join([a[:3], a[7:9]])),
    "memmove": lambda a, tmp: _memmove(a),
    "ctypes pointer": lambda a, tmp: _ctypes_pointer(a),
    "ctypes as array": lambda a, tmp: np.ctypeslib.as_array(
        a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), (COUNT,)
    ).sum(),
    "memcmp": lambda a, tmp: _libc(a, made(np)),
    "string_at": lambda a, tmp: digest(ctypes.string_at(a.ctypes.data, a.nbytes)),
    "array interface": lambda a, tmp: _interface(a),
    "dlpack": lambda a, tmp: np.from_dlpack(a).sum(),
    "frombuffer": lambda a, tmp: np.frombuffer(a).sum(),
    "copyto plain": lambda a, tmp: (target := np.empty(COUNT), np.copyto(target, a))[0],
    "plain setitem": lambda a, tmp: (target := np.empty(COUNT), target.__setitem__(..., a))[0],
    "np.array of two": lambda a, tmp: np.array([a, a]),
    "nditer": lambda a, tmp: sum(float(x) for x in np.nditer(a[:99])),
    "ndenumerate": lambda a, tmp: list(np.ndenumerate(a[:9])),
    "interp": lambda a, tmp: np.interp([0.5, 3.5], np.arange(COUNT), a),
    "choice": lambda a, tmp: np.random.default_rng(1).choice(a, 5),
    "normal": lambda a, tmp: np.random.default_rng(1).normal(a[:99], abs(a[1:100])),
    "shuffle": lambda a, tmp: (np.random.default_rng(1).shuffle(a), a)[1],
    "vectorize": lambda a, tmp: np.vectorize(lambda x: x + 1)(a[:9]),
    "apply_along_axis": lambda a, tmp: np.apply_along_axis(max, 1, a.reshape(100, -1)),
    "lexsort": lambda a, tmp: np.lexsort((a[:99], a[99:198])),
    "as_strided": lambda a, tmp: np.lib.stride_tricks.as_strided(a, (9, 3), (16, 8)).sum(1),
}


@pytest.mark.parametrize("name", READS)
def test_read(xp_both, name, tmp_path):
    def body(m):
        a = made(m)
        return READS[name](a, tmp_path), a

    found = differences(observe(body, np), observe(body, xp_both))
    assert not found, "\n".join(found)


def _readinto(a, tmp):
    path = tmp / "in.bin"
    path.write_bytes(bytes(range(256)) * 625)
    with path.open("rb") as file:
        return file.readinto(a)


def _readinto_plain(a, tmp):
    return _readinto(plain_view(a), tmp)


def _readinto_raw(a, tmp):
    path = tmp / "in.bin"
    path.write_bytes(bytes(range(256)) * 625)
    with path.open("rb", buffering=0) as file:
        return file.readinto(a)


def _readv(a, tmp):
    (tmp / "in.bin").write_bytes(bytes(range(250)) * 640)
    descriptor = os.open(tmp / "in.bin", os.O_RDONLY)
    try:
        return os.readv(descriptor, [a[:100], a[200:300]])
    finally:
        os.close(descriptor)


def _recv_into(a, tmp):
    left, right = socket.socketpair()
    with left, right:
        left.sendall(bytes(range(200)))
        return right.recv_into(a, 160)


def _pack_into(a, tmp):
    struct.pack_into("2d", a, 160, 1.5, -2.5)


def _memory(a, tmp):
    view = memoryview(a)
    view[5] = 9.0
    view[10:13] = memoryview(np.array([1.0, 2.0, 3.0]))


def _cast(a, tmp):
    memoryview(a).cast("B")[0:8] = b"\0" * 8


def _memset(a, tmp):
    ctypes.memset(a.ctypes.data + 800, 0, 80)


def _pointer(a, tmp):
    a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))[7] = 4.0


def _as_array(a, tmp):
    np.ctypeslib.as_array(a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), (COUNT,))[3:9] = 4.0


def _frombuffer(a, tmp):
    np.frombuffer(a)[3:9] = 4.0


def _dlpack(a, tmp):
    np.from_dlpack(a).fill(1.25)


def _random(a, tmp):
    np.random.default_rng(3).standard_normal(out=a)


def _memmap(a, tmp):
    with (tmp / "map.bin").open("wb+") as file:
        file.truncate(a.nbytes)
        with mmap.mmap(file.fileno(), a.nbytes) as mapped:
            mapped.write(a)
            mapped.seek(0)
            mapped.readinto(a) if hasattr(mapped, "readinto") else None


WRITES = {
    "readinto": _readinto,
    "readinto a plain view": _readinto_plain,
    "readinto raw": _readinto_raw,
    "readv": _readv,
    "recv_into": _recv_into,
    "pack_into": _pack_into,
    "memoryview": _memory,
    "memoryview cast": _cast,
    "memset": _memset,
    "pointer": _pointer,
    "ctypes as array": _as_array,
    "frombuffer": _frombuffer,
    "dlpack": _dlpack,
    "random": _random,
    "mmap": _memmap,
    "sort": lambda a, tmp: a.sort(),
    "sort of a plain view": lambda a, tmp: plain_view(a).sort(),
    "fill": lambda a, tmp: a.fill(2),
    "setitem": lambda a, tmp: a.__setitem__(slice(3, 9), 1),
    "plain setitem": lambda a, tmp: plain_view(a).__setitem__(slice(3, 9), 1),
    "byte view": lambda a, tmp: a.view(np.uint8).__setitem__(9, 1),
    "plain ufunc out": lambda a, tmp: np.add(np.ones(COUNT), 1, out=plain_view(a)),
    "copyto": lambda a, tmp: np.copyto(plain_view(a), 3.0),
    "put": lambda a, tmp: plain_view(a).put([3], 9),
    "partition": lambda a, tmp: plain_view(a).partition(50),
    "byteswap": lambda a, tmp: a.byteswap(inplace=True),
    "nditer": lambda a, tmp: [
        x.__setitem__(..., 1) for x in np.nditer(a[:9], op_flags=["writeonly"])
    ],
    "flat": lambda a, tmp: plain_view(a).flat.__setitem__(slice(0, 9), 2),
    "setflags": lambda a, tmp: a.setflags(write=False),
    "take out": lambda a, tmp: np.take(np.arange(9.0), [3] * COUNT, out=a, mode="clip"),
    "dot out": lambda a, tmp: np.dot(np.ones((COUNT, 2)), np.ones(2), out=a),
    "cumsum out": lambda a, tmp: np.cumsum(np.ones(COUNT), out=a),
    "fill_diagonal": lambda a, tmp: np.fill_diagonal(a.reshape(100, -1), 7),
    "place": lambda a, tmp: np.place(a, a > 0, [1, 2]),
    "add.at": lambda a, tmp: np.add.at(a, [0, 0, 5], 1),
}


@pytest.mark.parametrize("state", ["pending", "computed", "with readers"])
@pytest.mark.parametrize("name", WRITES)
def test_write(xp_both, name, state, tmp_path):
    def body(m):
        a = made(m)
        readers = ()
        if state == "computed":
            float(a[0])
        if state == "with readers":
            float(a[0])
            readers = a + 1, a[::2] * 2, a.reshape(100, -1).T - 1
        result = WRITES[name](a, tmp_path)
        after = a + 1 if a.flags.writeable else None
        return result if isinstance(result, int) else None, a, readers, after

    found = differences(observe(body, np), observe(body, xp_both))
    assert not found, "\n".join(found)


def test_shared_memory(xp_both):
    from multiprocessing import shared_memory

    def body(m):
        block = shared_memory.SharedMemory(create=True, size=COUNT * 8)
        try:
            shared = m.ndarray((COUNT,), "d", buffer=block.buf)
            shared[...] = made(m)
            shared += 1
            doubled = shared * 2
            total = float(doubled.sum())
            kept = np.array(shared)
            del shared
            return total, kept, doubled
        finally:
            block.close()
            block.unlink()

    found = differences(observe(body, np), observe(body, xp_both))
    assert not found, "\n".join(found)


def test_memmap_and_fromfile(xp_both, tmp_path):
    def body(m):
        path = tmp_path / "values.bin"
        made(m).tofile(path)
        mapped = m.memmap(path, "d", "r+")
        mapped[:100] = mapped[100:200] + 1
        total = mapped * 2
        mapped.flush()
        read = m.fromfile(path, "d", 500, offset=80)
        return np.array(mapped), np.array(total), read, m.load(_saved(m, tmp_path))

    found = differences(observe(body, np), observe(body, xp_both))
    assert not found, "\n".join(found)


def _saved(m, tmp):
    m.save(tmp / "saved.npy", made(m))
    return tmp / "saved.npy"


def test_frombuffer_of_foreign_memory(xp_both):
    """Memory that others own and change: a pending result keeps the values of its time."""

    def body(m):
        raw = bytearray(made(np).tobytes())
        a = m.frombuffer(raw, "d")
        doubled = a * 2
        raw[:8000] = bytes(8000)
        read_only = m.frombuffer(bytes(raw), "d")
        return np.array(a), doubled, read_only + 1, read_only.flags.writeable

    found = differences(observe(body, np), observe(body, xp_both))
    assert not found, "\n".join(found)
