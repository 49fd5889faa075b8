"""Filters of images against OpenCV: CPU time of the process for each pixel, taken in turns, one thread.

Usage: ``python benchmarks/images.py [--rounds 7] [--size 1024] [--only WORD]``. Results have the same dtype; OpenCV's
own border rules and its fixed-point arithmetic for ``uint8`` are left as they are.
"""

import argparse
import os
import statistics
import time

os.environ["ARRAYLOOM_THREADS"] = "1"

import cv2
import numpy as np

from arrayloom import filters as f

BORDER = cv2.BORDER_REFLECT
DISC = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (7, 7))
KERNEL = np.outer([1, 2, 3, 2, 1], [1, 3, 5, 2, 1]).astype("f4") + np.eye(5, dtype="f4")
WIDE = cv2.CV_32F


def box(size):
    return np.ones((size, size), np.uint8)


# For each filter: ours, OpenCV's, and the dtypes that OpenCV takes.
CASES = {
    "median 3": (
        lambda x: f.median_filter(x, 3),
        lambda x: cv2.medianBlur(x, 3),
        "u1 u2 f4",
    ),
    "median 5": (
        lambda x: f.median_filter(x, 5),
        lambda x: cv2.medianBlur(x, 5),
        "u1 u2 f4",
    ),
    "median 9": (lambda x: f.median_filter(x, 9), lambda x: cv2.medianBlur(x, 9), "u1"),
    "median 31": (lambda x: f.median_filter(x, 31), lambda x: cv2.medianBlur(x, 31), "u1"),
    "minimum 3": (
        lambda x: f.minimum_filter(x, 3),
        lambda x: cv2.erode(x, box(3)),
        "u1 u2 f4 f8",
    ),
    "maximum 7": (
        lambda x: f.maximum_filter(x, 7),
        lambda x: cv2.dilate(x, box(7)),
        "u1 u2 f4 f8",
    ),
    "minimum 31": (
        lambda x: f.minimum_filter(x, 31),
        lambda x: cv2.erode(x, box(31)),
        "u1 u2 f4",
    ),
    "disc 7": (
        lambda x: f.minimum_filter(x, footprint=DISC),
        lambda x: cv2.erode(x, DISC),
        "u1 u2 f4",
    ),
    "opening 7": (
        lambda x: f.grey_opening(x, 7),
        lambda x: cv2.morphologyEx(x, cv2.MORPH_OPEN, box(7)),
        "u1 u2 f4",
    ),
    "gradient 3": (
        lambda x: f.morphological_gradient(x, 3),
        lambda x: cv2.morphologyEx(x, cv2.MORPH_GRADIENT, box(3)),
        "u1 u2 f4",
    ),
    "mean 3": (
        lambda x: f.uniform_filter(x, 3),
        lambda x: cv2.blur(x, (3, 3), borderType=BORDER),
        "u1 u2 f4 f8",
    ),
    "mean 7": (
        lambda x: f.uniform_filter(x, 7),
        lambda x: cv2.blur(x, (7, 7), borderType=BORDER),
        "u1 u2 f4 f8",
    ),
    "mean 31": (
        lambda x: f.uniform_filter(x, 31),
        lambda x: cv2.blur(x, (31, 31), borderType=BORDER),
        "u1 u2 f4",
    ),
    "mean 127": (
        lambda x: f.uniform_filter(x, 127),
        lambda x: cv2.blur(x, (127, 127), borderType=BORDER),
        "u1 u2 f4 f8",
    ),
    "gaussian 0.8": (
        lambda x: f.gaussian_filter(x, 0.8),
        lambda x: cv2.GaussianBlur(x, (7, 7), 0.8, borderType=BORDER),
        "u1 u2 f4 f8",
    ),
    "gaussian 2": (
        lambda x: f.gaussian_filter(x, 2),
        lambda x: cv2.GaussianBlur(x, (17, 17), 2, borderType=BORDER),
        "u1 u2 f4",
    ),
    "sobel": (
        f.sobel,
        lambda x: cv2.Sobel(x, WIDE, 1, 0, borderType=BORDER),
        "u1 u2 f4",
    ),
    "laplace": (
        f.laplace,
        lambda x: cv2.Laplacian(x, WIDE, ksize=1, borderType=BORDER),
        "u1 u2 f4",
    ),
    "correlate 5": (
        lambda x: f.correlate(x, KERNEL),
        lambda x: cv2.filter2D(x, -1, KERNEL, borderType=BORDER),
        "u1 u2 f4",
    ),
    "bilateral 7": (
        lambda x: f.bilateral_filter(x, 50, 2, size=7),
        lambda x: cv2.bilateralFilter(x, 7, 50, 2, borderType=BORDER),
        "u1 f4",
    ),
    "nl_means": (
        lambda x: f.nl_means(x, 10, search=10, patch=3),
        lambda x: cv2.fastNlMeansDenoising(x, None, 10, 7, 21),
        "u1",
    ),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    cv2.setNumThreads(1)
    rng = np.random.default_rng(1)
    smooth = cv2.GaussianBlur(rng.random((chosen.size,) * 2).astype("f4"), (0, 0), 3)
    noisy = (smooth - smooth.min()) / np.ptp(smooth) * 200 + rng.random(smooth.shape) * 50
    print(f"{'filter':16} dtype    ours   opencv  ratio  (ns per pixel; a ratio above 1 is slower)")
    for name, (ours, theirs, dtypes) in CASES.items():
        if chosen.only not in name:
            continue
        for dtype in dtypes.split():
            x = (noisy * (16 if dtype == "u2" else 1)).astype(dtype)
            taken = {ours: [], theirs: []}
            for round_ in range(chosen.rounds + 1):
                for call, times in taken.items():
                    repeats, start = 0, time.process_time()
                    while repeats == 0 or time.process_time() - start < 0.02:
                        call(x)
                        repeats += 1
                    if round_:
                        times.append(1e9 * (time.process_time() - start) / repeats / x.size)
            a, b = (statistics.median(taken[call]) for call in (ours, theirs))
            print(f"{name:16} {dtype:5} {a:8.3f} {b:8.3f} {a / b:6.2f}", flush=True)


if __name__ == "__main__":
    main()
