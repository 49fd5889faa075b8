//! Walks over index space.

use arrayloom_device::Arg;

/// All indices of `extents` in C order, the last one fastest.
pub(crate) fn indices(extents: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<'_> {
    let total: usize = extents.iter().product();
    (0..total).map(move |mut number| {
        let mut index = vec![0; extents.len()];
        for (slot, &extent) in index.iter_mut().zip(extents).rev() {
            *slot = number % extent;
            number /= extent;
        }
        index
    })
}

/// The address of the element at `index` of an argument in memory; `None` for a scalar.
pub(crate) fn address(arg: &Arg, index: &[usize]) -> Option<usize> {
    let Arg::View {
        buf,
        offset,
        strides,
    } = arg
    else {
        return None;
    };
    let way: isize = index
        .iter()
        .zip(strides)
        .map(|(&i, &s)| i.cast_signed() * s)
        .sum();
    let base = usize::try_from(buf.0).ok()?;
    Some(base.wrapping_add_signed(*offset + way))
}
