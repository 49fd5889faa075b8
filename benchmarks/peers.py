"""How a program runs in each library.

A program is a module in `programs/`. It either has functions ``NAME_run(size, iterations)``, or it has
``start(size)``, which gives arrays, and ``step(*arrays)``, which gives the next ones with NumPy's
functions; then jax, numba and torch run the same step, compiled, and `PEERS` names those that can.
"""

import importlib
import types

# What every program can be run in; `arrayloom` is NumPy's program under the runner.
VARIANTS = ("numpy", "arrayloom", "numexpr", "numba", "jax", "torch")


def module_of(program):
    """The module of a program, and its arguments: ``axes:std:0`` is module ``axes`` with two."""
    name, *rest = program.split(":")
    return importlib.import_module(f"programs.{name}"), tuple(rest)


def run_of(program, variant):
    """The function ``(size, iterations) -> results`` of a variant; None if it takes no part."""
    module, rest = module_of(program)
    name = "numpy" if variant == "arrayloom" else variant
    own = getattr(module, f"{name}_run", None)
    if own is not None:
        return lambda size, iterations: own(size, iterations, *rest)
    if hasattr(module, "step") and (name == "numpy" or name in getattr(module, "PEERS", ())):
        return _Stepper(module, rest, _COMPILERS[name])
    return None


class _Stepper:
    """Runs a program's step again and again; compiled once, its first arrays made before the clock runs."""

    def __init__(self, module, rest, compiler):
        self.module, self.rest, self.compiler = module, rest, compiler
        self.compiled = None
        self.state = ()

    def prepare(self, size):
        self.state = tuple(self.module.start(size))
        for array in self.state:
            memoryview(array)

    def __call__(self, size, iterations):
        if self.compiled is None:
            self.compiled = self.compiler(self.module.step)
        take, step = self.compiled
        state, self.state = tuple(map(take, self.state)), ()
        for _ in range(iterations):
            state = step(*state, *self.rest)
        return state


def _with(step, np):
    """The step with another library in NumPy's place."""
    return types.FunctionType(step.__code__, {**step.__globals__, "np": np}, step.__name__)


def _numpy(step):
    return lambda array: array, step


def _numba(step):
    import numba

    return lambda array: array, numba.njit(parallel=True)(step)


def _jax(step):
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax.device_put, jax.jit(_with(step, jax.numpy))


def _torch(step):
    import torch

    return torch.from_numpy, torch.compile(_with(step, torch))


_COMPILERS = {"numpy": _numpy, "numba": _numba, "jax": _jax, "torch": _torch}
