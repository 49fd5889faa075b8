"""A plug-in for pytest: the fixture ``no_leaks`` and the option ``--mem-limit``.

It is a package of its own so that pytest can load it without loading arrayloom: that happens when a
test asks for it.
"""

import gc
import importlib
from collections.abc import Generator
from typing import Any

import pytest

__all__ = ["no_leaks", "pytest_addoption", "pytest_runtest_call"]


def _memory() -> Any:  # noqa: ANN401 - a module that is loaded late
    return importlib.import_module("arrayloom.memory")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--mem-limit``."""
    parser.getgroup("arrayloom").addoption(
        "--mem-limit",
        metavar="SIZE",
        help="bytes of arrayloom's arrays that each test may use, such as 64MiB or 50%%",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run the test under the limit, if there is one."""
    size = item.config.getoption("--mem-limit")
    if size is None:
        return (yield)
    with _memory().limit(size):
        return (yield)


@pytest.fixture
def no_leaks() -> Generator[None]:
    """Fail a test that leaves large arrays behind, with the lines that made them."""
    with _memory().scope("test") as scope:
        yield
        gc.collect()
    if scope.escaped:
        arrays = "\n  ".join(str(owner) for owner in scope.escaped)
        pytest.fail(f"{len(scope.escaped)} arrays outlive the test:\n  {arrays}", pytrace=False)
