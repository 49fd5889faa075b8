//! The closed set of scalar primitives.
//!
//! A primitive works on values of one dtype unless its comment says otherwise, and means exactly what
//! NumPy's inner loop of that dtype does: integers wrap, `float16` is computed in `float32` and rounded
//! after every primitive, complex numbers follow NumPy's formulas, bool is 0 or 1. Casts are explicit.

/// Number of operands of a primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// Reads the launch, not other values: `Input`, `Const`, `Iota`.
    Leaf,
    /// One operand.
    Unary,
    /// Two operands.
    Binary,
    /// Three operands: `Select`.
    Ternary,
}

macro_rules! prims {
    ($($(#[$doc:meta])* $name:ident $arity:ident,)*) => {
        /// A scalar primitive. The result dtype stands in the instruction; the operand dtype is that
        /// of the operands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Prim { $($(#[$doc])* $name,)* }

        /// All primitives in the order of their discriminants.
        pub const ALL_PRIMS: &[Prim] = &[$(Prim::$name,)*];

        impl Prim {
            /// How many operands it takes.
            pub const fn arity(self) -> Arity {
                match self { $(Prim::$name => Arity::$arity,)* }
            }
            /// Its name in printed kernels.
            pub const fn name(self) -> &'static str {
                match self { $(Prim::$name => stringify!($name),)* }
            }
        }
    };
}

prims! {
    /// The element of input number `a` of the launch at this point.
    Input Leaf,
    /// A constant: `bits` holds the little-endian bytes (a complex constant is real).
    Const Leaf,
    /// The index of this point on axis `a`, as `i64`.
    Iota Leaf,

    /// The element of input number `b` of the launch that lies the operand (`i64`) in bytes away from the
    /// input's place at this point. Whoever launches the kernel vouches that it is there.
    Gather Unary,
    /// Conversion from the operand's dtype to the result's, as a C cast does on x86-64.
    Cast Unary,
    /// The real part (real result dtype).
    Real Unary,
    /// The imaginary part (real result dtype).
    Imag Unary,
    /// Complex conjugate; the value itself if real.
    Conj Unary,
    /// Arithmetic negation.
    Neg Unary,
    /// Absolute value; for complex the modulus (real result dtype): the larger part times
    /// `sqrt(fma(r, r, 1))`, where `r` is the smaller part divided by the larger.
    Abs Unary,
    /// Bitwise complement; logical for bool.
    Not Unary,
    /// -1, 0, 1 or NaN; for complex `z / |z|`.
    Sign Unary,
    /// Bit of the sign (bool result).
    SignBit Unary,
    /// Number of one bits of the absolute value (`u8` result).
    PopCount Unary,
    /// Square root.
    Sqrt Unary,
    /// Cube root.
    Cbrt Unary,
    /// `x * x`; complex as `Mul`.
    Square Unary,
    /// `1 / x`; integers truncate.
    Reciprocal Unary,
    /// To the nearest whole number, halves to even.
    Rint Unary,
    /// Largest whole number not above.
    Floor Unary,
    /// Smallest whole number not below.
    Ceil Unary,
    /// Whole part.
    Trunc Unary,
    /// e to the x.
    Exp Unary,
    /// 2 to the x.
    Exp2 Unary,
    /// e to the x, less one; complex: `expm1(re) cos(im) - 2 sin(im/2)^2` and `exp(re) sin(im)`.
    Expm1 Unary,
    /// Natural logarithm.
    Log Unary,
    /// Logarithm to base 2.
    Log2 Unary,
    /// Logarithm to base 10.
    Log10 Unary,
    /// Natural logarithm of one plus x; complex: of the modulus of `1 + z`, and its angle.
    Log1p Unary,
    /// Sine.
    Sin Unary,
    /// Cosine.
    Cos Unary,
    /// Tangent.
    Tan Unary,
    /// Inverse sine.
    Asin Unary,
    /// Inverse cosine.
    Acos Unary,
    /// Inverse tangent.
    Atan Unary,
    /// Hyperbolic sine.
    Sinh Unary,
    /// Hyperbolic cosine.
    Cosh Unary,
    /// Hyperbolic tangent.
    Tanh Unary,
    /// Inverse hyperbolic sine.
    Asinh Unary,
    /// Inverse hyperbolic cosine.
    Acosh Unary,
    /// Inverse hyperbolic tangent.
    Atanh Unary,
    /// Distance to the next number away from zero; for `float16` to the next larger number.
    Spacing Unary,
    /// Mantissa in [0.5, 1) as C `frexp`.
    FrexpMant Unary,
    /// Exponent as C `frexp` (`i32` result).
    FrexpExp Unary,
    /// Fractional part as C `modf`.
    ModfFrac Unary,
    /// Whole part as C `modf`.
    ModfInt Unary,
    /// True for NaN (bool result).
    IsNan Unary,
    /// True for an infinity (bool result).
    IsInf Unary,
    /// True for neither (bool result).
    IsFinite Unary,

    /// Sum; logical or for bool.
    Add Binary,
    /// Difference.
    Sub Binary,
    /// Product; logical and for bool. Complex: `fma(ar, br, -(ai*bi))` and `fma(ar, bi, ai*br)`.
    Mul Binary,
    /// Quotient of floats or complex numbers (Smith's formula, without `fma`).
    Div Binary,
    /// Quotient rounded down; NumPy's rules for zero and overflow.
    FloorDiv Binary,
    /// Remainder with the sign of the divisor.
    Rem Binary,
    /// Remainder with the sign of the dividend.
    Fmod Binary,
    /// Power. Integers: the exponent is not negative (checked before). Complex: exponents that are real
    /// whole numbers below 100 by products of single numbers, without `fma`. Floats: as one of many exponents, so minus
    /// infinity to the power of 0.5 is infinity; NumPy takes roots, squares and reciprocals for a single one.
    Pow Binary,
    /// Power of floats by the C library's function, one number at a time; NumPy's `power` may have a
    /// vectorised one with other last bits.
    FloatPow Binary,
    /// Smaller; NaN wins. Of equal operands, such as zeros of both signs, the second; of `float16` and complex
    /// numbers the first. So do the next three.
    Min Binary,
    /// Larger; NaN wins.
    Max Binary,
    /// Smaller; NaN loses.
    Fmin Binary,
    /// Larger; NaN loses.
    Fmax Binary,
    /// Bitwise and.
    And Binary,
    /// Bitwise or.
    Or Binary,
    /// Bitwise exclusive or.
    Xor Binary,
    /// Shift to the left; 0 when the count is not below the width.
    Shl Binary,
    /// Shift to the right with the sign; 0 or -1 when the count is not below the width.
    Shr Binary,
    /// Equal (bool result).
    Eq Binary,
    /// Not equal (bool result).
    Ne Binary,
    /// Less (bool result); complex numbers compare by real, then imaginary part.
    Lt Binary,
    /// Less or equal (bool result).
    Le Binary,
    /// Angle of the point (b, a).
    Atan2 Binary,
    /// Length of the vector (a, b).
    Hypot Binary,
    /// Magnitude of a with the sign of b.
    CopySign Binary,
    /// The next number from a towards b.
    NextAfter Binary,
    /// `a * 2^b`; b is `i32` or `i64`.
    Ldexp Binary,
    /// Greatest common divisor.
    Gcd Binary,
    /// Least common multiple.
    Lcm Binary,
    /// A complex number from real part a and imaginary part b.
    Complex Binary,
    /// Logarithm of the sum of exponentials.
    LogAddExp Binary,
    /// The same to base 2.
    LogAddExp2 Binary,

    /// `b` where the bool `a` is true, else `c`.
    Select Ternary,
}

impl Prim {
    /// True for the smaller and the larger of two.
    pub const fn is_extreme(self) -> bool {
        matches!(self, Prim::Min | Prim::Max | Prim::Fmin | Prim::Fmax)
    }

    /// True for functions that are infinite at one, where all others meet no condition.
    pub const fn has_pole_at_one(self) -> bool {
        matches!(self, Prim::Atanh)
    }

    /// True for primitives of about one machine instruction, which cost less than a trip to memory.
    pub const fn is_quick(self) -> bool {
        use Prim::{
            Abs, Add, And, Cast, Ceil, Conj, Const, CopySign, Div, Eq, Floor, Fmax, Fmin, Imag,
            Input, Iota, IsFinite, IsInf, IsNan, Le, Lt, Max, Min, Mul, Ne, Neg, Not, Or, Real,
            Reciprocal, Rint, Select, Shl, Shr, Sign, SignBit, Sqrt, Square, Sub, Trunc, Xor,
        };
        matches!(
            self,
            Abs | Add
                | And
                | Cast
                | Ceil
                | Conj
                | Const
                | CopySign
                | Div
                | Eq
                | Floor
                | Fmax
                | Fmin
                | Imag
                | Input
                | Iota
                | IsFinite
                | IsInf
                | IsNan
                | Le
                | Lt
                | Max
                | Min
                | Mul
                | Ne
                | Neg
                | Not
                | Or
                | Real
                | Reciprocal
                | Rint
                | Select
                | Shl
                | Shr
                | Sign
                | SignBit
                | Sqrt
                | Square
                | Sub
                | Trunc
                | Xor
        )
    }

    /// The primitive with this discriminant.
    pub fn from_index(index: u8) -> Option<Prim> {
        ALL_PRIMS.get(usize::from(index)).copied()
    }
}
