"""The runner against ``python`` itself: the same program gives the same output and status."""

import os
import subprocess
import sys
import textwrap

import pytest


@pytest.fixture
def run(tmp_path):
    """Run a command line under ``python`` or under the runner, in an empty folder."""

    def call(*args, under="arrayloom", stdin=None, env=None):
        front = [sys.executable] + (["-m", "arrayloom"] if under == "arrayloom" else [])
        return subprocess.run(
            [*front, *args],
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, **(env or {})},
            check=False,
        )

    return call


@pytest.fixture
def same(run):
    """Run both ways, compare everything, and return the runner's result."""

    def call(*args, **options):
        plain = run(*args, under="python", **options)
        ours = run(*args, **options)
        assert ours.stdout == plain.stdout
        assert ours.stderr == plain.stderr
        assert ours.returncode == plain.returncode
        return ours

    return call


ABOUT = """
import sys, os
print(__name__, __file__, sys.argv, repr(sys.path[0]), __spec__ and __spec__.name, __package__)
print(sys.modules["__main__"].__dict__ is globals(), __builtins__ is sys.modules["builtins"])
print(os.environ.get("LD_PRELOAD"), [k for k in os.environ if k.startswith("ARRAYLOOM")])
"""


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return str(path)


def test_script(same, tmp_path):
    path = write(tmp_path, "sub/app.py", ABOUT)
    same(path, "-v", "--profile", "x y")
    same("sub/app.py")


def test_scripts_have_their_full_path(same, tmp_path):
    write(tmp_path, "inner/app.py", ABOUT + "print((lambda: 0).__code__.co_filename)\nprint(1 / 0)")
    write(tmp_path, "broken.py", "x = = 1")
    for path in ("inner/app.py", "./inner/app.py", "inner/../inner/app.py"):
        assert f'File "{tmp_path}' in same(path, "a").stderr
    assert f'File "{tmp_path}' in same("broken.py").stderr
    assert same("missing.py").returncode == 2


def test_module_and_package(same, tmp_path):
    write(tmp_path, "pkg/__init__.py", "")
    write(tmp_path, "pkg/tool.py", ABOUT)
    write(tmp_path, "pkg/__main__.py", ABOUT)
    same("-m", "pkg.tool", "-c", "1")
    same("-m", "pkg", "arg")


def test_folder(same, tmp_path):
    write(tmp_path, "app/__main__.py", "import sys; print(sys.argv, repr(sys.path[0]), __name__)")
    same("app", "1")


def test_code_and_stdin(same):
    same("-c", "import sys; print(sys.argv, repr(sys.path[0]), __name__)", "a", "-m")
    source = "import sys; print(sys.argv, repr(sys.path[0]), __name__, __file__)"
    same("-", "a", stdin=source)
    same(stdin="print(1)")


@pytest.mark.parametrize("code", ["0", "3", "256", "-1", "None", "'a message'", "[1, 2]"])
def test_system_exit(same, code):
    same("-c", f"import sys; sys.exit({code})")


def test_tracebacks_show_the_program_only(same, tmp_path):
    write(tmp_path, "broken.py", "import numpy\n1 / 0\n")
    write(tmp_path, "bad_syntax.py", "x = (\n")
    for source in (
        "def f():\n    raise ValueError('deep')\ndef g():\n    f()\ng()\n",
        "import broken\n",
        "import bad_syntax\n",
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('x') from e\n",
        "try:\n    import broken\nexcept ZeroDivisionError:\n    import no_such_module\n",
        "x = (\n",
    ):
        path = write(tmp_path, "app.py", source)
        done = same(path)
        assert done.returncode == 1
        assert "_runner" not in done.stderr
        assert "_hook" not in done.stderr


def test_own_excepthook(same):
    same("-c", "import sys; sys.excepthook = lambda *a: print(a[0].__name__); 1 / 0")


def test_keyboard_interrupt(run):
    done = run("-c", "raise KeyboardInterrupt")
    assert done.returncode == 130
    assert "KeyboardInterrupt" in done.stderr


def test_missing_programs(run):
    done = run("no_such.py")
    assert done.returncode == 2
    assert "can't open file" in done.stderr
    done = run("-m", "no_such_module")
    assert done.returncode == 1
    assert "No module named no_such_module" in done.stderr
    assert run("-m").returncode == 2
    assert run("--threads", "0", "app.py").returncode == 2


def test_exit_handlers_and_threads_see_the_program(same):
    same("-c", "import atexit; x = 7; atexit.register(lambda: print(x))")
    same(
        "-c",
        "import threading, time\ny = 3\n"
        "threading.Thread(target=lambda: (time.sleep(0.1), print(y))).start()",
    )


def test_classes_of_main_pickle(same, tmp_path):
    source = """
        import pickle
        class A:
            x = 3
        if __name__ == "__main__":
            print(type(pickle.loads(pickle.dumps(A()))) is A)
    """
    same(write(tmp_path, "app.py", source))


def test_spawned_workers_find_main(same, tmp_path):
    source = """
        import multiprocessing as mp
        def twice(x):
            return 2 * x
        if __name__ == "__main__":
            with mp.get_context("spawn").Pool(1) as pool:
                print(pool.map(twice, [1, 2]))
    """
    same(write(tmp_path, "app.py", source))


def test_program_gets_the_namespace(run):
    code = "import numpy as np, arrayloom, sys; print(np is arrayloom, sys.modules['numpy'] is np)"
    assert run("-c", code).stdout.split() == ["True", "False"]
    assert run("-", stdin=code).stdout.split() == ["True", "False"]
    assert run("--no-lazy", "-c", code).stdout.split() == ["False", "True"]


def test_user_preload_is_kept(same):
    done = same(
        "-c",
        "import os; print(os.environ['LD_PRELOAD'])",
        env={"LD_PRELOAD": "libm.so.6"},
    )
    assert done.stdout == "libm.so.6\n"


def test_grandchildren_are_plain(run):
    code = (
        "import os, subprocess, sys; print(os.environ.get('LD_PRELOAD'));"
        "child = 'import os; print(os.environ.get(\"LD_PRELOAD\"))';"
        "sys.stdout.flush(); subprocess.run([sys.executable, '-c', child])"
    )
    assert run("-c", code).stdout == "None\nNone\n"


def test_small_arrays_that_broadcast_to_large_ones_are_recorded(run):
    """Both operands are plain and small; only the result is worth recording."""
    source = """
    import numpy as np
    import arrayloom
    for n in (200, 3000, 8000):
        b, c = np.linspace(0, 1, n), np.linspace(1, 2, n)
        for a in (b[:, None] * c[None, :], b[:, None] - c, c / b[None, :, None], b[:50] + c[:50]):
            print(n, isinstance(a, arrayloom.LazyArray), a.nbytes >= 65536)
    """
    done = run("-c", textwrap.dedent(source))
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert len(rows) == 12
    assert all(lazy == large for _, lazy, large in rows), done.stdout
    assert sum(large == "True" for _, _, large in rows) == 9, done.stdout
