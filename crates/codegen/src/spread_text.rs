//! The text of what follows from mean and variance.

use arrayloom_device::Spread;

/// Mean and variance of a window, given its sum and its sum of squares.
pub(crate) fn of_squares(made: &[String]) -> Vec<String> {
    vec![
        format!("{} * f64_of((u64)share)", made[0]),
        format!(
            "variance_of({}, {}, f64_of((u64)points), f64_of((u64)square))",
            made[0], made[1]
        ),
    ]
}

/// What the numbers `made` of a window become: its mean, its variance, and the voxel itself where it is looked at.
/// The numbers of a spread have these names.
pub(crate) fn of(spread: Spread, made: &[String], [factor, range]: [&str; 2]) -> String {
    let (mean, variance) = (&made[0], &made[1]);
    let factor = format!("f64_of((u64){factor})");
    match spread {
        Spread::Variance => variance.clone(),
        Spread::Deviation => format!("root_f64({variance})"),
        Spread::Variation => format!("variation({mean}, {variance})"),
        Spread::Wiener => format!("wiener({mean}, {variance}, {}, {factor})", made[2]),
        Spread::Niblack => format!("niblack({mean}, {variance}, {factor})"),
        Spread::Sauvola => {
            format!("sauvola({mean}, {variance}, {factor}, f64_of((u64){range}))")
        }
    }
}
