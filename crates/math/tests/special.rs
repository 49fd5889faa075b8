//! Special values in double precision: those of C99, annex F, and results that are exact.

use arrayloom_math as math;
use arrayloom_math::{Binary, Unary};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn unary<F: Unary>(name: &str, cases: &[(f64, f64)]) {
    for &(x, want) in cases {
        let got = F::of(x);
        let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        assert!(same, "{name}({x:e}) is {got:e} and not {want:e}");
    }
    assert!(F::of(NAN).is_nan(), "{name} of a NaN");
}

fn binary<F: Binary>(name: &str, cases: &[(f64, f64, f64)]) {
    for &(a, b, want) in cases {
        let got = F::of(a, b);
        let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        assert!(same, "{name}({a:e}, {b:e}) is {got:e} and not {want:e}");
    }
}

#[test]
fn exponentials() {
    let (min, tiny) = (f64::MIN_POSITIVE, 5e-324);
    unary::<math::Exp>(
        "exp",
        &[
            (0.0, 1.0),
            (-0.0, 1.0),
            (INF, INF),
            (-INF, 0.0),
            (800.0, INF),
            (-800.0, 0.0),
            (tiny, 1.0),
            (710.0, INF),
            (-745.2, 0.0),
        ],
    );
    unary::<math::Exp2>(
        "exp2",
        &[
            (0.0, 1.0),
            (10.0, 1024.0),
            (-1022.0, min),
            (-1074.0, tiny),
            (1024.0, INF),
            (-1076.0, 0.0),
            (INF, INF),
            (-INF, 0.0),
        ],
    );
    unary::<math::Expm1>(
        "expm1",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, INF),
            (-INF, -1.0),
            (tiny, tiny),
            (-tiny, -tiny),
            (-50.0, -1.0),
            (711.0, INF),
        ],
    );
    unary::<math::Sinh>(
        "sinh",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, INF),
            (-INF, -INF),
            (-tiny, -tiny),
            (711.0, INF),
        ],
    );
    unary::<math::Cosh>(
        "cosh",
        &[
            (0.0, 1.0),
            (INF, INF),
            (-INF, INF),
            (tiny, 1.0),
            (-711.0, INF),
        ],
    );
    unary::<math::Tanh>(
        "tanh",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, 1.0),
            (-INF, -1.0),
            (30.0, 1.0),
            (-1e300, -1.0),
            (tiny, tiny),
        ],
    );
}

#[test]
fn logarithms() {
    let poles = [
        (1.0, 0.0),
        (0.0, -INF),
        (-0.0, -INF),
        (INF, INF),
        (-1.0, NAN),
        (-INF, NAN),
    ];
    unary::<math::Log>("log", &poles);
    unary::<math::Log2>("log2", &poles);
    unary::<math::Log10>("log10", &poles);
    unary::<math::Log2>(
        "log2",
        &[
            (8.0, 3.0),
            (0.125, -3.0),
            (f64::MIN_POSITIVE, -1022.0),
            (5e-324, -1074.0),
        ],
    );
    for power in 0..=22 {
        unary::<math::Log10>("log10", &[(10f64.powi(power), f64::from(power))]);
    }
    unary::<math::Log1p>(
        "log1p",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (-1.0, -INF),
            (INF, INF),
            (-2.0, NAN),
            (5e-324, 5e-324),
            (-1e-300, -1e-300),
        ],
    );
}

#[test]
fn angles() {
    let tiny = 5e-324;
    let odd = [(0.0, 0.0), (-0.0, -0.0), (tiny, tiny), (-tiny, -tiny)];
    unary::<math::Sin>("sin", &odd);
    unary::<math::Tan>("tan", &odd);
    unary::<math::Asin>("asin", &odd);
    unary::<math::Atan>("atan", &odd);
    let endless = [(INF, NAN), (-INF, NAN)];
    unary::<math::Sin>("sin", &endless);
    unary::<math::Cos>("cos", &endless);
    unary::<math::Tan>("tan", &endless);
    unary::<math::Cos>("cos", &[(0.0, 1.0), (tiny, 1.0)]);
    // Arguments that lie as near to a multiple of pi/2 as any (Muller, "Elementary Functions", 11.3).
    unary::<math::Cos>(
        "cos",
        &[(
            6_381_956_970_095_103.0 * 2f64.powi(797),
            -4.687_165_924_254_628e-19,
        )],
    );
    unary::<math::Asin>(
        "asin",
        &[
            (1.0, FRAC_PI_2),
            (-1.0, -FRAC_PI_2),
            (1.1, NAN),
            (-INF, NAN),
        ],
    );
    unary::<math::Acos>(
        "acos",
        &[(1.0, 0.0), (-1.0, PI), (0.0, FRAC_PI_2), (2.0, NAN)],
    );
    unary::<math::Atan>(
        "atan",
        &[
            (1.0, FRAC_PI_4),
            (INF, FRAC_PI_2),
            (-INF, -FRAC_PI_2),
            (1e300, FRAC_PI_2),
        ],
    );
    binary::<math::Atan2>(
        "atan2",
        &[
            (0.0, 1.0, 0.0),
            (-0.0, 1.0, -0.0),
            (0.0, -1.0, PI),
            (-0.0, -1.0, -PI),
            (0.0, 0.0, 0.0),
            (0.0, -0.0, PI),
            (1.0, 0.0, FRAC_PI_2),
            (-1.0, -0.0, -FRAC_PI_2),
            (INF, INF, FRAC_PI_4),
            (-INF, -INF, -3.0 * FRAC_PI_4),
            (1.0, INF, 0.0),
            (1.0, -INF, PI),
            (1.0, 1.0, FRAC_PI_4),
            (-1.0, -1.0, -3.0 * FRAC_PI_4),
            (1e-200, -1e200, PI),
            (1e200, 1e-200, FRAC_PI_2),
            (1e-310, 1e-310, FRAC_PI_4),
            (1e308, 1e308, FRAC_PI_4),
            (NAN, 1.0, NAN),
            (1.0, NAN, NAN),
            (1e-300, 1e300, 0.0),
        ],
    );
}

#[test]
fn powers_and_roots() {
    unary::<math::Cbrt>(
        "cbrt",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (27.0, 3.0),
            (-8.0, -2.0),
            (1e-300, 1e-100),
            (INF, INF),
            (-INF, -INF),
        ],
    );
    binary::<math::Hypot>(
        "hypot",
        &[
            (3.0, 4.0, 5.0),
            (0.0, -0.0, 0.0),
            (-INF, NAN, INF),
            (NAN, INF, INF),
            (NAN, 1.0, NAN),
            (1.0, NAN, NAN),
            (3e-320, 4e-320, 5e-320),
            (1e308, 1e308, 1.414_213_562_373_095_1e308),
            (1.5e308, 1.5e308, INF),
            (5e-324, 0.0, 5e-324),
        ],
    );
    binary::<math::Pow>(
        "pow",
        &[
            (2.0, 10.0, 1024.0),
            (-2.0, 3.0, -8.0),
            (-2.0, 2.0, 4.0),
            (-8.0, 1.0 / 3.0, NAN),
            (0.0, 0.0, 1.0),
            (NAN, 0.0, 1.0),
            (1.0, NAN, 1.0),
            (0.0, 3.0, 0.0),
            (-0.0, 3.0, -0.0),
            (-0.0, 2.0, 0.0),
            (0.0, -1.0, INF),
            (-0.0, -1.0, -INF),
            (-0.0, -2.0, INF),
            (0.0, 0.5, 0.0),
            (INF, 2.0, INF),
            (INF, -2.0, 0.0),
            (-INF, 3.0, -INF),
            (-INF, -3.0, -0.0),
            (0.5, INF, 0.0),
            (2.0, INF, INF),
            (2.0, -INF, 0.0),
            (-1.0, INF, 1.0),
            (10.0, 400.0, INF),
            (-10.0, 401.0, -INF),
            (10.0, -400.0, 0.0),
            (2.0, -1074.0, 5e-324),
            (2.0, 0.0, 1.0),
            (5e-324, 0.5, 2.222_758_749_485_077_4e-162),
            (-5e-324, 1.0, -5e-324),
            (1.0, 1e300, 1.0),
            (-1.0, 1e300, 1.0),
            (10.0, 2.0, 100.0),
            (7.0, 1.0, 7.0),
        ],
    );
}
