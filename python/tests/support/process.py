"""Programs in a process of their own, under the interpreter or under the runner."""

import os
import resource
import subprocess
import sys
import textwrap

UNDER_TEST = os.environ.get("ARRAYLOOM_TEST_MODULE", "arrayloom")


def run(code, *args, runner=False, options=(), limit_bytes=None, timeout=120, env=None, cwd=None):
    """Run a program text; ``import arrayloom`` stands for the module under test in it.

    `options` are those of the runner.
    """
    text = textwrap.dedent(code)
    if UNDER_TEST != "arrayloom":
        text = text.replace("import arrayloom", f"import {UNDER_TEST}")
        runner = False
    front = [sys.executable, "-X", "faulthandler"]
    front += ["-m", "arrayloom", *map(str, options)] if runner else []

    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if limit_bytes is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))

    return subprocess.run(
        [*front, "-c", text, *map(str, args)],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=cwd,
        preexec_fn=limit,
        check=False,
    )


def output(code, *args, **options):
    """What a program prints; it has to end well."""
    done = run(code, *args, **options)
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def check_examples(module):
    """Run the examples in the docstrings of a module in a process of their own: it has some, and none fails."""
    found = output(f"""
        import doctest, importlib
        module = importlib.import_module({module!r})
        print(*doctest.testmod(module, optionflags=doctest.ELLIPSIS))
        """)
    # Where some fail, the report of them stands before.
    failed, attempted = map(int, found.splitlines()[-1].split()[:2])
    assert attempted, f"{module} has no examples"
    assert not failed, found
