"""What a new expression costs the first time: planning and compiling, on top of what it takes later.

Expressions are made at random, of up to four levels, over arrays of 400 x 400.
"""

import argparse
import random
import statistics
import time
import warnings

import arrayloom as np

BETWEEN = ("+", "-", "*", "/")
FUNCTIONS = ("sqrt", "exp", "abs", "sin", "floor", "tanh", "log1p")
ARRAYS = ("a", "b", "c")


def expression(draw, levels):
    """A random expression."""
    if levels == 0:
        return draw.choice((*ARRAYS, "2.5", "0.3"))
    parts = [expression(draw, levels - 1) for _ in range(2)]
    kind = draw.random()
    if kind < 0.6:
        return f"({parts[0]} {draw.choice(BETWEEN)} {parts[1]})"
    if kind < 0.85:
        return f"np.{draw.choice(FUNCTIONS)}({parts[0]})"
    return f"np.where({parts[0]} > {draw.choice(ARRAYS)}, {parts[1]}, {draw.choice(ARRAYS)})"


def seconds(program):
    """The seconds that a program takes until one of its values is there."""
    start = time.perf_counter()
    float(program()[0, 0])
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expressions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    draw, values = random.Random(options.seed), np.random.default_rng(0).random((3, 400, 400))
    names = {"np": np, **{name: value + 0.5 for name, value in zip(ARRAYS, values, strict=True)}}
    extra = []
    for _ in range(options.expressions):
        text = expression(draw, draw.randint(1, 4))
        program = eval(f"lambda: a + {text}", names)
        first = seconds(program)
        extra.append(1e6 * (first - min(seconds(program) for _ in range(5))))
    of_all, extra = extra[0], sorted(extra[1:])
    most = extra[int(0.9 * len(extra))]
    print(
        f"{len(extra)} new expressions: the first call takes {statistics.median(extra):.0f} us longer than later ones "
        f"in the median, {most:.0f} for nine of ten, {extra[-1]:.0f} at most; {of_all:.0f} for the first in the process"
    )


if __name__ == "__main__":
    main()
