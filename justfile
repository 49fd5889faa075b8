# Short names for common commands; all of them also work without just.

python := ".venv/bin/python"

# What there is
default:
    @just --list

# Make .venv with the package and the tools
setup:
    python3 -m venv .venv
    {{python}} -m pip install -q ".[test]"

# Build the package again after a change of Rust code
build:
    {{python}} -m pip install -q .

# Every check, as CI runs them
check *args:
    {{python}} tools/check.py {{args}}

# Rust tests of one crate, for example `just test engine`
test crate *args:
    cargo test -p arrayloom-{{crate}} {{args}}

# Python tests
py *args: build
    {{python}} -m pytest {{args}}

# NumPy's own tests with arrayloom in its place: mode all, default or untouched; `just numpy-suite all scipy` those of SciPy,
# `just numpy-suite filters scipy/ndimage/tests/test_filters.py` those of filters, with ours in their place
numpy-suite mode="all" *args: build
    {{python}} python/tests/numpy_suite/run.py --mode {{mode}} {{args}}

# How far elementary functions are from the exact values: all of single precision, samples of double
math-proof: build
    cargo test --release -p arrayloom-math --test single -- --ignored --nocapture
    ARRAYLOOM_MATH=own {{python}} python/tests/support/math_proof.py

# Programs against NumPy and its peers
bench *args: build
    {{python}} benchmarks/run.py {{args}}

# All that a machine with a GPU can tell: the suite, memory and races on a small case, figures. No network
gpu backend="cuda" *args: build
    {{python}} -m arrayloom backends
    {{python}} -m arrayloom.conform {{backend}} --strict
    if command -v compute-sanitizer; then for tool in memcheck racecheck; do compute-sanitizer --target-processes all --tool $tool --error-exitcode 1 {{python}} -m arrayloom --backend {{backend}} --min-bytes 0 examples/heat_equation.py --size 100 --iterations 3 --plot '' || exit 1; done; fi
    {{python}} benchmarks/gpu.py --backend {{backend}} {{args}}

# What programs on a device with memory of its own cost the host; needs g++, no GPU
host-side *args: build
    {{python}} benchmarks/host_side.py {{args}}

# Crates may only use lower layers
layers:
    cargo xtask layers

# Lines per file
sizes:
    cargo xtask sizes

# Unsafe blocks per file
unsafe:
    cargo xtask unsafe

# Tests with torch, JAX, TensorFlow, CuPy and pyclesperanto, in .venv-frameworks
frameworks *args: build
    {{python}} tools/frameworks.py {{args}}

# The tests of the package arraybridge against the names of arrayloom.bridge.arraybridge
arraybridge-suite *args: build
    {{python}} tools/arraybridge_suite.py {{args}}
