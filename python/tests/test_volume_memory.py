"""How much memory is available: of the machine, and of the control groups of a process."""

from pathlib import Path

import pytest

from arrayloom._volumes import limits
from arrayloom._volumes.memory import available

MIB = 1 << 20
MEMINFO = "MemTotal: 8388608 kB\nMemFree: 1024 kB\nMemAvailable: 4194304 kB\n"
MOUNTS = {
    1: "31 23 0:28 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "32 23 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n",
    2: "41 31 0:38 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
}
GROUPS = {1: "5:cpu:/other\n4:memory:/job/step\n0::/\n", 2: "0::/job/step\n"}
NAMES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
    2: ("memory.max", "memory.current", ""),
}


def machine(root: Path, version: int, groups: dict[str, tuple[object, int, int]], **texts: str):
    """A tree of files as the system has them; each group has a limit, bytes in use, and bytes of cached files."""
    files = {
        "proc/meminfo": texts.get("meminfo", MEMINFO),
        "proc/self/cgroup": texts.get("cgroup", GROUPS[version]),
        "proc/self/mountinfo": texts.get("mounts", MOUNTS[version]),
    }
    limit, used, prefix = NAMES[version]
    top = "sys/fs/cgroup/memory" if version == 1 else "sys/fs/cgroup"
    for name, (most, now, cached) in groups.items():
        files[f"{top}/{name}/{limit}"] = f"{most}\n"
        files[f"{top}/{name}/{used}"] = f"{now}\n"
        stat = f"anon 1\n{prefix}active_file {cached // 2}\n{prefix}inactive_file {cached // 2}\n"
        files[f"{top}/{name}/memory.stat"] = stat
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_memory_of_the_machine_counts_cached_files(tmp_path):
    assert available(machine(tmp_path, 2, {})) == 4 << 30
    assert available(Path("/")) > 0
    assert available(tmp_path / "nothing") > 0
    assert limits.default_limit() > 0


@pytest.mark.parametrize("version", [1, 2])
def test_the_least_group_counts_without_its_cached_files(tmp_path, version):
    groups = {
        "job": (500 * MIB, 300 * MIB, 100 * MIB),
        "job/step": (900 * MIB, 300 * MIB, 100 * MIB),
        ".": (9223372036854771712 if version == 1 else "max", 0, 0),
    }
    assert available(machine(tmp_path, version, groups)) == 300 * MIB


@pytest.mark.parametrize("version", [1, 2])
def test_groups_without_limits_or_beyond_them_are_no_error(tmp_path, version):
    none = 9223372036854771712 if version == 1 else "max"
    assert available(machine(tmp_path / "a", version, {"job/step": (none, MIB, 0)})) == 4 << 30
    assert available(machine(tmp_path / "b", version, {"job/step": (MIB, 2 * MIB, 0)})) == 0


def test_groups_of_a_container_lie_below_what_is_mounted(tmp_path):
    mounts = MOUNTS[2].replace(" / /sys", " /docker/12 /sys")
    inside = machine(
        tmp_path / "a", 2, {"job": (90 * MIB, 0, 0)}, mounts=mounts, cgroup="0::/docker/12/job\n"
    )
    assert available(inside) == 90 * MIB
    outside = machine(
        tmp_path / "b", 2, {".": (80 * MIB, 0, 0)}, mounts=mounts, cgroup="0::/../other\n"
    )
    assert available(outside) == 80 * MIB


def test_what_slows_a_group_down_is_a_limit(tmp_path):
    root = machine(tmp_path, 2, {"job/step": ("max", 10 * MIB, 0)})
    (root / "sys/fs/cgroup/job/step/memory.high").write_text(f"{70 * MIB}\n")
    assert available(root) == 60 * MIB
