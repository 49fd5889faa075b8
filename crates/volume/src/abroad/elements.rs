//! Kernels of single elements on devices: each operand is read where the needs of its axes say, so slices, broadcasts
//! and turned axes are kernels too.

use crate::abroad::recipe::{Call, Packed, Recipe, Slot, Work};
use crate::block::{View, axis_len};
use arrayloom_ir::Kernel;
use arrayloom_plan::AxisNeed;
use arrayloom_types::{DType, Layout, Region, Strides};
use std::sync::Arc;

/// One kernel for the box `region` of a result of dtype `out`, if each of its elements needs one of every operand.
pub fn elementwise(
    kernel: &Arc<Kernel>,
    needs: &[Vec<AxisNeed>],
    inputs: &[View<'_>],
    (region, out): (&Region, DType),
) -> Option<Recipe> {
    let packed = |slot: Slot, region: &Region, dtype: DType| Packed {
        slot,
        dtype,
        shape: (0..region.rank()).map(|d| axis_len(region, d)).collect(),
    };
    let ins = inputs.iter().enumerate();
    let ins = ins.map(|(i, input)| packed(Slot::Input(i), input.region, input.dtype));
    let places = inputs.iter().zip(needs);
    let places = places.map(|(input, needs)| place(needs, input, region));
    let call = Call {
        work: Work::Kernel {
            kernel: Arc::clone(kernel),
            places: places.collect::<Option<_>>()?,
        },
        ins: ins.collect(),
        out: packed(Slot::Result, region, out),
    };
    Some(Recipe {
        calls: vec![call],
        tables: Vec::new(),
    })
}

/// Where the first element lies that the box `region` of the result needs of `input`, in bytes, and the steps to the
/// next one along each axis of the result.
fn place(needs: &[AxisNeed], input: &View<'_>, region: &Region) -> Option<(isize, Strides)> {
    let shape: Vec<usize> = (0..input.region.rank())
        .map(|d| axis_len(input.region, d))
        .collect();
    let steps = Layout::contiguous(input.dtype, &shape).strides;
    let mut first = 0;
    let mut strides = Strides::from_elem(0, region.rank());
    for (d, need) in needs.iter().enumerate() {
        let step = steps[d];
        let at = match need {
            AxisNeed::Window { axis, window, .. } if window.before == 0 && window.after == 0 => {
                strides[*axis] += isize::try_from(window.step).ok()? * step;
                window.step * region.lo[*axis] + window.offset
            }
            AxisNeed::One => 0,
            _ => return None,
        };
        first += isize::try_from(at - input.region.lo[d]).ok()? * step;
    }
    Some((first, strides))
}
