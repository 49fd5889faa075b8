"""Operators and ufuncs of plain arrays under the runner: what NumPy gives, and recorded where that is large."""

import subprocess
import sys
import textwrap

import pytest

SAME = r"""
import hashlib, operator, warnings
import numpy as np

def show(what, make):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            value = make()
        except Exception as error:
            print(what, type(error).__name__, str(error))
            return
        values = value if isinstance(value, tuple) else (value,)
        for v in values:
            a = np.asarray(v)
            digest = hashlib.md5(a.tobytes()).hexdigest() if a.dtype != object else repr(v)
            kind = "array" if isinstance(v, np.ndarray) else type(v).__name__
            print(what, kind, a.dtype, a.shape, digest)
        print([str(w.message) for w in said if w.category.__name__ != "FallbackWarning"])

class Own:
    "Wants to do operations itself."
    __array_ufunc__ = None
    for name in "add radd sub rsub mul rmul truediv rtruediv and rand iadd lt eq".split():
        exec(f"def __{name}__(self, other): return '{name}'")

class Override:
    def __array_ufunc__(self, ufunc, method, *inputs, **words):
        return f"{ufunc.__name__} {method} {len(inputs)} {sorted(words)}"

class Derived(np.ndarray):
    def __add__(self, other): return "derived add"
    def __radd__(self, other): return "derived radd"

random = np.random.default_rng(3)
small = random.random(7)
large = np.frombuffer(random.random(70_000).tobytes())
whole = np.frombuffer(random.integers(-50, 50, 70_000).tobytes(), dtype=np.int64)
few = whole[:9].copy()
truth = np.frombuffer((large > 0.5).tobytes(), dtype=bool)
complex_ = np.frombuffer((random.random(70_000) + 1j * random.random(70_000)).tobytes(), dtype=complex)
others = {
    "float": 2.5, "int": 3, "bool": True, "complex": 1 + 2j, "numpy": np.float32(1.5), "list": [2.0],
    "none": None, "word": "x", "small": small[:1], "column": small[:, None], "0-d": np.array(4), "own": Own(),
    "override": Override(), "derived": np.ones(1).view(Derived), "object": np.array([3], dtype=object),
    "huge": 2**70, "text": np.array(["a"]),
}
arrays = {"small": small, "large": large, "whole": whole, "few": few, "truth": truth, "complex": complex_,
          "3 x 1": small[:3, None], "none": small[:0], "0-d": np.array(2.0)}
binary = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
          operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.lt, operator.eq,
          operator.ne, operator.ge, divmod]
in_place = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod,
            operator.ipow, operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift]
for name, a in arrays.items():
    for op in (operator.neg, operator.pos, abs, operator.invert):
        show(f"{op.__name__} {name}", lambda: op(a))
    for other, b in others.items():
        for op in binary:
            show(f"{name} {op.__name__} {other}", lambda: op(a, b))
            show(f"{other} {op.__name__} {name}", lambda: op(b, a))
        for op in in_place:
            def change():
                target = a.copy()
                result = op(target, b)
                return (result, target, np.asarray(result is target))
            show(f"{name} {op.__name__} {other}", change)
"""

UFUNCS = r"""
v, w = small, np.linspace(-1, 1, 40_000)
out, kept = np.zeros((7, 40_000)), np.zeros(70_000)
show("outer", lambda: np.outer(v, w))
show("outer out", lambda: np.outer(v, w, out) is out)
show("outer wrong", lambda: np.outer(v, w, np.zeros(3)))
for name in ("add", "multiply", "hypot", "arctan2", "less", "maximum", "power", "logical_and", "bitwise_and", "ldexp"):
    ufunc = getattr(np, name)
    show(f"{name}.outer", lambda: ufunc.outer(v, w))
    show(f"{name}.outer few", lambda: ufunc.outer(v, v[:2]))
    show(f"{name}.outer words", lambda: ufunc.outer(v, w, dtype=np.float32))
    show(f"{name}.outer one", lambda: ufunc.outer(v))
    show(f"{name}.outer lists", lambda: ufunc.outer([1, 2], w))
    show(f"{name} column", lambda: ufunc(v[:, None], w))
    show(f"{name} none", lambda: ufunc(v[:, None], w, None))
    show(f"{name} out", lambda: ufunc(v[:, None], w, out))
    show(f"{name} apart", lambda: ufunc(v[:, None], w[:3]))
    show(f"{name} misfit", lambda: ufunc(v, w))
    show(f"{name} four", lambda: ufunc(v, w, None, None))
    show(f"{name} where", lambda: ufunc(large, 0.5, where=truth, out=kept))
    show(f"{name} nothing", lambda: ufunc())
for name in ("exp", "sqrt", "log", "negative", "isnan", "frexp", "modf", "sign", "cbrt", "invert", "logical_not"):
    ufunc = getattr(np, name)
    for which, a in {"large": large, "low": large - 0.5, "small": small - 0.5, "whole": whole, "truth": truth}.items():
        show(f"{name} {which}", lambda: ufunc(a))
        show(f"{name} {which} none", lambda: ufunc(a, None))
        show(f"{name} {which} twice", lambda: ufunc(a, a))
        show(f"{name} {which} f4", lambda: ufunc(a, dtype=np.float32))
show("clip", lambda: np.clip(large, 0.25, 0.5))
show("clip column", lambda: np.clip(v[:, None], w - 0.5, w + 0.5))
with np.errstate(all="raise"):
    show("raises", lambda: np.log(large - large[0]))
    show("divides", lambda: large / (large - large[0]))
"""


def under(front, source, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(source), encoding="utf-8")
    command = [sys.executable, *front, str(program)]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("least", ["4096", "65536", "10000000"])
def test_results_errors_and_warnings_are_numpys(tmp_path, least):
    source = SAME + UFUNCS
    plain = under([], source, tmp_path)
    ours = under(["-m", "arrayloom", "--min-bytes", least], source, tmp_path)
    differ = [(a, b) for a, b in zip(plain, ours, strict=True) if a != b]
    assert not differ, differ[:10]
    assert len(plain) > 4000


def test_large_results_of_small_arrays_are_recorded(tmp_path):
    source = """
    import numpy as np
    import arrayloom
    v, w = np.linspace(0, 1, 300), np.linspace(1, 2, 400)
    for a in (
        np.outer(v, w), np.add.outer(v, w), np.hypot(v[:, None], w), v[:, None] ** w, -np.outer(v, w),
        np.arctan2(v[:, None], w), np.multiply(v[:, None], w, None), np.maximum.outer(v, w),
    ):
        print(isinstance(a, arrayloom.LazyArray))
    big = np.frombuffer(np.random.default_rng(0).random(100_000).tobytes())
    for a in (np.exp(big), np.sqrt(big), -big, abs(big), big**2, big**0.5, np.maximum(big, 0.5), np.add(big, big)):
        print(not isinstance(big, arrayloom.LazyArray) and isinstance(a, arrayloom.LazyArray))
    for a in (np.exp(v), v + v, v * 2.0, np.add.outer(v[:3], v), -v, v < w[0], np.outer(v[:2], v)):
        print(not isinstance(a, arrayloom.LazyArray))
    """
    assert under(["-m", "arrayloom"], source, tmp_path) == ["True"] * 23


def test_calls_with_lazy_arrays_and_strangers(tmp_path):
    """A stranger beside a lazy array has its say, whoever stands first, and results may be given by place."""
    source = """
    import numpy as np
    class Stranger:
        def __array_ufunc__(self, ufunc, method, *inputs, **words):
            return f"{ufunc.__name__} {method} {[type(i) is Stranger for i in inputs]} {sorted(words)}"
    a = np.linspace(0, 1, 100_000)
    b = np.sqrt(a)
    out = np.empty(100_000)
    print(np.add(a, Stranger()), np.add(Stranger(), a), np.add(a, b, Stranger()))
    print(np.add(a, b, out) is out, out.sum() == (a + b).sum())
    print(np.multiply(out, out, out) is out, float(out[7]) == float((a[7] + b[7]) ** 2))
    print(np.add(a, [1.0]).sum() == (a + 1).sum(), np.add(a, np.float32(1)).dtype, np.add(a, 1j).dtype)
    for wrong in (lambda: np.add(a, b, out[:5]), lambda: np.add(a), lambda: np.add(a, b, out, out), lambda: np.sqrt(a, 3)):
        try:
            wrong()
        except (TypeError, ValueError) as error:
            print(type(error).__name__, error)
    """
    assert under(["-m", "arrayloom"], source, tmp_path) == under([], source, tmp_path)
