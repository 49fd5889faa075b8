"""What a conversion costs beside the framework's own call and beside arraybridge, in turns.

Each round times every way of a pair once; a row shows medians in nanoseconds and the ratio to the
framework's own call. Frameworks that are not installed are left out. Run it with a release build.
"""

import importlib
import statistics
import sys
import timeit

import numpy as np

import arrayloom.bridge as b

ROUNDS = 9
CALLS = 2000


def have(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def pairs():
    """Yield a name and the ways to compare: ours, the framework's own, arraybridge's."""
    a = np.ones((4, 4), np.float32)
    integers = np.ones((4, 4), np.int32)
    x = object()
    yield "kind", {"ours": lambda: b.kind(a), "own": lambda: x}
    yield "identity", {"ours": lambda: b.to_numpy(a), "own": lambda: x}
    old = have("arraybridge")
    host = getattr(importlib.import_module("arraybridge.devices"), "HOST", 0) if old else 0

    def before(data, source, target):
        return lambda: old.convert_memory(data, source, target, host)

    torch = have("torch")
    if torch is not None:
        t, i = torch.ones((4, 4)), torch.ones((4, 4), dtype=torch.int32)
        rows = (
            ("N>T", lambda: b.to_torch(a), lambda: torch.from_numpy(a), (a, "numpy", "torch")),
            ("T>N", lambda: b.to_numpy(t), t.numpy, (t, "torch", "numpy")),
            ("T>N int32", lambda: b.to_numpy(i), i.numpy, (i, "torch", "numpy")),
            ("N>T int32", lambda: b.to_torch(integers), lambda: torch.from_numpy(integers), None),
        )
        for name, ours, own, call in rows:
            ways = {"ours": ours, "own": own}
            if old is not None and call is not None:
                ways["arraybridge"] = before(*call)
            yield name, ways
    jax = have("jax")
    if jax is not None:
        j = jax.numpy.ones((4, 4))
        yield "J>N", {"ours": lambda: b.to_numpy(j), "own": lambda: np.asarray(j)}
        yield (
            "N>J",
            {
                "ours": lambda: b.convert(b.to_numpy(j), "jax"),
                "own": lambda: jax.device_put(a),
            },
        )
    tf = have("tensorflow")
    if tf is not None:
        f = tf.ones((4, 4))
        yield "F>N", {"ours": lambda: b.to_numpy(f), "own": lambda: np.asarray(memoryview(f))}


def measure(ways):
    times = {name: [] for name in ways}
    for way in ways.values():
        way()
    for _ in range(ROUNDS):
        for name, way in ways.items():
            times[name].append(timeit.timeit(way, number=CALLS) / CALLS * 1e9)
    return {name: statistics.median(values) for name, values in times.items()}


def main():
    print(f"{'':12}{'ours':>10}{'own call':>10}{'ratio':>8}{'arraybridge':>13}")
    for name, ways in pairs():
        found = measure(ways)
        ratio = found["ours"] / found["own"]
        old = f"{found['arraybridge']:13.0f}" if "arraybridge" in found else ""
        print(f"{name:12}{found['ours']:10.0f}{found['own']:10.0f}{ratio:8.2f}{old}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
