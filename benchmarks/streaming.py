"""A Gaussian from file to file: wall time, greatest anonymous memory and bytes read, against SciPy in memory.

Usage: ``python benchmarks/streaming.py [--gib 1] [--limit 96MiB] [--rounds 3]``. Runs are taken in turns, each
in a process of its own; anonymous memory (``RssAnon``) is looked at every few milliseconds.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

SIGMA = 2


class Anonymous(threading.Thread):
    """The most anonymous memory of this process, beyond that at the start."""

    def __init__(self):
        super().__init__(daemon=True)
        self.first = self.now()
        self.most = 0

    @staticmethod
    def now():
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(x.split()[1]) for x in lines if x.startswith("RssAnon")) << 10

    def run(self):
        while True:
            self.most = max(self.most, self.now() - self.first)
            time.sleep(0.004)


def ours(source, target, limit):
    from arrayloom import filters, volumes

    report = volumes.save(
        target, filters.gaussian_filter(volumes.open(source), SIGMA), memory_limit=limit
    )
    return report["read_bytes"]


def scipys(source, target, _):
    import scipy.ndimage

    x = np.load(source)
    np.save(target, scipy.ndimage.gaussian_filter(x, SIGMA))
    return x.nbytes


def child(name, source, target, limit):
    run = {"arrayloom": ours, "scipy": scipys}[name]
    __import__("scipy.ndimage" if name == "scipy" else "arrayloom.filters")
    watch = Anonymous()
    watch.start()
    start, cpu = time.perf_counter(), time.process_time()
    read = run(source, target, limit)
    wall = time.perf_counter() - start
    facts = {"wall": wall, "cpu": time.process_time() - cpu, "memory": watch.most, "read": read}
    sys.stdout.write(json.dumps(facts))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gib", type=float, default=1.0)
    parser.add_argument("--limit", default="96MiB")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return
    planes = max(1, int(options.gib * 256))
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        source = Path(folder, "in.npy")
        rng = np.random.default_rng(0)
        out = np.lib.format.open_memmap(source, "w+", np.float32, (planes, 1024, 1024))
        for plane in out:
            plane[...] = rng.random(plane.shape, np.float32) * 4000
        out.flush()
        del out
        facts = {"arrayloom": [], "scipy": []}
        for _ in range(options.rounds):
            for name, runs in facts.items():
                target = Path(folder, f"{name}.npy")
                target.unlink(missing_ok=True)
                words = [sys.executable, __file__, "--child", name, source, target, options.limit]
                done = subprocess.run([str(w) for w in words], check=True, capture_output=True)
                runs.append(json.loads(done.stdout))
        a, b = (np.load(Path(folder, f"{n}.npy"), mmap_mode="r") for n in facts)
        far = max(float(np.abs(p - q).max()) for p, q in zip(a, b, strict=True))
    print(
        f"{planes} x 1024 x 1024 float32, limit {options.limit}, greatest difference {far:.2g} of 4000"
    )
    print(f"{'':10} {'wall s':>8} {'CPU s':>8} {'anonymous MB':>13} {'bytes read / size':>18}")
    for name, runs in facts.items():
        middle = {k: statistics.median(r[k] for r in runs) for k in runs[0]}
        most = max(r["memory"] for r in runs) / 1e6
        share = middle["read"] / (planes << 22)
        print(f"{name:10} {middle['wall']:8.2f} {middle['cpu']:8.2f} {most:13.0f} {share:18.3f}")


if __name__ == "__main__":
    main()
