"""Tests say which frameworks they need; those that are not here leave them out."""

import importlib.util


def pytest_collection_modifyitems(config, items):
    """Take out the tests whose frameworks are not installed, and tell how many."""
    missing = [
        item
        for item in items
        for marker in item.iter_markers("frameworks")
        if any(importlib.util.find_spec(name) is None for name in marker.args)
    ]
    if missing:
        config.hook.pytest_deselected(items=missing)
        items[:] = [item for item in items if item not in missing]
