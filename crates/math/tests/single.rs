//! Single precision against the double-precision functions of the C library, which are exact for this
//! purpose: a sample of all numbers each time, all of them on demand (`just math-proof`).

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a failure here fails the test; what was found is to be read"
)]

use arrayloom_math as math;
use arrayloom_math::{Binary, Unary};

/// Units in the last place that a result may be away: one half, and what double rounding adds.
const BOUND: f64 = 0.500_001;

/// How far `y` is from `exact`, in units of the last place; infinite where one is special.
fn distance(y: f32, exact: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, reason = "rounded as results are")]
    let rounded = exact as f32;
    if y.is_nan() && rounded.is_nan() || y.to_bits() == rounded.to_bits() {
        return if rounded.is_finite() {
            (f64::from(y) - exact).abs() / unit(y)
        } else {
            0.0
        };
    }
    if !y.is_finite() || !rounded.is_finite() || y.signum().to_bits() != rounded.signum().to_bits()
    {
        return f64::INFINITY;
    }
    (f64::from(y) - exact).abs() / unit(rounded)
}

/// The distance of neighbours at `y`.
fn unit(y: f32) -> f64 {
    let exponent = (y.abs().to_bits() >> 23).max(1);
    f64::from(f32::from_bits(exponent << 23)) * f64::from(f32::EPSILON)
}

#[expect(clippy::cast_possible_truncation, reason = "results are rounded once")]
fn rounded(x: f64) -> f32 {
    x as f32
}

/// The worst distance over every `step`th number, by all processors.
fn worst<F: Unary>(exact: fn(f64) -> f64, step: usize) -> (f64, f32) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let part = move |first: usize| {
        let mut worst = (0.0, 0.0);
        for bits in (first as u64..1 << 32).step_by(threads * step) {
            let x = f32::from_bits(u32::try_from(bits).expect("below 2^32"));
            let far = distance(rounded(F::of(f64::from(x))), exact(f64::from(x)));
            if far > worst.0 {
                worst = (far, x);
            }
        }
        worst
    };
    std::thread::scope(|scope| {
        let parts = (0..threads).map(|thread| scope.spawn(move || part(thread * step)));
        let parts: Vec<_> = parts.collect();
        let found = parts
            .into_iter()
            .map(|part| part.join().expect("it only computes"));
        found.fold((0.0, 0.0), |a, b| if a.0 > b.0 { a } else { b })
    })
}

/// All functions of one value.
fn all(step: usize) {
    fn check<F: Unary>(name: &str, exact: fn(f64) -> f64, step: usize) {
        let (far, x) = worst::<F>(exact, step);
        println!("{name}: {far:.7} ulp at {x:e}");
        assert!(far <= BOUND, "{name}({x:e}) is {far} ulp away");
    }
    check::<math::Exp>("exp", f64::exp, step);
    check::<math::Exp2>("exp2", f64::exp2, step);
    check::<math::Expm1>("expm1", f64::exp_m1, step);
    check::<math::Log>("log", f64::ln, step);
    check::<math::Log2>("log2", f64::log2, step);
    check::<math::Log10>("log10", f64::log10, step);
    check::<math::Log1p>("log1p", f64::ln_1p, step);
    check::<math::Sin>("sin", f64::sin, step);
    check::<math::Cos>("cos", f64::cos, step);
    check::<math::Tan>("tan", f64::tan, step);
    check::<math::Asin>("asin", f64::asin, step);
    check::<math::Acos>("acos", f64::acos, step);
    check::<math::Atan>("atan", f64::atan, step);
    check::<math::Sinh>("sinh", f64::sinh, step);
    check::<math::Cosh>("cosh", f64::cosh, step);
    check::<math::Tanh>("tanh", f64::tanh, step);
    check::<math::Cbrt>("cbrt", f64::cbrt, step);
}

#[test]
fn a_sample_of_all_numbers() {
    all(20_011);
}

#[test]
#[ignore = "takes minutes: just math-proof"]
fn all_numbers() {
    all(1);
}

#[test]
fn pairs() {
    fn check<F: Binary>(name: &str, exact: fn(f64, f64) -> f64) {
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963);
            u32::try_from(state >> 32).expect("32 bits are left")
        };
        for turn in 0..200_000u32 {
            let (mut a, mut b) = (f32::from_bits(next()), f32::from_bits(next()));
            if turn % 2 == 0 {
                // Numbers near one as well.
                a = f32::from_bits((a.to_bits() & 0x807f_ffff) | (next() % 9 + 123) << 23);
                b = f32::from_bits((b.to_bits() & 0x807f_ffff) | (next() % 9 + 123) << 23);
            }
            let far = distance(
                rounded(F::of(f64::from(a), f64::from(b))),
                exact(f64::from(a), f64::from(b)),
            );
            assert!(far <= BOUND, "{name}({a:e}, {b:e}) is {far} ulp away");
        }
    }
    check::<math::Pow>("pow", f64::powf);
    check::<math::Atan2>("atan2", f64::atan2);
    check::<math::Hypot>("hypot", f64::hypot);
}
