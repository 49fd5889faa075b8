"""Snakes and ladders: how likely the game is over after each roll of a die, in plain NumPy."""

import argparse
import time

import numpy as np


def board(squares):
    """Transition probabilities from every square to every other with one die."""
    p = np.zeros((squares + 1, squares + 1))
    for i in range(squares):
        for j in range(6):
            if i + j < squares:
                p[i][i + j + 1] = 1.0 / 6.0
    p[squares][squares] = 1.0
    for k in range(1, 7):
        p[squares - k][squares] = (7 - k) / 6.0
    return p


def play(p, rolls):
    """Probability to stand on the last square after each roll, and visits to every square."""
    last = p.shape[0] - 1
    end = np.zeros(rolls)
    visits = np.zeros(last + 1)
    m = p
    for roll in range(rolls):
        end[roll] = m[0][last]
        visits = visits + m[0]
        m = np.dot(m, p)
    return end, visits


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1000, help="squares of the board")
    parser.add_argument("--iterations", type=int, default=10, help="rolls of the die")
    parser.add_argument("--plot", default="", help="PNG to write")
    args = parser.parse_args()

    start = time.perf_counter()
    end, visits = play(board(args.size), args.iterations)
    elapsed = time.perf_counter() - start
    print(f"snakes and ladders {args.size}, {args.iterations} rolls: {elapsed:.3f} s")
    print(f"end = {float(end[-1])!r}, checksum = {float(np.sum(visits))!r}")
    if args.plot:
        import matplotlib.image

        wide = np.repeat(visits[None, : args.iterations * 6], 16, axis=0)
        matplotlib.image.imsave(args.plot, np.asarray(wide))
        print(f"picture in {args.plot}")


if __name__ == "__main__":
    main()
