"""What a conversion costs beside the frameworks' own DLPack calls and beside arraybridge, in turns.

Each round times every way of a pair once; a row shows medians in nanoseconds for an array of 4 x 4,
what ours takes more than the raw call, and how many times faster than arraybridge it is. "shared" is
``copy=False``: sources that can be written are copied for JAX and TensorFlow otherwise. The last table
converts 256 MiB. Frameworks that are not installed are left out. Run it with a release build.

Bars: ``kind`` and identity at most 60 ns over a bare call, every pair at most the raw call and 300 ns,
arraybridge at least 10 times slower, nothing copied where memory is shared.
"""

import argparse
import importlib
import statistics
import sys
import timeit

import numpy as np

import arrayloom as al
import arrayloom.bridge as b
from arrayloom.bridge import dtypes

KINDS = ("numpy", "torch", "jax", "tensorflow", "arrayloom")


def have(name):
    try:
        return importlib.import_module(name)
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
    return calls


def arrays(modules, side):
    """One array per kind, aligned for all."""
    data = dtypes.aligned_copy(np.ones((side, side), np.float32), 64)
    found = {name: b.convert(data, name) for name in KINDS if name in modules}
    found["numpy"] = data
    found["arrayloom"] = al.ones((max(side, 300),) * 2, al.float32)
    return found


def measure(ways, rounds, calls):
    times = {name: [] for name in ways}
    for way in ways.values():
        way()
    for _ in range(rounds):
        for name, way in ways.items():
            times[name].append(timeit.timeit(way, number=calls) / calls * 1e9)
    return {name: statistics.median(values) for name, values in times.items()}


def works(way):
    try:
        way()
    except Exception:  # whatever a framework raises
        return False
    return True


def ways_of(pair, x, calls, old):
    """Ours, ours without a copy, the raw call, arraybridge's; those that work."""
    source, to = pair
    ways = {"ours": lambda: b.convert(x, to), "shared": lambda: b.convert(x, to, copy=False)}
    ways["raw"] = lambda: calls[to](x)
    if old is not None:
        host = getattr(importlib.import_module("arraybridge.devices"), "HOST", 0)
        ways["arraybridge"] = lambda: old.convert_memory(x, source, to, host)
    return {name: way for name, way in ways.items() if works(way)}


def table(pairs, options):
    """Print one row per pair; return how many miss a bar."""
    missed = 0
    head = ("ours", "shared", "raw", "arraybridge")
    print(f"{'':22}" + "".join(f"{name:>12}" for name in (*head, "over raw", "x faster")))
    for name, ways in pairs:
        found = measure(ways, options.rounds, options.calls)
        best = min(found.get("shared", found["ours"]), found["ours"])
        over = best - found["raw"] if "raw" in found else None
        times = found["arraybridge"] / found["ours"] if "arraybridge" in found else None
        cells = [f"{found[h]:12.0f}" if h in found else f"{'-':>12}" for h in head]
        cells += [f"{'-':>12}" if v is None else f"{v:12.0f}" for v in (over, times)]
        limit = 60 if name in ("kind", "identity") else 300
        bad = (over is not None and over > limit) or (times is not None and times < 10)
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


def large(modules):
    """Print how long 256 MiB take, once, in microseconds."""
    there = arrays(modules, 8192)
    print(f"\n256 MiB, microseconds{'':12}{'default':>10}{'shared':>10}  copied")
    for source, x in there.items():
        for to in there:
            if source == to:
                continue
            if source == "arrayloom":
                x = al.ones((8192, 8192), al.float32)  # noqa: PLW2901 - the last gave its pages away
            with b.observe() as record:
                b.convert(x, to)
            ways = {"default": lambda x=x, to=to: b.convert(x, to)}
            ways["shared"] = lambda x=x, to=to: b.convert(x, to, copy=False)
            found = {n: measure({n: w}, 5, 1)[n] / 1000 for n, w in ways.items() if works(w)}
            shared = f"{found['shared']:10.0f}" if "shared" in found else f"{'-':>10}"
            print(
                f"{source + '>' + to:33}{found['default']:10.0f}{shared}"
                f"  {record.rows()[0].nbytes >> 20} MiB",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=1000)
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
