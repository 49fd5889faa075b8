//! Filters over windows of any shape: weighted sums, extrema and ranks of the points that a footprint has.

use crate::entry::Form;
use crate::filter::{packed, step};
use crate::lower::Target;
use crate::operation::Made;
use crate::sums_text::words;
use arrayloom_device::{ExtCall, FilterWindow, Gather, Keys};
use arrayloom_types::{DType, Kind};

/// Ranks of windows of so many points are found by sorting networks, where the whole window exists.
pub(crate) const NETWORK: u32 = 32;
/// The most axes.
const AXES: usize = 8;

/// What is known of a window when its text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// What windows become.
    pub gather: Gather,
    /// How voxels stand for keys.
    pub keys: Keys,
    /// The dtype of the voxels that are written.
    pub values: DType,
    /// The dtype of the arithmetic.
    pub work: DType,
    /// Axes.
    pub axes: u8,
    /// Points and rank of windows whose ranks are found by a network.
    pub network: Option<(u8, u8)>,
}

impl Window {
    /// The numbers that the kernel takes; those of [`GIVEN`] are the bits of `float64`.
    pub(crate) fn numbers(self) -> impl Iterator<Item = &'static str> {
        let given = match self.gather {
            Gather::Bilateral => 1,
            Gather::Bin | Gather::Diffusion | Gather::Spread(_) => 3,
            _ => 0,
        };
        ["items", "points", "rank"]
            .into_iter()
            .chain(GIVEN.into_iter().take(given))
    }
}

/// What the kernel calls the numbers that it is given.
const GIVEN: [&str; 3] = ["given0", "given1", "given2"];

/// The operation [`arrayloom_device::FILTER_WINDOW`].
///
/// # Errors
/// The words for arrays that it does not take.
pub(crate) fn window(call: &ExtCall<'_>, target: Target) -> Result<Made, String> {
    let none = || "no window of these arrays".to_owned();
    let window = FilterWindow::of(call.attrs).ok_or_else(none)?;
    let (computed, weighted) = (!window.gather.is_of_keys(), window.gather.is_weighted());
    let ([result], Some(nothing)) = (call.outs, call.ins.last()) else {
        return Err(none());
    };
    if call.ins.len() != if weighted { 8 } else { 7 } {
        return Err(none());
    }
    let (voxels, work) = (&call.ins[0], nothing.layout.dtype);
    let (values, points) = (result.layout.dtype, window.points as usize);
    let (shape, extents) = (&voxels.layout.shape, &result.layout.shape);
    let axes = shape.len();
    let (rank, patches) = (window.rank as usize, window.gather == Gather::Patches);
    let real = !voxels.layout.dtype.is_complex() && !values.is_complex();
    let known = if window.gather == Gather::Mean {
        let whole = voxels.layout.dtype.kind() < Kind::Float;
        let sums = matches!(work, DType::I32 | DType::I64 | DType::U64);
        whole && real && sums && nothing.layout.len() == words(work)
    } else if computed {
        real && matches!(work, DType::F32 | DType::F64)
    } else {
        real && voxels.layout.dtype == values
            && work.kind() == Kind::Unsigned
            && work.size() == values.size()
    };
    let table = |number: usize, dtype: DType, len: usize| {
        let layout = &call.ins[number].layout;
        layout.dtype == dtype && layout.len() == len
    };
    let all = points + window.gather.more_points();
    let told = table(1, DType::I64, 4 * axes)
        && table(2, DType::I32, extents.iter().sum())
        && call.ins[3].layout.dtype == DType::I32
        && table(4, DType::I32, all * axes)
        && table(5, DType::I64, if patches { rank } else { all })
        && (!weighted || table(6, work, points));
    let fits = known && told && axes == extents.len() && (1..=AXES).contains(&axes) && points > 0;
    if !fits || !patches && rank >= points || !call.ins.iter().chain(call.outs).all(packed) {
        return Err(none());
    }
    let items: usize = extents.iter().product();
    let small = |n: u32| u8::try_from(n).ok();
    let network = (window.gather == Gather::Rank && window.points <= NETWORK)
        .then(|| small(window.points).zip(small(window.rank)));
    let form = Form::Window(Window {
        gather: window.gather,
        keys: window.keys,
        values,
        work,
        axes: u8::try_from(axes).unwrap_or(u8::MAX),
        network: network.flatten(),
    });
    let mut numbers = vec![("items", items), ("points", points), ("rank", rank)];
    let given = window
        .given
        .map(|g| usize::try_from(g.to_bits()).unwrap_or(0));
    numbers.extend(GIVEN.into_iter().zip(given));
    step(call, target, (form, !computed), &numbers)
}
