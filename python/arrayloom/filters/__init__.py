"""Filters for arrays and volumes of any number of axes, with SciPy's names, defaults and modes.

Every function takes an array (NumPy's, or anything ``numpy.asarray`` takes) and returns an array, or
takes a volume of `arrayloom.volumes.open` and returns a volume that is computed when it is saved. Results
do not depend on memory limits or threads, bit for bit.

Common parameters
-----------------
mode
    What lies outside of ``a b c d``: ``reflect`` (``b a | a b c d | d c``), ``mirror``
    (``c b | a b c d | c b``), ``nearest``, ``wrap``, ``constant`` (`cval`), or ``renormalize``: windows
    are clipped, and weights scaled to what is left. One mode, or one for each filtered axis.
output
    A dtype, or an array of the result's shape. Small integers, ``float16`` and ``float32`` are filtered in single
    precision, by linear filters in double precision if the output is ``float64``.
axes
    The axes to filter; all by default. Sizes, sigmas, origins and modes have one entry for each, in this order;
    footprints, weights and structures have one axis for each, in the order of the array's axes, as SciPy's.
sigma, size
    One number, one for each filtered axis, or numbers by the names of axes, as in ``sigma={"z": 1, "y": 2}``, for volumes
    that have names and objects with ``dims``. Axes that are not named have a sigma of 0, or a size of 1.
spacing
    For sigmas in physical units: distances of voxels along all axes, in a list or by name, or True for those that the
    volume has. A sigma in voxels is the sigma over the distance.
memory_limit
    Most bytes of working memory, such as ``"512MiB"``.
devices
    Workers that share an array, such as ``"opencl:0"`` or ``["cuda:0", "cpu"]``; as `arrayloom.volumes.save` takes
    them. Results do not depend on them.

Integer results are rounded once, half to even, and saturate. Filters with signed results give floats.
A window with a NaN gives NaN; `correlate` and `convolve` leave out the points whose weight is zero.
"""

from arrayloom.filters._binary import (
    binary_closing,
    binary_dilation,
    binary_erosion,
    binary_fill_holes,
    binary_hit_or_miss,
    binary_opening,
    binary_propagation,
    generate_binary_structure,
    iterate_structure,
)
from arrayloom.filters._denoise import (
    anisotropic_diffusion,
    bilateral_filter,
    nl_means,
    wiener_filter,
)
from arrayloom.filters._gaussian import (
    difference_of_gaussians,
    gaussian_filter,
    gaussian_filter1d,
    gaussian_gradient_magnitude,
    gaussian_laplace,
    high_pass,
    unsharp_mask,
)
from arrayloom.filters._generic import (
    generic_filter,
    generic_filter1d,
    generic_gradient_magnitude,
    generic_laplace,
)
from arrayloom.filters._linear import (
    convolve,
    convolve1d,
    correlate,
    correlate1d,
    laplace,
    mean_filter,
    prewitt,
    sobel,
    uniform_filter,
    uniform_filter1d,
)
from arrayloom.filters._morphology import (
    black_tophat,
    closing,
    grey_closing,
    grey_dilation,
    grey_erosion,
    grey_opening,
    morphological_gradient,
    morphological_laplace,
    opening,
    white_tophat,
)
from arrayloom.filters._pointwise import difference, identity
from arrayloom.filters._rank import (
    maximum_filter,
    maximum_filter1d,
    median_filter,
    minimum_filter,
    minimum_filter1d,
    percentile_filter,
    rank_filter,
)
from arrayloom.filters._shapes import ball, ellipsoid
from arrayloom.filters._statistics import cv_filter, entropy_filter, std_filter, var_filter
from arrayloom.filters._threshold import threshold_niblack, threshold_sauvola
from arrayloom.filters._vectorized import vectorized_filter

__all__ = [
    "anisotropic_diffusion",
    "ball",
    "bilateral_filter",
    "binary_closing",
    "binary_dilation",
    "binary_erosion",
    "binary_fill_holes",
    "binary_hit_or_miss",
    "binary_opening",
    "binary_propagation",
    "black_tophat",
    "closing",
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "cv_filter",
    "difference",
    "difference_of_gaussians",
    "ellipsoid",
    "entropy_filter",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "generate_binary_structure",
    "generic_filter",
    "generic_filter1d",
    "generic_gradient_magnitude",
    "generic_laplace",
    "grey_closing",
    "grey_dilation",
    "grey_erosion",
    "grey_opening",
    "high_pass",
    "identity",
    "iterate_structure",
    "laplace",
    "maximum_filter",
    "maximum_filter1d",
    "mean_filter",
    "median_filter",
    "minimum_filter",
    "minimum_filter1d",
    "morphological_gradient",
    "morphological_laplace",
    "nl_means",
    "opening",
    "percentile_filter",
    "prewitt",
    "rank_filter",
    "sobel",
    "std_filter",
    "threshold_niblack",
    "threshold_sauvola",
    "uniform_filter",
    "uniform_filter1d",
    "unsharp_mask",
    "var_filter",
    "vectorized_filter",
    "white_tophat",
    "wiener_filter",
]
