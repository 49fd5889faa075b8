"""Libraries that take the place of CUDA's, so that torch's wheel starts on the host without them.

The only wheel of torch in the package index is made for CUDA: it names a dozen libraries that take two
gigabytes, of which the host uses nothing. This makes libraries of the same names and symbols, a few
kilobytes each. A call of one of their functions ends the process; without a CUDA device there is none.
CUDA's runtime itself is small, answers "no device", and stays.
"""

import re
import subprocess
from collections import defaultdict
from pathlib import Path

# Loaded with torch; others, such as cuSOLVER, only when something on a device asks for them.
NAMES = re.compile(r"lib(cublas|cublasLt|cudnn|cufft|cufile|cupti|cusparse|cusparseLt|nccl|nvrtc|nvshmem_host)\.so\.\d+$")  # fmt: skip
# Symbols without a version belong to one of these libraries.
LOOSE = re.compile(r"cufile|cusparselt|nccl|nvshmem", re.IGNORECASE)


def listed(tool: str, *arguments: str | Path) -> list[str]:
    """Return the lines that a tool of the compiler prints."""
    return subprocess.run(
        [tool, *arguments], capture_output=True, text=True, check=True
    ).stdout.splitlines()


def references(library: Path) -> dict[str, str]:
    """Return what a library needs: the version's name, or the library's own, to the library's name."""
    found: dict[str, str] = {}
    needed = ""
    for line in listed("objdump", "-p", library):
        words = line.split()
        if words[:1] == ["NEEDED"]:
            found.setdefault(words[1], words[1])
        elif words[:2] == ["required", "from"]:
            needed = words[2].rstrip(":")
        elif needed and len(words) == 4 and words[0].startswith("0x"):
            found[words[3]] = needed
    return found


def make(folder: Path, name: str, versions: dict[str, set[str]]) -> None:
    """Make one library with the symbols of each version; the empty version has no name."""
    source, script = folder / "stand_in.c", folder / "stand_in.map"
    every = sorted(set[str]().union(*versions.values()))
    functions = [f"void {symbol}(void) {{ __builtin_trap(); }}\n" for symbol in every]
    source.write_text("".join(functions) or "int nothing;\n", encoding="ascii")
    named = {version: symbols for version, symbols in versions.items() if version}
    script.write_text(
        "".join(f"{v} {{ global: {'; '.join(sorted(s))}; }};\n" for v, s in named.items()),
        encoding="ascii",
    )
    versioned = [f"-Wl,--version-script={script}"] if named else []
    command = ["cc", "-shared", "-fPIC", "-fno-builtin", "-w", f"-Wl,-soname,{name}", *versioned]
    subprocess.run([*command, "-o", folder / name, source], check=True)
    source.unlink()
    script.unlink()


def stand_in(torch: Path, folder: Path) -> list[str]:
    """Make what torch's libraries lack; return the names.

    Parameters
    ----------
    torch : Path
        The folder of torch's own libraries.
    folder : Path
        Where they look for CUDA's.
    """
    wanted: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    loose: set[str] = set()
    defined: set[str] = set()
    for library in sorted(torch.glob("lib*.so*")):
        owners = references(library)
        for name in owners.values():
            if NAMES.match(name):
                wanted[name][""].clear()
        for line in listed("nm", "-D", library):
            *_, kind, symbol = line.split()
            base, _, version = symbol.partition("@")
            version = version.lstrip("@")
            if kind not in "Uw":
                defined.add(base)
            elif not version and LOOSE.match(base):
                loose.add(base)
            elif NAMES.match(owners.get(version, "")):
                wanted[owners[version]][version].add(base)
    missing = [name for name in sorted(wanted) if not (folder / name).exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for name in missing:
        prefix = LOOSE.match(name.removeprefix("lib"))
        start = prefix[0].lower() if prefix else "?"
        mine = {symbol for symbol in loose - defined if symbol.lower().startswith(start)}
        make(folder, name, {**wanted[name], "": mine})
    return missing
