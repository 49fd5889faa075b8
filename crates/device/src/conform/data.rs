//! Values of the cases: made from a seed, with the awkward ones in them.

use arrayloom_types::{DType, Kind, Scalar};
use std::cell::Cell;

thread_local! {
    static SEED: Cell<u64> = const { Cell::new(0) };
}

/// Other values in all cases that this thread makes from now on.
pub(super) fn set_seed(seed: u64) {
    SEED.set(seed);
}

/// A stream of numbers from a seed.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Rng {
        let seed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66;
        Rng(seed ^ SEED.get().wrapping_mul(0xD1B5_4A32_D192_ED03))
    }

    /// 64 random bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "random bits")]
        let bits = self.bits() as usize;
        (bits >> 16) % n.max(1)
    }

    /// A number from -1 to 1.
    fn unit(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let whole = (self.bits() >> 11) as f64;
        whole / f64::from(1u32 << 26) / f64::from(1u32 << 26) - 1.0
    }
}

/// What kind of values a case needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// Everything the dtype has: NaN, infinities, zeros of both signs, extremes.
    Any,
    /// Moderate numbers only.
    Tame,
    /// Few different values, some NaN: for ties.
    Few,
    /// Whole numbers from `low` to `high`.
    Whole(i64, i64),
    /// Numbers of a size up to four, some of them whole: exponents that leave a complex power a direction.
    Exponent,
    /// Floats that a conversion to this integer dtype is defined for.
    Within(DType),
}

const SPECIAL: [f64; 18] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    3.0,
    1e-3,
    1e4,
    -7.0,
    1e-7,
    12345.678,
];

/// `count` values one after another, as their bytes.
pub(super) fn fill(dtype: DType, count: usize, seed: u64, values: Values) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut bytes = Vec::with_capacity(count * dtype.size());
    for _ in 0..count {
        bytes.extend_from_slice(element(dtype, &mut rng, values).as_bytes());
    }
    bytes
}

/// One value.
pub(super) fn element(dtype: DType, rng: &mut Rng, values: Values) -> Scalar {
    match dtype.kind() {
        Kind::Bool => Scalar::from_bytes(dtype, &[u8::from(rng.below(2) == 1)]),
        Kind::Signed | Kind::Unsigned => integer(dtype, rng, values),
        Kind::Float => float(dtype, rng, values),
        Kind::Complex => {
            let part = dtype.real();
            let (re, im) = (float(part, rng, values), float(part, rng, values));
            let both = [re.as_bytes(), im.as_bytes()].concat();
            Scalar::from_bytes(dtype, &both)
        }
    }
}

fn whole(rng: &mut Rng, low: i64, high: i64) -> i64 {
    let span = usize::try_from(high - low + 1).unwrap_or(1);
    low + i64::try_from(rng.below(span)).unwrap_or(0)
}

fn integer(dtype: DType, rng: &mut Rng, values: Values) -> Scalar {
    let bits = rng.bits();
    let top = 8 * dtype.size() - 1;
    let value = match values {
        Values::Whole(low, high) => whole(rng, low, high).cast_unsigned(),
        Values::Few => bits % 3,
        Values::Tame => bits % 100,
        Values::Exponent => bits % 5,
        _ => match rng.below(12) {
            0 => 0,
            1 => 1,
            2 => u64::MAX,
            3 => 1 << top,
            4 => (1 << top) - 1,
            5 => bits % 8,
            _ => bits >> rng.below(64),
        },
    };
    Scalar::from_bytes(dtype, &value.to_le_bytes())
}

fn float(dtype: DType, rng: &mut Rng, values: Values) -> Scalar {
    #[expect(
        clippy::cast_precision_loss,
        reason = "the numbers are small or rounded on purpose"
    )]
    let number = match values {
        Values::Whole(low, high) => whole(rng, low, high) as f64,
        Values::Few => [1.0, -0.0, 2.0, f64::NAN, 0.0, -1.0][rng.below(24).min(5)],
        Values::Exponent if rng.below(3) == 0 => whole(rng, -4, 4) as f64,
        Values::Exponent => 4.0 * rng.unit(),
        Values::Within(to) => within(to, rng),
        Values::Any if rng.below(16) == 0 => return edge(dtype, rng),
        Values::Any if rng.below(3) == 0 => SPECIAL[rng.below(SPECIAL.len())],
        _ => tame(rng),
    };
    Scalar::from_f64(dtype, number)
}

/// A number of a size between 2^-8 and 2^8.
fn tame(rng: &mut Rng) -> f64 {
    let scale = i32::try_from(rng.below(16)).unwrap_or(0) - 8;
    rng.unit() * f64::from(scale).exp2()
}

/// A finite number in the range of an integer dtype; a few beyond it where they wrap.
fn within(to: DType, rng: &mut Rng) -> f64 {
    let bits = i32::try_from(8 * to.size()).unwrap_or(0) - i32::from(to.kind() == Kind::Signed);
    let limit = f64::from(bits.min(62)).exp2() - 1.0;
    let number = match rng.below(4) {
        0 => SPECIAL[rng.below(4)],
        1 => rng.unit() * limit,
        _ => rng.unit() * limit.min(300.0),
    };
    if to.kind() == Kind::Unsigned {
        number.abs()
    } else {
        number
    }
}

/// The largest, the smallest normal and the smallest number of a float dtype, of both signs.
fn edge(dtype: DType, rng: &mut Rng) -> Scalar {
    let (exponent_low, size): (u32, u32) = match dtype {
        DType::F16 => (10, 16),
        DType::F32 => (23, 32),
        _ => (52, 64),
    };
    let infinity = ((1u64 << (size - 1 - exponent_low)) - 1) << exponent_low;
    let magnitude = match rng.below(3) {
        0 => infinity - 1,
        1 => 1 << exponent_low,
        _ => 1,
    };
    let sign = u64::from(rng.below(2) == 1) << (size - 1);
    Scalar::from_bytes(dtype, &(magnitude | sign).to_le_bytes())
}
