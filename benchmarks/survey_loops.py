"""Short programs that loop over elements, rows or columns of a matrix, as people write them."""

import numpy as np

square = np.random.default_rng(1).random((200, 200))
stable = square + 200 * np.eye(200)


def cholesky():
    m = square @ square.T + 200 * np.eye(200)
    for i in range(100):
        for j in range(i):
            m[i, j] = (m[i, j] - m[i, :j] @ m[j, :j]) / m[j, j]
        m[i, i] = np.sqrt(m[i, i] - m[i, :i] @ m[i, :i])
    return m[99, 98]


def gaussian_elimination():
    m = stable.copy()
    for k in range(1, len(m)):
        m[k:] -= (m[k:, k - 1 : k] / m[k - 1, k - 1]) * m[k - 1]
    return m[-1, -1]


def triangular_solve():
    found = np.zeros(200)
    for i in range(200):
        found[i] = (square[0, i] - stable[i, :i] @ found[:i]) / stable[i, i]
    return found[-1]


def gauss_seidel():
    u = square.copy()
    for i in range(1, 199):
        u[i, 1:-1] += u[i - 1, 1:-1] + u[i + 1, 1:-1] + u[i, 2:]
        for j in range(1, 60):
            u[i, j] += u[i, j - 1]
            u[i, j] /= 5
    return u[100, 50]


def alternating_directions():
    u = square.copy()
    v, p, q = (np.zeros((200, 200)) for _ in range(3))
    q[1:-1, 0] = v[0, 1:-1] = 1
    for j in range(1, 199):
        below = 1.6 - 0.3 * p[1:-1, j - 1]
        p[1:-1, j] = 0.3 / below
        q[1:-1, j] = (0.2 * u[j, :-2] + 0.6 * u[j, 1:-1] + 0.3 * q[1:-1, j - 1]) / below
    v[-1, 1:-1] = 1
    for j in range(198, 0, -1):
        v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
    return v[100, 100]


def recursive_filter():
    out = np.empty((300, 400))
    rows = np.tile(square, (2, 2))[:300]
    out[:, :2] = rows[:, :2]
    for j in range(2, 400):
        out[:, j] = 0.2 * rows[:, j] + 1.1 * out[:, j - 1] - 0.3 * out[:, j - 2]
    return out[5, -1]


def shortest_paths():
    far = square.copy()
    for k in range(len(far)):
        far[:] = np.minimum(far, np.add.outer(far[:, k], far[k]))
    return far.sum()


def random_walks():
    steps, paths = np.random.default_rng(2), np.empty((2000, 250))
    paths[:, 0] = 1
    for t in range(1, 250):
        paths[:, t] = paths[:, t - 1] * np.exp(0.01 * steps.standard_normal(2000))
    return paths[:, -1].mean()


def primes():
    is_prime = np.ones(1_000_000, bool)
    is_prime[:2] = False
    for i in range(2, 1001):
        if is_prime[i]:
            is_prime[i * i :: i] = False
    return is_prime.sum()


def bootstrap():
    draws, values = np.random.default_rng(3), np.tile(square, (4, 1))
    means = [values[draws.integers(0, 800, 800)].mean(0) for _ in range(30)]
    return np.array(means).std()


LOOPS = (
    cholesky,
    gaussian_elimination,
    triangular_solve,
    gauss_seidel,
    alternating_directions,
    recursive_filter,
    shortest_paths,
    random_walks,
    primes,
    bootstrap,
)
