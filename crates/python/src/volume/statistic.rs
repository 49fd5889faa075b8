//! Statistics of windows by their names.

use arrayloom_volume::ops::Statistic;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The statistic `name` with its parameters: the noise of `wiener`; the k of `niblack`; k and r of
/// `sauvola`; low, high and bins of `entropy`; sigma, then weights of `bilateral`; kappa,
/// step and option of `diffusion`.
pub(super) fn statistic(name: &str, mut numbers: Vec<f64>) -> PyResult<Statistic> {
    let found = match (name, numbers.as_slice()) {
        ("var", []) => Some(Statistic::Variance),
        ("std", []) => Some(Statistic::Deviation),
        ("cv", []) => Some(Statistic::Variation),
        ("wiener", &[noise]) => Some(Statistic::Wiener(noise)),
        ("niblack", &[k]) => Some(Statistic::Niblack(k)),
        ("sauvola", &[k, r]) => Some(Statistic::Sauvola { k, r }),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of bins"
        )]
        ("entropy", &[low, high, bins]) => Some(Statistic::Entropy {
            low,
            high,
            bins: bins as usize,
        }),
        ("diffusion", &[kappa, step, option]) => Some(Statistic::Diffusion {
            kappa,
            step,
            rational: option > 1.0,
        }),
        ("bilateral", &[sigma, ..]) => Some(Statistic::Bilateral {
            weights: numbers.split_off(1),
            sigma,
        }),
        _ => None,
    };
    found.ok_or_else(|| {
        PyValueError::new_err(format!("no statistic {name:?} takes these parameters"))
    })
}
