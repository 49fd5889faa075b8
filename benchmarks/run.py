"""Whole programs in NumPy, in arrayloom and in the peers that are installed.

Prints how many times faster than warm NumPy every variant is, at its first call and warm, the share of
the memory's speed, peak memory, and whether results have NumPy's bits. ``--write`` puts the tables in
RESULTS.md and the ratios in results.json; ``--compare`` shows what has become more than 10 % slower
than those.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import sys
import time
from pathlib import Path

import harness
import peers
import small_arrays

HERE = Path(__file__).resolve().parent
RATIOS = HERE / "results.json"
# A ratio that falls below this share of the recorded one is shown.
FALL = 0.9
PROGRAMS = (
    *("heat", "shallow_water", "jacobi", "wave", "gray_scott", "life", "lattice_boltzmann"),
    *("sharpen", "conjugate_gradient", "tables"),
    *(f"axes:{which}:{axis}" for which in ("sum", "std", "standardise") for axis in (0, 1)),
    *("axes:sum:all", "axes:argmax:0", "axes:argmax:1", "axes:cumsum:0", "axes:cumsum:1"),
    *("axes:softmax:1", "black_scholes", "nbody", "mandelbrot", "kmeans", "pca", "monte_carlo"),
    *("sorting", "spectrum", "snakes", "orbits", "walk"),
)
CLASSES = {
    "bandwidth": "Bound by memory",
    "compute": "Bound by arithmetic",
    "overhead": "Bound by the cost of a call",
}


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if "model name" in line]
        return names[0]
    except (OSError, IndexError):
        return platform.processor() or "unknown CPU"


def machine():
    """Lines that say where and with what the figures were taken."""
    packages = [*harness.available(), "scipy"]
    versions = []
    for name in packages:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        f"- {cpu_name()}, {len(os.sched_getaffinity(0))} CPUs, {memory:.0f} GiB",
        f"- {platform.platform()}, Python {platform.python_version()}",
        f"- {', '.join(versions)}",
        f"- {time.strftime('%Y-%m-%d')}, load at the start {os.getloadavg()[0]:.1f}",
    ]


def ratio(series, variant):
    """How many times faster than NumPy a variant is; a dash where it takes no part."""
    found = series.get(variant)
    if found is None:
        return "-"
    return "failed" if found.error else f"{series['numpy'].warm / found.warm:.2f}"


def row(program, job, series, copy):
    """One line of a class's table."""
    base, ours = series["numpy"], series["arrayloom"]
    if ours.error:
        return [program, f"{base.warm:.3f}", f"failed: {ours.error}"[:60], *["-"] * 9]
    module, _ = peers.module_of(program)
    speed = module.needed(job["size"], job["iterations"]) / ours.warm / 1e9
    return [
        f"{program} {job['size']}, {job['iterations']}",
        f"{base.warm:.3f}",
        f"**{ratio(series, 'arrayloom')}**",
        f"{base.warm / ours.first:.2f}",
        f"{100 * max(ours.spread, base.spread):.0f} %",
        *(ratio(series, name) for name in peers.VARIANTS[2:]),
        f"{speed:.1f}",
        f"{100 * speed / copy:.0f} %",
        f"{ours.peak_bytes / 2**20:.0f} / {base.peak_bytes / 2**20:.0f}",
        ours.equality(base),
    ]


HEAD = [
    *("program", "NumPy s", "arrayloom", "first call", "+-", *peers.VARIANTS[2:]),
    *("GB/s", "of copy", "MiB", "results"),
]


def measure(program, variants, args):
    """A program's job and its series by variant."""
    module, _ = peers.module_of(program)
    size, iterations = module.QUICK if args.quick else module.FULL
    job = {"size": size, "iterations": args.iterations or iterations}
    tell = (lambda text: print(text, file=sys.stderr)) if args.verbose else (lambda text: None)
    found = harness.compare(program, variants, job, args.rounds, tell)
    series = {each.variant: each for each in found}
    if series["numpy"].error:
        raise SystemExit(f"{program} fails in NumPy itself: {series['numpy'].error}")
    return job, series


def copy_speed(args):
    """GB/s of copies of a large array by all threads."""
    job, series = measure("stream", ["numpy"], args)
    module, _ = peers.module_of("stream")
    return module.needed(job["size"], job["iterations"]) / series["numpy"].warm / 1e9


def falls(measured, recorded):
    """Lines about programs whose ratio to NumPy has fallen."""
    for program, found in measured.items():
        before = recorded.get(program)
        if before is not None and found < FALL * before:
            yield (
                f"SLOWER {program}: {found:.2f} times NumPy, was {before:.2f}"
                f" ({100 * (1 - found / before):.0f} % less)"
            )


def compare(measured, quick):
    """Print what has become slower than results.json says."""
    recorded = json.loads(RATIOS.read_text(encoding="utf-8")) if RATIOS.exists() else {}
    lines = list(falls(measured, recorded.get("quick" if quick else "full", {})))
    print("\n".join(lines) or "no program is more than 10 % slower than recorded", flush=True)


def write(parts, measured, quick):
    """Replace the tables, unless they are of the small programs, and the ratios."""
    recorded = json.loads(RATIOS.read_text(encoding="utf-8")) if RATIOS.exists() else {}
    recorded["quick" if quick else "full"] = measured
    RATIOS.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
    if not quick:
        (HERE / "RESULTS.md").write_text("\n".join(parts), encoding="utf-8")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", action="append", choices=PROGRAMS, help="only this one")
    parser.add_argument("--variant", action="append", choices=peers.VARIANTS, help="and NumPy")
    parser.add_argument("--rounds", type=int, default=5, help="warm rounds (default 5)")
    parser.add_argument("--quick", action="store_true", help="smaller programs")
    parser.add_argument("--iterations", type=int, help="instead of each program's own")
    parser.add_argument("--small", action="store_true", help="and operations on small arrays")
    parser.add_argument("--compare", action="store_true", help="show what became slower")
    parser.add_argument("--write", action="store_true", help="all of it, to RESULTS.md")
    parser.add_argument("-v", "--verbose", action="store_true", help="each round, as it ends")
    return parser.parse_args()


def main():
    args = arguments()
    wanted = {"numpy", "arrayloom", *(args.variant or peers.VARIANTS)}
    variants = [name for name in harness.available() if name in wanted]
    copy = copy_speed(args)
    parts = [
        "# Results\n\nMade by `benchmarks/run.py --write`. Columns of libraries: times warm NumPy.\n"
    ]
    parts.append("\n".join([*machine(), f"- copies of 128 MB: {copy:.1f} GB/s"]) + "\n")
    print(parts[-1], flush=True)
    rows, measured = {kind: [] for kind in CLASSES}, {}
    for program in args.program or PROGRAMS:
        job, series = measure(program, variants, args)
        module, _ = peers.module_of(program)
        line = row(program, job, series, copy)
        rows[module.CLASS].append(line)
        print("  ".join(line), flush=True)
        if not series["arrayloom"].error:
            measured[program] = round(series["numpy"].warm / series["arrayloom"].warm, 3)
    for kind, title in CLASSES.items():
        if rows[kind]:
            parts.append(f"## {title}\n\nMedians of {args.rounds} interleaved warm rounds.\n")
            parts.append(harness.markdown(HEAD, rows[kind]) + "\n")
    if args.small or (args.write and not args.quick):
        parts.append(small_arrays.report(args.rounds))
    print("\n".join(parts[2:]), flush=True)
    if args.compare:
        compare(measured, args.quick)
    if args.write:
        write(parts, measured, args.quick)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent / "examples"))
    main()
