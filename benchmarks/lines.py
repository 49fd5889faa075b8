"""Filters along one axis, the last one, against SciPy: CPU time of the process for each element, taken in turns, one thread.

Usage: ``python benchmarks/lines.py [--rounds 7] [--only WORD]``.
"""

import argparse
import os
import statistics
import time

os.environ["ARRAYLOOM_THREADS"] = "1"

import numpy as np
import scipy.ndimage

from arrayloom import filters

FORMS = [(250_000,), (512, 512), (64, 64, 64), (100_000, 3)]
LINE = FORMS[:1]
# For each filter: of a module and an array what is timed, and the shapes of arrays.
CASES = {
    "mean 3": (lambda m, x: m.uniform_filter1d(x, 3), FORMS),
    "mean 25": (lambda m, x: m.uniform_filter1d(x, 25), FORMS),
    "mean 101": (lambda m, x: m.uniform_filter1d(x, 101), FORMS),
    "mean 1001": (lambda m, x: m.uniform_filter1d(x, 1001), LINE),
    "Gaussian 1": (lambda m, x: m.gaussian_filter1d(x, 1), FORMS),
    "minimum 9": (lambda m, x: m.minimum_filter1d(x, 9), FORMS),
    "minimum 101": (lambda m, x: m.minimum_filter1d(x, 101), FORMS),
    "minimum 1001": (lambda m, x: m.minimum_filter1d(x, 1001), LINE),
    "median 101": (lambda m, x: m.median_filter(x, 101), LINE),
    "median 1001": (lambda m, x: m.median_filter(x, 1001), LINE),
}
DTYPES = ["u1", "i4", "i8", "f4", "f8"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    rng = np.random.default_rng(1)
    print("| filter | shape | " + " | ".join(DTYPES) + " |")
    print("| --- " * (2 + len(DTYPES)) + "|")
    for name, (run, forms) in CASES.items():
        if chosen.only not in name:
            continue
        for shape in forms:
            data = [(200 * rng.random(shape)).astype(dtype) for dtype in DTYPES]
            cells = [" / ".join(timed(run, x, chosen.rounds)) for x in data]
            form = " x ".join(map(str, shape))
            print(f"| {name} | {form} | " + " | ".join(cells) + " |", flush=True)


def timed(run, x, rounds):
    """Nanoseconds an element: ours, SciPy's."""
    taken = {filters: [], scipy.ndimage: []}
    for round_ in range(rounds + 1):
        for module, times in taken.items():
            repeats, start = 0, time.process_time()
            while repeats == 0 or time.process_time() - start < 0.01:
                run(module, x)
                repeats += 1
            if round_:
                times.append(1e9 * (time.process_time() - start) / repeats / x.size)
    return [f"{statistics.median(times):.2f}" for times in taken.values()]


if __name__ == "__main__":
    main()
