"""Every check of the repository, in the order of their speed; stops at the first that fails.

Run it with the Python of an environment made by ``pip install ".[test]"``. ``--fix`` formats
instead of complaining, ``--only NAME`` runs a single step, ``--keep-going`` runs the others too,
``--list`` names them.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
# Most tests use one core at a time.
WORKERS = ("--numprocesses=2", "--dist=worksteal")


@dataclass(frozen=True)
class Step:
    """One check: its command, what to run instead with ``--fix``, and what helps if it fails.

    A step that takes more than ``limit`` seconds hangs; it is ended and has failed.
    """

    name: str
    command: tuple[str, ...]
    cure: str
    fix: tuple[str, ...] | None = None
    limit: float = 2400


def steps() -> Iterator[Step]:
    """Yield all steps, fast ones first."""
    fix = "run tools/check.py --fix"
    yield Step("rustfmt", ("cargo", "fmt", "--all", "--check"), fix, ("cargo", "fmt", "--all"))
    yield Step(
        "ruff format",
        (PYTHON, "-m", "ruff", "format", "--quiet", "--diff", "."),
        fix,
        (PYTHON, "-m", "ruff", "format", "."),
    )
    yield Step(
        "ruff",
        (PYTHON, "-m", "ruff", "check", "--quiet", "."),
        f"{fix}, then mend what is left",
        (PYTHON, "-m", "ruff", "check", "--fix", "."),
    )
    yield Step(
        "pyright",
        (PYTHON, "-m", "pyright", "--pythonpath", PYTHON),
        "give the named expressions precise types",
    )
    yield Step(
        "layers",
        ("cargo", "xtask", "layers"),
        "a crate may only use crates of lower layers, see ARCHITECTURE.md",
    )
    yield Step(
        "header",
        ("cargo", "xtask", "header", "--check"),
        "run cargo xtask header",
    )
    yield Step(
        "clippy",
        ("cargo", "clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"),
        "mend the code, or state a reason with #[expect(lint, reason = ...)]",
    )
    yield Step(
        "rust libraries",
        ("cargo", "build", "--quiet", "-p", "arrayloom-reference", "--examples"),
        "mend the backend that does not build; the Rust tests load it",
    )
    # Some tests are programs that start themselves again, which only cargo's own runner runs.
    yield Step(
        "rust tests",
        ("cargo", "test", "--quiet", "--lib", "--bins", "--tests"),
        "run the failing test alone: cargo test -p CRATE NAME",
    )
    yield Step("rust examples", ("cargo", "test", "--quiet", "--doc"), "mend the example")
    yield Step(
        "pytest",
        (PYTHON, "-m", "pytest", "-q", *WORKERS, "--maxfail=20", "-m", "not slow"),
        "after a change of Rust code, first pip install the package again",
    )
    # Shows what became slower; other work on the machine must not fail the checks.
    yield Step(
        "benchmarks",
        (PYTHON, "benchmarks/run.py", "--quick", "--compare", "--variant", "numpy"),
        "run the failing program alone: benchmarks/run.py --quick --program NAME -v",
    )
    yield Step(
        "frameworks",
        (PYTHON, "tools/frameworks.py"),
        "tools/frameworks.py --only torch installs less; ARRAYLOOM_FRAMEWORKS=none leaves this out",
    )


def status_of(command: tuple[str, ...], environ: dict[str, str], limit: float) -> int:
    """Run a command and all that it starts, for at most ``limit`` seconds; its exit status."""
    with subprocess.Popen(command, cwd=ROOT, env=environ, start_new_session=True) as process:
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            print(f"\nstill running after {limit:.0f} s: it hangs, or the machine is very busy")
            return 124
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def run(step: Step, *, fix: bool) -> bool:
    """Run one step and tell how long it took; False if it failed."""
    command = step.fix if fix and step.fix else step.command
    print(f"==> {step.name}: {' '.join(command)}", flush=True)
    environ = {**os.environ, "PYO3_PYTHON": PYTHON, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    start = time.monotonic()
    try:
        status = status_of(command, environ, step.limit)
    except FileNotFoundError as error:
        print(f"cannot run {command[0]}: {error}")
        status = 127
    took = time.monotonic() - start
    if status == 0:
        print(f"    {step.name} ok, {took:.1f} s", flush=True)
        return True
    print(f"\n{step.name} FAILED after {took:.1f} s (status {status}): {step.cure}", flush=True)
    return False


def main() -> int:
    """Run the steps that were asked for."""
    every = list(steps())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true", help="format instead of complaining")
    parser.add_argument("--only", action="append", choices=[step.name for step in every])
    parser.add_argument("--keep-going", action="store_true", help="do not stop at a failure")
    parser.add_argument("--list", action="store_true", help="name the steps")
    args = parser.parse_args()
    if args.list:
        print("\n".join(f"{step.name:14}{' '.join(step.command)}" for step in every))
        return 0
    start = time.monotonic()
    failed: list[str] = []
    for step in every:
        if args.only and step.name not in args.only:
            continue
        if not run(step, fix=args.fix):
            failed.append(step.name)
            if not args.keep_going:
                break
    if failed:
        print(f"failed: {', '.join(failed)}")
        return 1
    print(f"all checks passed, {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
