"""A thousand pendulums by Runge and Kutta: many operations on short arrays."""

import numpy as np

CLASS = "overhead"
FULL, QUICK = (1000, 2000), (1000, 500)
PEERS = ("numba", "jax")


def needed(size, iterations):
    return 8 * 4 * size * iterations


def start(size):
    return np.linspace(0.1, 3, size), np.zeros(size)


def step(angle, speed):
    h = 0.01
    a1, s1 = speed, -np.sin(angle)
    a2, s2 = speed + h / 2 * s1, -np.sin(angle + h / 2 * a1)
    a3, s3 = speed + h / 2 * s2, -np.sin(angle + h / 2 * a2)
    a4, s4 = speed + h * s3, -np.sin(angle + h * a3)
    return angle + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4), speed + h / 6 * (s1 + 2 * s2 + 2 * s3 + s4)
