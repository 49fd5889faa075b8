//! Functions of the C library that Rust's standard library does not pass on: complex functions and the
//! inverse hyperbolic ones. NumPy calls the same.

use num_complex::Complex;

/// C's `double complex` and `float complex`: passed as a structure of two parts by the calling
/// conventions of x86-64 and arm64.
#[derive(Clone, Copy)]
#[repr(C)]
struct Pair<T> {
    re: T,
    im: T,
}

/// The functions for one type of real.
pub(super) trait CLib: Sized {
    fn asinh_c(self) -> Self;
    fn acosh_c(self) -> Self;
    fn atanh_c(self) -> Self;
    fn sqrt_c(z: Complex<Self>) -> Complex<Self>;
    fn exp_c(z: Complex<Self>) -> Complex<Self>;
    fn log_c(z: Complex<Self>) -> Complex<Self>;
    fn sin_c(z: Complex<Self>) -> Complex<Self>;
    fn cos_c(z: Complex<Self>) -> Complex<Self>;
    fn tan_c(z: Complex<Self>) -> Complex<Self>;
    fn asin_c(z: Complex<Self>) -> Complex<Self>;
    fn acos_c(z: Complex<Self>) -> Complex<Self>;
    fn atan_c(z: Complex<Self>) -> Complex<Self>;
    fn sinh_c(z: Complex<Self>) -> Complex<Self>;
    fn cosh_c(z: Complex<Self>) -> Complex<Self>;
    fn tanh_c(z: Complex<Self>) -> Complex<Self>;
    fn asinh_z(z: Complex<Self>) -> Complex<Self>;
    fn acosh_z(z: Complex<Self>) -> Complex<Self>;
    fn atanh_z(z: Complex<Self>) -> Complex<Self>;
    fn pow_c(z: Complex<Self>, w: Complex<Self>) -> Complex<Self>;
}

macro_rules! clib {
    ($t:ty, $real:ident, $pairs:ident, $pow:ident, [$($r:ident = $rc:ident)*], [$($f:ident = $c:ident)*],) => {
        mod $real {
            #[link(name = "m")]
            unsafe extern "C" {
                $(pub(super) safe fn $rc(x: $t) -> $t;)*
            }
        }
        mod $pairs {
            use super::Pair;
            #[link(name = "m")]
            unsafe extern "C" {
                $(pub(super) safe fn $c(z: Pair<$t>) -> Pair<$t>;)*
                pub(super) safe fn $pow(z: Pair<$t>, w: Pair<$t>) -> Pair<$t>;
            }
        }
        impl CLib for $t {
            $(fn $r(self) -> $t { $real::$rc(self) })*
            $(fn $f(z: Complex<$t>) -> Complex<$t> {
                let w = $pairs::$c(Pair { re: z.re, im: z.im });
                Complex::new(w.re, w.im)
            })*
            fn pow_c(z: Complex<$t>, w: Complex<$t>) -> Complex<$t> {
                let pair = |z: Complex<$t>| Pair { re: z.re, im: z.im };
                let power = $pairs::$pow(pair(z), pair(w));
                Complex::new(power.re, power.im)
            }
        }
    };
}

clib!(f64, double, doubles, cpow,
    [asinh_c = asinh acosh_c = acosh atanh_c = atanh],
    [sqrt_c = csqrt exp_c = cexp log_c = clog sin_c = csin cos_c = ccos tan_c = ctan
     asin_c = casin acos_c = cacos atan_c = catan sinh_c = csinh cosh_c = ccosh tanh_c = ctanh
     asinh_z = casinh acosh_z = cacosh atanh_z = catanh],);
clib!(f32, single, singles, cpowf,
    [asinh_c = asinhf acosh_c = acoshf atanh_c = atanhf],
    [sqrt_c = csqrtf exp_c = cexpf log_c = clogf sin_c = csinf cos_c = ccosf tan_c = ctanf
     asin_c = casinf acos_c = cacosf atan_c = catanf sinh_c = csinhf cosh_c = ccoshf tanh_c = ctanhf
     asinh_z = casinhf acosh_z = cacoshf atanh_z = catanhf],);
