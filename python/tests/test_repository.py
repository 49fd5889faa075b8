"""What the documents promise about the repository itself."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "benchmarks").glob("*.md"),
]


def commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_readme_starts_with_the_two_commands():
    first, second, *_ = commands()
    assert "-m arrayloom" in first
    assert "examples/heat_equation.py" in first
    assert "tools/check.py" in second
    assert len(first.splitlines()) == len(second.splitlines()) == 1


def test_ci_runs_the_second_command():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    program = re.search(r"awk '(.*?)' README.md", script, flags=re.DOTALL).group(1)
    done = subprocess.run(
        ["awk", program, "README.md"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == commands()[1]


def test_links_between_documents_lead_somewhere():
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_every_crate_is_described():
    architecture = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for manifest in (ROOT / "crates").glob("*/Cargo.toml"):
        assert f"| {manifest.parent.name} |" in architecture


def test_every_crate_with_unsafe_code_is_in_the_safety_document():
    safety = (ROOT / "SAFETY.md").read_text(encoding="utf-8")
    for source in (ROOT / "crates").glob("*/src/**/*.rs"):
        crate = source.relative_to(ROOT / "crates").parts[0]
        opens = re.search(r"expect\(\s*unsafe_code", source.read_text(encoding="utf-8"))
        assert opens is None or f"| {crate} |" in safety, source
