"""100,000 operations on small arrays, in plain NumPy and under the import layer.

arrayloom cannot make these faster; the figure to watch is that it does not make them slower.
"""

import argparse

import harness
from run import markdown

LENGTHS = (10, 100, 1000)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    rows = []
    for length in LENGTHS:
        job = {"size": length, "iterations": args.operations}
        plain, ours = harness.compare("small", ["numpy", "arrayloom"], job, args.rounds)
        if ours.error or plain.error:
            raise SystemExit(ours.error or plain.error)
        ns = [1e9 * each.warm / args.operations for each in (plain, ours)]
        rows.append(
            [length, f"{ns[0]:.0f}", f"{ns[1]:.0f}", f"{ns[0] / ns[1]:.2f}", ours.equality(plain)]
        )
    print(markdown(["elements", "NumPy ns/op", "arrayloom ns/op", "x NumPy", "results"], rows))


if __name__ == "__main__":
    main()
