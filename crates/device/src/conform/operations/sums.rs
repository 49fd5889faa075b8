//! Sums of 128 bits, and means from them.

use super::{Number, number};
use crate::{FilterPass, Fold};
use arrayloom_types::DType;

/// Passes, and the dtypes of voxels, arithmetic and results.
pub(super) fn cases() -> impl Iterator<Item = (FilterPass, [DType; 3])> {
    use DType::{I32, I64, U8, U64};
    let all = [
        ([1, 2], 0.0, [I64, U64]),
        ([2, 2], 0.0, [U64, U64]),
        ([2, 1], 35.0, [U64, I64]),
        ([2, 1], 5.0, [U64, U64]),
        ([1, 1], 5.0, [I64, I32]),
        ([1, 1], 6.0, [U64, U8]),
    ];
    all.into_iter().map(|(channels, points, [from, to])| {
        let pass = FilterPass {
            channels,
            points,
            ..FilterPass::new(Fold::Sum, 5)
        };
        (pass, [from, U64, to])
    })
}

/// Voxels of so many large numbers, each given by one that looks random.
pub(super) fn voxels(
    pass: &FilterPass,
    from: DType,
    count: usize,
    random: impl Fn(usize) -> usize,
) -> Vec<u8> {
    let half = if from == DType::U64 && pass.channels[0] == 1 {
        0
    } else {
        500
    };
    let value = |at: usize| (i128::try_from(random(at)).unwrap_or(0) - half) * ((1 << 54) - 77);
    let bytes = |at: usize| value(at).to_le_bytes();
    let lower = (0..count).flat_map(|at| bytes(at)[..8].to_vec());
    let upper = (0..count).flat_map(|at| bytes(at)[8..].to_vec());
    match pass.channels[0] {
        1 => lower.collect(),
        _ => lower.chain(upper).collect(),
    }
}

/// The numbers of a window, as bytes of dtype `to`: `value(channel, place)` gives those of its rows that exist, `bias`
/// stands for the others.
pub(super) fn folded<'v>(
    pass: &FilterPass,
    [from, to]: [DType; 2],
    bias: i128,
    value: impl Fn(usize, usize) -> Option<&'v [u8]>,
) -> Vec<Vec<u8>> {
    let word = |channel: usize, place: usize| match number(from, value(channel, place)?) {
        Number::Whole(n) => Some(n),
        Number::Real(_) => None,
    };
    let one = |place: usize| match pass.channels[0] {
        1 => word(0, place),
        _ => Some(word(0, place)? + (word(1, place)? << 64)),
    };
    let sum = (0..pass.taps as usize).filter_map(one);
    let sum = sum.fold(bias, i128::wrapping_add);
    if pass.points == 0.0 {
        return sum.to_le_bytes().chunks(8).map(<[u8]>::to_vec).collect();
    }
    #[expect(clippy::cast_possible_truncation, reason = "a small whole number")]
    let points = pass.points as i128;
    let (down, rest) = (sum.div_euclid(points), 2 * sum.rem_euclid(points));
    let up = rest > points || rest == points && down % 2 != 0;
    let (least, most) = match to {
        DType::U8 => (0, 255),
        DType::I32 => (i32::MIN.into(), i32::MAX.into()),
        DType::I64 => (i64::MIN.into(), i64::MAX.into()),
        _ => (0, u64::MAX.into()),
    };
    let mean = (down + i128::from(up)).clamp(least, most);
    vec![mean.to_le_bytes()[..to.size()].to_vec()]
}
