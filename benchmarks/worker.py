"""Run one program in one variant, once for every line of JSON on standard input.

Started by `harness.py` as plain ``python`` or under ``python -m arrayloom``. Answers each line with
one line of JSON: seconds, sums and digests of the results, and peak memory.
"""

import hashlib
import json
import os
import resource
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def measure(run, job):
    """Time one run; the sums at its end make every variant finish its work."""
    import numpy as np

    prepare = getattr(run, "prepare", None)
    if prepare is not None:
        prepare(job["size"])
    start = time.perf_counter()
    results = run(job["size"], job["iterations"])
    sums = [float(np.sum(each)) for each in results]
    seconds = time.perf_counter() - start
    arrays = [np.ascontiguousarray(each) for each in results]
    return {
        "seconds": seconds,
        "sums": sums,
        "scales": [float(np.sum(np.abs(each))) for each in arrays],
        "digests": [hashlib.sha256(each.tobytes()).hexdigest() for each in arrays],
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def main():
    import peers

    program, variant = sys.argv[1:]
    # The program may print; answers have a channel of their own.
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    sys.path[:0] = [str(HERE), str(HERE.parent / "examples")]
    start = time.perf_counter()
    run = peers.run_of(program, variant)
    answers.write(json.dumps({"import_seconds": time.perf_counter() - start}) + "\n")
    for line in sys.stdin:
        answers.write(json.dumps(measure(run, json.loads(line))) + "\n")


if __name__ == "__main__":
    main()
