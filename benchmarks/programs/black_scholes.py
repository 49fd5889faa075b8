"""Prices of European call options: logarithms, exponentials, a polynomial."""

import numpy as np

CLASS = "compute"
FULL, QUICK = (10_000_000, 1), (1_000_000, 2)
PEERS = ("numba", "jax", "torch")
T, R, V = 1.0, 0.08, 0.3


def needed(size, iterations):
    return 8 * 3 * size * iterations


def start(size):
    i = np.arange(size, dtype=float)
    return np.sin(i) ** 2 * 4 + 58, 65 + np.cos(i) * 0.5


def step(S, X):
    d1 = (np.log(S / X) + (R + V * V / 2) * T) / (V * T**0.5)
    d2 = d1 - V * T**0.5
    L1, L2 = np.abs(d1), np.abs(d2)
    K1, K2 = 1 / (1 + 0.2316419 * L1), 1 / (1 + 0.2316419 * L2)
    p1 = 0.31938153 + K1 * (
        -0.356563782 + K1 * (1.781477937 + K1 * (-1.821255978 + K1 * 1.330274429))
    )
    p2 = 0.31938153 + K2 * (
        -0.356563782 + K2 * (1.781477937 + K2 * (-1.821255978 + K2 * 1.330274429))
    )
    w1 = 1 - 0.39894228040143268 * np.exp(-0.5 * L1 * L1) * (K1 * p1)
    w2 = 1 - 0.39894228040143268 * np.exp(-0.5 * L2 * L2) * (K2 * p2)
    n1, n2 = np.where(d1 < 0, 1 - w1, w1), np.where(d2 < 0, 1 - w2, w2)
    call = S * n1 - X * 0.9231163463866358 * n2
    return call, X


def numexpr_run(size, iterations):
    import numexpr

    ws = "(1 - 0.39894228040143268 * exp(-0.5 * d * d) * (K * (0.31938153 + K * (-0.356563782 + K *"
    ws += " (1.781477937 + K * (-1.821255978 + K * 1.330274429))))))"
    S, X = start(size)
    for _ in range(iterations):
        d1 = numexpr.evaluate("(log(S / X) + 0.125) / 0.3")
        d2 = numexpr.evaluate("d1 - 0.3")
        parts = []
        for d in (d1, d2):
            K = numexpr.evaluate("1 / (1 + 0.2316419 * abs(d))")
            w = numexpr.evaluate(ws, {"d": d, "K": K})
            parts.append(numexpr.evaluate("where(d < 0, 1 - w, w)", {"d": d, "w": w}))
        n1, n2 = parts
        S = numexpr.evaluate(
            "S * n1 - X * 0.9231163463866358 * n2", {"S": S, "X": X, "n1": n1, "n2": n2}
        )
    return S, X
