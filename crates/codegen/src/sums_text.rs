//! The text of sums of whole numbers, which are exact, and of means from them: a sum is one number, or in `uint64`
//! the halves of one of 128 bits, the lower one first.

use crate::access::register;
use crate::filter_text::rounded;
use arrayloom_types::{DType, Kind};

/// Numbers of a sum in the arithmetic `work`.
pub(crate) fn words(work: DType) -> usize {
    if work == DType::U64 { 2 } else { 1 }
}

/// The upper half of a voxel of dtype `voxels` whose lower half is `low`.
pub(crate) fn upper(voxels: DType, low: &str) -> String {
    match voxels.kind() {
        Kind::Signed => format!("(u64)0 - ({low} >> 63)"),
        _ => "(u64)0".to_owned(),
    }
}

/// The statements that add `values` to `sums`.
pub(crate) fn added(work: DType, sums: &[String], values: &[String]) -> String {
    match (sums, values) {
        ([low, high], [a, b]) => {
            format!("{low} = {low} + {a}; {high} = {high} + {b} + (u64)({low} < {a});")
        }
        _ => format!(
            "{0} = add_{1}({0}, {2});",
            sums[0],
            register(work),
            values[0]
        ),
    }
}

/// The quotient of a sum and `points`, a `float64`, as a voxel of dtype `to`: rounded once.
pub(crate) fn mean(sums: &[String], points: &str, to: DType) -> String {
    let [low, high] = sums else {
        let mean = format!("quotient_f64((f64){}, {points})", sums[0]);
        return rounded(&mean, "f64", to);
    };
    let mean = |kind: &str| format!("mean_{kind}({low}, {high}, {points})");
    let within = |least: i64, most: i64| {
        let kind = register(to);
        let long = mean("i64");
        format!("({kind})min_i64(max_i64({long}, (i64){least}), (i64){most})")
    };
    match to {
        DType::U64 => mean("u64"),
        DType::I64 => mean("i64"),
        DType::Bool | DType::U8 => within(0, 255),
        DType::I8 => within(-128, 127),
        DType::U16 => within(0, 65_535),
        DType::I16 => within(-32_768, 32_767),
        DType::U32 => within(0, 4_294_967_295),
        DType::I32 => within(-2_147_483_648, 2_147_483_647),
        _ => rounded(&mean("f64"), "f64", to),
    }
}
