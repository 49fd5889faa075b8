//! The text of what follows from mean and variance.

use crate::filter::Pass;
use arrayloom_device::{Fold, Spread};

/// What the numbers `made` of a window become: of squares its sum and its sum of squares, else its mean, its
/// variance, and the voxel itself where it is looked at.
pub(crate) fn of(pass: Pass, spread: Spread, made: &[String]) -> String {
    let (mean, variance) = if pass.fold == Fold::Squares {
        (
            format!("{} * f64_of((u64)share)", made[0]),
            format!(
                "variance_of({}, {}, f64_of((u64)points), f64_of((u64)square))",
                made[0], made[1]
            ),
        )
    } else {
        (made[0].clone(), made[1].clone())
    };
    let factor = "f64_of((u64)factor)";
    match spread {
        Spread::Variance => variance,
        Spread::Deviation => format!("root_f64({variance})"),
        Spread::Variation => format!("variation({mean}, {variance})"),
        Spread::Wiener => format!("wiener({mean}, {variance}, {}, {factor})", made[2]),
        Spread::Niblack => format!("niblack({mean}, {variance}, {factor})"),
        Spread::Sauvola => {
            format!("sauvola({mean}, {variance}, {factor}, f64_of((u64)range))")
        }
    }
}
