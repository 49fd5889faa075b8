"""Short-time spectra: windows, batches of Fourier transforms, power."""

import numpy as np

CLASS = "compute"
FULL, QUICK = (8000, 1), (2000, 1)
PEERS = ("jax",)
LENGTH = 1024


def needed(size, iterations):
    return 8 * 2 * size * LENGTH * iterations


def start(size):
    time = np.arange(size * LENGTH, dtype=float)
    return np.sin(0.01 * time**1.1).reshape(size, LENGTH), np.hanning(LENGTH)


def step(signal, window):
    spectra = np.fft.rfft(signal * window, axis=1)
    power = np.log1p(spectra.real**2 + spectra.imag**2)
    return signal, window, power, power.mean(axis=0)
