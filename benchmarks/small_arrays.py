"""Many operations on small arrays, in plain NumPy and under the import layer.

arrayloom can hardly make these faster; the figure to watch is that it does not make them slower.
"""

import argparse

import harness

LENGTHS = (10, 100, 1000)
OPERATIONS = 100_000
HEAD = ["elements", "NumPy ns/op", "arrayloom ns/op", "x NumPy", "+-", "results"]


def measure(length, operations, rounds):
    """One row of the table."""
    job = {"size": length, "iterations": operations}
    plain, ours = harness.compare("small", ["numpy", "arrayloom"], job, rounds)
    if ours.error or plain.error:
        raise SystemExit(ours.error or plain.error)
    nanoseconds = [1e9 * each.warm / operations for each in (plain, ours)]
    return [
        length,
        *(f"{each:.0f}" for each in nanoseconds),
        f"{nanoseconds[0] / nanoseconds[1]:.2f}",
        f"{100 * max(plain.spread, ours.spread):.0f} %",
        ours.equality(plain),
    ]


def report(rounds, operations=OPERATIONS):
    """Title and table."""
    rows = [measure(length, operations, rounds) for length in LENGTHS]
    title = f"## {operations} operations on small arrays"
    note = f"Median of {rounds} interleaved warm rounds."
    return f"{title}\n\n{note}\n\n{harness.markdown(HEAD, rows)}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=OPERATIONS)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    print(report(args.rounds, args.operations))


if __name__ == "__main__":
    main()
