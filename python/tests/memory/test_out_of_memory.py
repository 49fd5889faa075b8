"""What a program sees when nothing helps: run apart, because the settings are those of a process."""

import os
import subprocess
import sys

HEAD = "import arrayloom as np\nfrom arrayloom import memory, OutOfMemoryError\n"


def run(program: str, **settings: str) -> str:
    environment = {**os.environ, **settings}
    done = subprocess.run(
        [sys.executable, "-c", HEAD + program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_error_names_sizes_owners_and_a_cure() -> None:
    program = """
kept = [np.empty((i, 1000)) for i in (100, 200, 300)]
for a in kept:
    a.fill(1.0)
try:
    more = np.empty((1000, 1000))
except MemoryError as error:
    print(type(error).__name__, error)
print(float(sum(a.sum() for a in kept)))
"""
    text = run(program, ARRAYLOOM_MEMORY_LIMIT="8MiB", ARRAYLOOM_SPILL="0")
    assert "OutOfMemoryError" in text
    for words in (
        "7.6 MiB wanted",
        "limit of 8.0 MiB",
        "2400000 bytes float64 [300, 1000]",
        "raise",
    ):
        assert words in text, text
    assert text.endswith("600000.0\n")


def test_a_result_without_room_loses_nothing() -> None:
    program = """
a = np.ones((700, 1000))
b = a + 1
try:
    total = float(b.sum()) + float(b[3, 4])
    c = b * 2
    d = c + a
    print(float(d[0, 0]), float(c[0, 0]))
except OutOfMemoryError as error:
    print("error", error)
memory.limit(None)
print(float((a + 1).sum()), float(b.sum()))
"""
    text = run(program, ARRAYLOOM_MEMORY_LIMIT="12MiB", ARRAYLOOM_SPILL="0")
    assert "error" in text, text
    assert text.endswith("1400000.0 1400000.0\n")


def test_python_is_asked_before_anything_is_spilled() -> None:
    program = """
import gc
gc.disable()
class Node: pass
for _ in range(6):
    node = Node()
    node.itself, node.array = node, np.empty((1000, 500))
    del node
report = memory.report()
print(report.rungs["collect"].bytes > 0, report.rungs["spill"].times)
"""
    assert run(program, ARRAYLOOM_MEMORY_LIMIT="16MiB") == "True 0\n"


def test_a_fork_does_not_share_the_file() -> None:
    program = """
import os
kept = [np.full((500, 1000), float(i)) + 0.0 for i in range(6)]
sums = [float(a.sum()) for a in kept]
assert memory.report().spilled > 0
child = os.fork()
if child == 0:
    for a in kept:
        a[:] = -1.0
        assert float(a.sum()) == -500000.0
    os._exit(0)
_, status = os.waitpid(child, 0)
print(status, [float(a.sum()) for a in kept] == sums)
"""
    assert run(program, ARRAYLOOM_MEMORY_LIMIT="12MiB") == "0 True\n"


def test_more_than_the_machine_has_is_an_error_that_takes_no_disk() -> None:
    program = """
import os, tempfile
def free():
    facts = os.statvfs(tempfile.gettempdir())
    return facts.f_bavail * facts.f_frsize
memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
x = np.arange(float(int((memory_bytes / 4) ** 0.5)))
before = free()
try:
    y = x[:, None] + x
    y[3, 4]
except MemoryError:
    print("refused")
print(abs(free() - before) < 1 << 30, memory.report().spilled)
"""
    assert run(program) == "refused\nTrue 0\n"
