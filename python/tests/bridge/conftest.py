"""Tests say which frameworks they need; those that are not here leave them out."""

import functools
import importlib.util
from pathlib import Path

import pytest
from support import planner


@functools.cache
def is_here(name):
    """Whether a framework is installed, and for OpenCL whether there is a device."""
    if importlib.util.find_spec(name) is None:
        return False
    return name != "pyclesperanto" or any(Path("/etc/OpenCL/vendors").glob("*.icd"))


def pytest_collection_modifyitems(config, items):
    """Take out the tests whose frameworks are not here, and tell how many."""
    missing = [
        item
        for item in items
        for marker in item.iter_markers("frameworks")
        if not all(map(is_here, marker.args))
    ]
    if missing:
        config.hook.pytest_deselected(items=missing)
        items[:] = [item for item in items if item not in missing]


@pytest.fixture(name="no_planner")
def _no_planner():
    with planner.no_planner():
        yield
