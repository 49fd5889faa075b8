"""Short programs as people write them, in NumPy and under ``python -m arrayloom``: where does it gain, where lose?

None of them is tuned, and data of a few megabytes are far from the sizes that gain most. Name some to time only these.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

import harness

PROGRAMS = Path(__file__).with_name("survey_programs.py")
HEAD = ["program", "NumPy ms", "arrayloom ms", "x NumPy", "result"]


def run(layer, names):
    """Seconds and number of each program in a process of its own."""
    command = [sys.executable, *layer, str(PROGRAMS), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def result(plain, ours):
    """How the numbers compare."""
    return (
        "same bits" if plain == ours else f"differs by {abs(ours - plain) / (abs(plain) or 1):.0e}"
    )


def report(rounds, names):
    """Title, table and summary."""
    plain, ours = [], []
    for _ in range(rounds):
        plain.append(run([], names))
        ours.append(run(["-m", "arrayloom"], names))
    rows = []
    for name in plain[0]:
        numpy, own = (statistics.median(each[name][0] for each in runs) for runs in (plain, ours))
        same = result(plain[0][name][1], ours[0][name][1])
        rows.append((numpy / own, [name, f"{1e3 * numpy:.3f}", f"{1e3 * own:.3f}", same]))
    rows.sort(key=lambda row: row[0])
    table = [[name, a, b, f"{ratio:.2f}", same] for ratio, (name, a, b, same) in rows]
    ratios = [ratio for ratio, _ in rows]
    mean = statistics.geometric_mean(ratios)
    slower = sum(ratio < 0.9 for ratio in ratios)
    note = (
        f"Medians of {rounds} interleaved rounds. {len(rows)} programs: {mean:.2f} times NumPy in the geometric mean, "
        f"{slower} slower than 0.9 times."
    )
    return f"## Ordinary programs\n\n{note}\n\n{harness.markdown(HEAD, table)}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PROGRAM")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    print(report(args.rounds, args.names))


if __name__ == "__main__":
    main()
