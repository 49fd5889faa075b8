"""What a conversion costs beside the frameworks' own DLPack calls and beside arraybridge, in turns.

The ways of a pair take turns of a few calls each; a row shows medians of the turns in nanoseconds for an
array of 4 x 4 (``--least`` shows the least instead, for machines that others use), what ours takes more than
the raw call, how many times faster than arraybridge it is, and how many times less it adds to the shortest call
of the frameworks themselves ("own" where that is no DLPack). "shared" is ``copy=False``: sources that can
be written are copied for JAX and TensorFlow otherwise. pyclesperanto's "raw" is its upload or download of
an array of the host, and that array's own call; to arrayloom, which shares its memory, there is no call of
others, and its download stands under "own". The last table converts 256 MiB. Frameworks that
are not installed are left out. Run it with a release build.

Bars: ``kind`` and identity at most 60 ns over a bare call, every pair at most the raw call and 300 ns (and
3 % of calls of a device's driver, which vary by more), at least 10 times less added than by arraybridge,
nothing copied where memory is shared.
"""

import argparse
import importlib
import statistics
import sys
import time
import timeit

import numpy as np

import arrayloom as al
import arrayloom.bridge as b
from arrayloom.bridge import dtypes, registry

KINDS = ("numpy", "torch", "jax", "tensorflow", "arrayloom", "pyclesperanto")


def have(name):
    try:
        # The bridge knows how to import OpenCL beside TensorFlow.
        return (
            registry.require(registry.get(name)) if name in KINDS else importlib.import_module(name)
        )
    except ImportError:
        return None


def producers(modules):
    """Return how each framework imports by DLPack itself."""
    calls = {"numpy": np.from_dlpack, "arrayloom": np.from_dlpack}
    if "torch" in modules:
        calls["torch"] = modules["torch"].from_dlpack
    if "jax" in modules:
        calls["jax"] = modules["jax"].dlpack.from_dlpack
    if "tensorflow" in modules:
        take = modules["tensorflow"].experimental.dlpack.from_dlpack
        calls["tensorflow"] = lambda x: take(x.__dlpack__())
    if "pyclesperanto" in modules:
        # It computes on a device: its own call is an upload of an array of the host.
        push = modules["pyclesperanto"].push
        calls["pyclesperanto"] = lambda x: push(np.from_dlpack(x))
    return calls


def arrays(modules, side):
    """One array per kind, aligned for all."""
    data = dtypes.aligned_copy(np.ones((side, side), np.float32), 64)
    found = {name: b.convert(data, name) for name in KINDS if name in modules}
    found["numpy"] = data
    found["arrayloom"] = al.ones((max(side, 300),) * 2, al.float32)
    return found


# Calls of one turn.
TURN = 20


def measure(ways, turns, pick=statistics.median):
    times = {name: [] for name in ways}
    for way in ways.values():
        way()
    timers = {name: timeit.Timer(way) for name, way in ways.items()}
    for _ in range(turns):
        for name, timer in timers.items():
            times[name].append(timer.timeit(TURN) / TURN * 1e9)
    return {name: pick(values) for name, values in times.items()}


def works(way):
    try:
        way()
    except Exception:  # whatever a framework raises
        return False
    return True


def ways_of(pair, x, calls, old):
    """Ours, ours without a copy, the raw call, the framework's shortest, arraybridge's; if they work."""
    source, to = pair
    # An array of ours whose pages were given away gets them back at the next call, which is not that call's.
    isolated = al.ones(x.shape, x.dtype) if source == "arrayloom" else x
    ways = {"ours": lambda: b.convert(isolated, to), "shared": lambda: b.convert(x, to, copy=False)}
    if source != "pyclesperanto":
        ways["raw"] = lambda: calls[to](x)
    elif to != "arrayloom":
        ways["raw"] = lambda: calls[to](x.get())
    own = {"torch": getattr(x, "numpy", None), "jax": lambda: np.asarray(x)}
    own["pyclesperanto"] = getattr(x, "get", None)
    own["tensorflow"] = lambda: np.asarray(memoryview(x))
    if source in own and (to == "numpy" or "raw" not in ways):
        ways["own"] = own[source]
    if old is not None:
        host = getattr(importlib.import_module("arraybridge.devices"), "HOST", 0)
        ways["arraybridge"] = lambda: old.convert_memory(x, source, to, host)
    return {name: way for name, way in ways.items() if works(way)}


def table(pairs, options):
    """Print one row per pair; return how many miss a bar."""
    missed = 0
    head = ("ours", "shared", "raw", "own", "arraybridge")
    print(f"{'':22}" + "".join(f"{name:>12}" for name in (*head, "over raw", "x faster", "x less")))
    for name, ways in pairs:
        pick = min if options.least else statistics.median
        found = measure(ways, options.turns, pick)
        best = min(found.get("shared", found["ours"]), found["ours"])
        over = best - found["raw"] if "raw" in found else None
        times = less = None
        if "arraybridge" in found:
            times = found["arraybridge"] / found["ours"]
            # What both add to the least that the frameworks themselves take; at least a nanosecond.
            least = min(found[way] for way in ("raw", "own") if way in found)
            less = (found["arraybridge"] - least) / max(best - least, 1)
        cells = [f"{found[h]:12.0f}" if h in found else f"{'-':>12}" for h in head]
        cells += [f"{'-':>12}" if v is None else f"{v:12.0f}" for v in (over, times, less)]
        limit = 60 if name in ("kind", "identity") else 300
        limit += 0.03 * found.get("raw", 0) if "pyclesperanto" in name else 0
        bad = (over is not None and over > limit) or (less is not None and less < 10)
        missed += bad
        print(f"{name:22}{''.join(cells)}{'  misses a bar' if bad else ''}", flush=True)
    return missed


def small(modules, options):
    """Pairs of small arrays."""
    old = have("arraybridge")
    there, calls = arrays(modules, 4), producers(modules)
    x = there["numpy"]
    yield "kind", {"ours": lambda: b.kind(x), "raw": lambda: x}
    yield "identity", {"ours": lambda: b.to_numpy(x), "raw": lambda: x}
    if "torch" in there:
        torch, t = modules["torch"], there["torch"]
        i, n = torch.ones((4, 4), dtype=torch.int32), np.ones((4, 4), np.int32)
        yield "from_numpy", {"ours": lambda: b.to_torch(x), "raw": lambda: torch.from_numpy(x)}
        yield (
            "from_numpy int32",
            {"ours": lambda: b.to_torch(n), "raw": lambda: torch.from_numpy(n)},
        )
        yield "Tensor.numpy", {"ours": lambda: b.to_numpy(t), "raw": t.numpy}
        yield "Tensor.numpy int32", {"ours": lambda: b.to_numpy(i), "raw": i.numpy}
    for source in there:
        for to in there:
            if source != to:
                pair = (source, to)
                yield f"{source}>{to}", ways_of(pair, there[source], calls, old)


def once(convert, make):
    """Median microseconds of one conversion, each of a new array where `make` makes one."""
    times = []
    for _ in range(5):
        x = make()
        start = time.perf_counter()
        made = convert(x)
        times.append(1e6 * (time.perf_counter() - start))
        del made
    return statistics.median(times)


def large(modules):
    """Print how long 256 MiB take, in microseconds, and how much is copied."""
    there = arrays({name: m for name, m in modules.items() if name != "pyclesperanto"}, 8192)
    print(f"\n256 MiB, microseconds{'':12}{'default':>10}{'shared':>10}  copied")
    for source, x in there.items():

        def make(source=source, x=x):
            # An array of ours gives its pages away once. Asked for its address, it is computed.
            made = al.ones((8192, 8192), al.float32) if source == "arrayloom" else x
            return made if source != "arrayloom" or made.ctypes.data else None

        for to in there:
            if source == to:
                continue
            with b.observe() as record:
                b.convert(make(), to)
            default = once(lambda y, to=to: b.convert(y, to), make)
            shared = once(lambda y, to=to: b.convert(y, to, copy=False), make)
            copied = record.rows()[0].nbytes >> 20
            print(f"{source + '>' + to:33}{default:10.0f}{shared:10.0f}  {copied} MiB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=450, help=f"turns of {TURN} calls")
    parser.add_argument("--least", action="store_true", help="show the least of the turns")
    parser.add_argument("--no-large", action="store_true", help="leave the 256 MiB out")
    options = parser.parse_args()
    modules = {name: module for name in KINDS if (module := have(name)) is not None}
    missed = table(small(modules, options), options)
    print(f"{missed} rows miss a bar" if missed else "all rows meet the bars")
    if not options.no_large:
        large(modules)
    return 0


if __name__ == "__main__":
    sys.exit(main())
