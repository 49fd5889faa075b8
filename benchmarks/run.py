"""Whole programs in NumPy, in arrayloom and in the peers that are installed.

Prints, for each program, how many times faster than warm NumPy every variant is, at its first call
and warm, and whether its results have NumPy's bits. ``--write`` puts the tables in RESULTS.md.
"""

import argparse
import importlib.metadata
import os
import platform
import sys
import time
from pathlib import Path

import harness
import small_arrays

HERE = Path(__file__).resolve().parent
# Size and iterations of the programs, and what --quick takes instead.
PROGRAMS = {
    "heat": ((3000, 100), (1000, 20)),
    "shallow_water": ((2000, 100), (800, 10)),
    "snakes": ((1000, 10), (1000, 10)),
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


def row(each, base):
    if each.error:
        return [each.variant, "-", "-", "-", "-", "-", f"failed: {each.error}"[:100]]
    return [
        each.variant,
        f"{each.warm:.3f}",
        f"{base.warm / each.warm:.2f}",
        f"{base.warm / each.first:.2f}",
        f"{100 * each.spread:.0f} %",
        f"{each.peak_bytes / 2**20:.0f}",
        each.equality(base),
    ]


HEAD = ["variant", "warm s", "x NumPy", "x first call", "+-", "peak MiB", "results"]


def report(program, job, rounds, series):
    """One program's table; NumPy itself is the base of every ratio."""
    base = series[0]
    if base.error:
        raise SystemExit(f"{program} fails in NumPy itself: {base.error}")
    title = f"## {program} {job['size']} x {job['size']}, {job['iterations']} iterations"
    note = f"Median of {rounds} interleaved warm rounds."
    return f"{title}\n\n{note}\n\n{harness.markdown(HEAD, [row(each, base) for each in series])}\n"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", action="append", choices=PROGRAMS, help="only this one")
    parser.add_argument("--variant", action="append", choices=harness.VARIANTS, help="and NumPy")
    parser.add_argument("--rounds", type=int, default=5, help="warm rounds (default 5)")
    parser.add_argument("--quick", action="store_true", help="smaller programs")
    parser.add_argument("--iterations", type=int, help="instead of each program's own")
    parser.add_argument("--small", action="store_true", help="and operations on small arrays")
    parser.add_argument("--write", action="store_true", help="all of it, to RESULTS.md")
    return parser.parse_args()


def main():
    args = arguments()
    wanted = {"numpy", *(args.variant or harness.VARIANTS)}
    variants = [name for name in harness.available() if name in wanted]
    parts = ["# Results\n\nMade by `benchmarks/run.py --write`.\n", "\n".join(machine()) + "\n"]
    for program in args.program or PROGRAMS:
        size, iterations = PROGRAMS[program][args.quick]
        job = {"size": size, "iterations": args.iterations or iterations}
        series = harness.compare(
            program, variants, job, args.rounds, lambda text: print(text, file=sys.stderr)
        )
        parts.append(report(program, job, args.rounds, series))
        print(parts[-1], flush=True)
    if args.small or args.write:
        parts.append(small_arrays.report(args.rounds))
        print(parts[-1], flush=True)
    if args.write:
        (HERE / "RESULTS.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
