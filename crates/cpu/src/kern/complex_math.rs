//! Elementary functions of complex numbers: those of `arrayloom-math` in a loop, and the C library for
//! the elements that are hard for them.

#![expect(
    clippy::needless_bitwise_bool,
    reason = "comparisons are computed without branches"
)]

use super::clib::CLib;
use super::math::Element;
use super::{Body, Kern, pick, tile, tile_mut};
use crate::{Isa, mxcsr};
use arrayloom_ir::Prim;
use arrayloom_math::{ComplexUnary, complex as easy};
use arrayloom_types::DType;
use num_complex::Complex;
use std::marker::PhantomData;

/// A function with its form in the C library.
trait Function<T> {
    type Easy: ComplexUnary;
    fn library(z: Complex<T>) -> Complex<T>;
}

macro_rules! functions {
    ($($name:ident |$z:ident| $library:expr;)*) => { $(
        struct $name;
        impl<T: Element + CLib> Function<T> for $name {
            type Easy = easy::$name;
            fn library($z: Complex<T>) -> Complex<T> { $library }
        }
    )* };
}

functions! {
    Exp |z| T::exp_c(z);
    Log |z| T::log_c(z);
    Log2 |z| scaled(T::log_c(z), std::f64::consts::LOG2_E);
    Log10 |z| scaled(T::log_c(z), std::f64::consts::LOG10_E);
    Sqrt |z| T::sqrt_c(z);
    Sin |z| T::sin_c(z);
    Cos |z| T::cos_c(z);
    Tan |z| T::tan_c(z);
    Sinh |z| T::sinh_c(z);
    Cosh |z| T::cosh_c(z);
    Tanh |z| T::tanh_c(z);
}

fn scaled<T: Element>(z: Complex<T>, by: f64) -> Complex<T> {
    Complex::new(T::rounded(z.re.wide() * by), T::rounded(z.im.wide() * by))
}

/// True for a part of a result that is no normal number; zero counts as one if the argument lies on an
/// axis.
#[inline(always)]
pub(super) fn is_odd<T: Element>(part: T, on_axis: bool) -> bool {
    let (size, (least, most)) = (part.wide().abs(), T::RANGE);
    !(((size >= least) & (size <= most)) | ((size == 0.0) & on_axis))
}

/// Elements done at a time.
pub(super) const CHUNK: usize = 64;

struct One<F, T>(PhantomData<(F, T)>);

impl<F: Function<T>, T: Element> Body for One<F, T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<Complex<T>>(a, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<Complex<T>>(out, n) };
        let mut met = 0;
        for (a, out) in a.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
            let (mut hard, mut any) = ([0; CHUNK], 0);
            for ((o, &z), hard) in out.iter_mut().zip(a).zip(&mut hard) {
                let (re, im) = (z.re.wide(), z.im.wide());
                let (x, y) = F::Easy::easy(re, im);
                *o = Complex::new(T::rounded(x), T::rounded(y));
                let on_axis = (re == 0.0) | (im == 0.0);
                let odd = is_odd(o.re, on_axis) | is_odd(o.im, on_axis);
                *hard = u64::from(odd | F::Easy::hard(re, im));
                any |= *hard;
            }
            if any != 0 {
                met |= ask_library::<F, T>(a, out, &hard);
            }
        }
        met
    }
}

/// Computes the elements that are `hard` with the C library. Conditions that both sides of choices met do
/// not count, those of the library do.
#[cold]
fn ask_library<F: Function<T>, T: Element>(
    a: &[Complex<T>],
    out: &mut [Complex<T>],
    hard: &[u64; CHUNK],
) -> u8 {
    mxcsr::take();
    for ((o, &z), _) in out
        .iter_mut()
        .zip(a)
        .zip(hard)
        .filter(|(_, hard)| **hard != 0)
    {
        *o = F::library(z);
    }
    mxcsr::join_x87();
    mxcsr::take()
}

fn typed<T: Element + CLib>(prim: Prim, isa: Isa) -> Option<Kern> {
    Some(match prim {
        Prim::Exp => pick::<One<Exp, T>>(isa),
        Prim::Log => pick::<One<Log, T>>(isa),
        Prim::Log2 => pick::<One<Log2, T>>(isa),
        Prim::Log10 => pick::<One<Log10, T>>(isa),
        Prim::Sqrt => pick::<One<Sqrt, T>>(isa),
        Prim::Sin => pick::<One<Sin, T>>(isa),
        Prim::Cos => pick::<One<Cos, T>>(isa),
        Prim::Tan => pick::<One<Tan, T>>(isa),
        Prim::Sinh => pick::<One<Sinh, T>>(isa),
        Prim::Cosh => pick::<One<Cosh, T>>(isa),
        Prim::Tanh => pick::<One<Tanh, T>>(isa),
        _ => return None,
    })
}

/// The kernel of a function of complex operands of type `dtype`.
pub(super) fn find(prim: Prim, dtype: DType, isa: Isa) -> Option<Kern> {
    match dtype {
        DType::C64 => typed::<f32>(prim, isa),
        DType::C128 => typed::<f64>(prim, isa),
        _ => None,
    }
}
