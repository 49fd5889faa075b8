"""Heat equation: a metal plate with one hot and three freezing edges, in plain NumPy.

Every iteration replaces each inner point by the mean of itself and its four neighbours, and stops
early once the plate no longer changes.
"""

import argparse
import time

import numpy as np


def plate(size):
    """A plate at zero degrees whose edges are held at a temperature."""
    grid = np.zeros((size + 2, size + 2))
    grid[:, 0] = -273.15
    grid[:, -1] = -273.15
    grid[-1, :] = -273.15
    grid[0, :] = 40.0
    return grid


def solve(grid, iterations, epsilon=0.005):
    """Iterate in place; returns the iterations done and the last change."""
    center = grid[1:-1, 1:-1]
    north, south = grid[:-2, 1:-1], grid[2:, 1:-1]
    east, west = grid[1:-1, :-2], grid[1:-1, 2:]
    delta, done = epsilon + 1, 0
    while delta > epsilon and done < iterations:
        work = 0.2 * (center + north + south + east + west)
        delta = np.sum(np.abs(work - center))
        center[:] = work
        done += 1
    return done, delta


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=3000)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--plot", default="heat_equation.png", help="PNG to write, '' for none")
    args = parser.parse_args()

    start = time.perf_counter()
    grid = plate(args.size)
    done, delta = solve(grid, args.iterations)
    elapsed = time.perf_counter() - start
    print(f"heat equation {args.size} x {args.size}, {done} iterations: {elapsed:.3f} s")
    print(f"delta = {float(delta)!r}, checksum = {float(np.sum(grid))!r}")
    if args.plot:
        try:
            import matplotlib.image
        except ImportError:
            return
        step = max(1, args.size // 600)
        matplotlib.image.imsave(args.plot, np.asarray(grid[::step, ::step]), cmap="inferno")


if __name__ == "__main__":
    main()
