"""A pytest plugin for SciPy's tests of filters: `arrayloom.filters` stands in the place of `scipy.ndimage`."""

import scipy.ndimage
from scipy._lib._array_api import xp_capabilities_table

from arrayloom import filters


def replace():
    """Puts every filter that both have in SciPy's place, with what SciPy's tests know of it."""
    for name in sorted(set(scipy.ndimage.__all__) & set(filters.__all__)):
        theirs, ours = getattr(scipy.ndimage, name), getattr(filters, name)
        if theirs in xp_capabilities_table:
            xp_capabilities_table[ours] = xp_capabilities_table[theirs]
        setattr(scipy.ndimage, name, ours)


replace()
