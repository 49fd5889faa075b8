"""All filters, and what they need beside an array."""

from typing import Any

import numpy as np

from arrayloom import filters


def smooth(line: Any, out: Any) -> None:
    """Sums of three values of a line."""
    out[:] = line[:-2] + line[1:-1] + line[2:]


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "anisotropic_diffusion": (2, 30.0),
    "bilateral_filter": (30.0,),
    "black_tophat": (3,),
    "closing": (3,),
    "convolve": ([[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]],),
    "convolve1d": ([1.0, 2.0, 0.5],),
    "correlate": (np.arange(9.0).reshape(3, 3),),
    "correlate1d": ([1, 2, 3], 0),
    "cv_filter": (3,),
    "difference_of_gaussians": (1.0, 2.0),
    "entropy_filter": (3,),
    "gaussian_filter": (1.5,),
    "gaussian_filter1d": (1.5,),
    "gaussian_gradient_magnitude": (1.0,),
    "gaussian_laplace": (1.0,),
    "generic_filter": (np.ptp, 3),
    "generic_filter1d": (smooth, 3),
    "generic_gradient_magnitude": (filters.sobel,),
    "generic_laplace": (filters.prewitt,),
    "grey_closing": ((2, 3),),
    "grey_dilation": (3,),
    "grey_erosion": (3,),
    "grey_opening": (3,),
    "high_pass": (2.0,),
    "maximum_filter": (3,),
    "maximum_filter1d": (3,),
    "mean_filter": (3,),
    "median_filter": (3,),
    "minimum_filter": (3,),
    "minimum_filter1d": (3,),
    "morphological_gradient": (3,),
    "morphological_laplace": (3,),
    "nl_means": (10.0,),
    "opening": (3,),
    "percentile_filter": (30.0, 3),
    "rank_filter": (2, 3),
    "std_filter": (3,),
    "threshold_niblack": (3,),
    "threshold_sauvola": (3,),
    "uniform_filter1d": (3,),
    "unsharp_mask": (1.0,),
    "var_filter": (3,),
    "vectorized_filter": (np.max,),
    "white_tophat": (3,),
    "wiener_filter": (3,),
}
KEYWORDS: dict[str, dict[str, Any]] = {"vectorized_filter": {"size": 3}}
_NO_FILTERS = {"ball", "ellipsoid", "generate_binary_structure", "iterate_structure", "difference"}
FILTERS = sorted(set(filters.__all__) - _NO_FILTERS)
