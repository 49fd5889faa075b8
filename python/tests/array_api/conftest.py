"""All tests of this folder run twice: with all arrays being lazy, and as a program finds it."""

import pytest

from arrayloom import _ext


@pytest.fixture(params=["all", "large"], scope="module", autouse=True)
def laziness(request):
    usual = _ext.min_bytes()
    _ext.configure(min_bytes=0 if request.param == "all" else usual)
    yield request.param
    _ext.configure(min_bytes=usual)
