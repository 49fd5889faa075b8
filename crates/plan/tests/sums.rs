//! Sums random arrays in the planned order with a plain tree and compares the bits with NumPy's.
//!
//! The arrays and NumPy's results come from `golden/make.py`; the values are made again here.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::unwrap_used,
    reason = "a test: values are cast as NumPy casts them, and a broken file may panic"
)]

use arrayloom_plan::{
    DEFAULT_BUFSIZE, LANES, ReduceFacts, ReduceOrder, SumRules, reduce_order, reduce_strides,
    tree_split,
};
use half::f16;
use std::ops::Add;

/// A number that sums are made of.
trait Real: Copy + Add<Output = Self> {
    const NEGATIVE_ZERO: Self;
    const ZERO: Self;
    fn of(value: f64) -> Self;
    fn bytes(self) -> Vec<u8>;
    /// The value as the result array holds it.
    fn stored(self) -> Self {
        self
    }
}

impl Real for f32 {
    const NEGATIVE_ZERO: f32 = -0.0;
    const ZERO: f32 = 0.0;
    fn of(value: f64) -> f32 {
        value as f32
    }
    fn bytes(self) -> Vec<u8> {
        self.to_le_bytes().into()
    }
}

impl Real for f64 {
    const NEGATIVE_ZERO: f64 = -0.0;
    const ZERO: f64 = 0.0;
    fn of(value: f64) -> f64 {
        value
    }
    fn bytes(self) -> Vec<u8> {
        self.to_le_bytes().into()
    }
}

/// A `float16`, summed in `f32` and rounded when stored.
#[derive(Clone, Copy)]
struct Half(f32);

impl Add for Half {
    type Output = Half;
    fn add(self, other: Half) -> Half {
        Half(self.0 + other.0)
    }
}

impl Real for Half {
    const NEGATIVE_ZERO: Half = Half(-0.0);
    const ZERO: Half = Half(0.0);
    fn of(value: f64) -> Half {
        Half(f16::from_f64(value).to_f32())
    }
    fn bytes(self) -> Vec<u8> {
        f16::from_f32(self.0).to_le_bytes().into()
    }
    fn stored(self) -> Half {
        Half(f16::from_f32(self.0).to_f32())
    }
}

/// NumPy's tree over interleaved values of `P` parts.
fn tree<R: Real, const P: usize>(x: &[R]) -> [R; P] {
    if let Some(left) = tree_split(x.len()) {
        let (a, b) = (tree::<R, P>(&x[..left]), tree::<R, P>(&x[left..]));
        return std::array::from_fn(|p| a[p] + b[p]);
    }
    let mut sum = [R::NEGATIVE_ZERO; P];
    let mut tail = x;
    if x.len() >= LANES {
        let mut lanes: [R; LANES] = std::array::from_fn(|i| x[i]);
        let groups = x[LANES..].chunks_exact(LANES);
        tail = groups.remainder();
        for group in groups {
            lanes = std::array::from_fn(|i| lanes[i] + group[i]);
        }
        let r = |i: usize| lanes[i];
        sum = std::array::from_fn(|p| {
            if P == 1 {
                ((r(0) + r(1)) + (r(2) + r(3))) + ((r(4) + r(5)) + (r(6) + r(7)))
            } else {
                (r(p) + r(p + 2)) + (r(p + 4) + r(p + 6))
            }
        });
    }
    for value in tail.chunks_exact(P) {
        sum = std::array::from_fn(|p| sum[p] + value[p]);
    }
    sum
}

/// One line of the file.
struct Case {
    input: char,
    result: char,
    cast: bool,
    seed: u64,
    block: usize,
    offset: usize,
    shape: Vec<usize>,
    in_strides: Vec<isize>,
    reduced: u32,
    out_strides: Vec<isize>,
    given: bool,
    hash: u64,
}

fn numbers<T: std::str::FromStr<Err: std::fmt::Debug>>(word: &str) -> Vec<T> {
    word.split(',').map(|n| n.parse().unwrap()).collect()
}

impl Case {
    fn parse(line: &str) -> Case {
        let w: Vec<&str> = line.split(' ').collect();
        Case {
            input: w[0].chars().next().unwrap(),
            result: w[1].chars().next().unwrap(),
            cast: w[2] == "1",
            seed: w[3].parse().unwrap(),
            block: w[4].parse().unwrap(),
            offset: w[5].parse().unwrap(),
            shape: numbers(w[6]),
            in_strides: numbers(w[7]),
            reduced: w[8].parse().unwrap(),
            out_strides: numbers(w[9]),
            given: w[10] == "given",
            hash: u64::from_str_radix(w[11], 16).unwrap(),
        }
    }

    fn kept(&self, axis: usize) -> bool {
        self.reduced >> axis & 1 == 0
    }

    fn facts(&self, rules: SumRules) -> ReduceFacts<'_> {
        ReduceFacts {
            shape: &self.shape,
            in_strides: &self.in_strides,
            out_strides: &self.out_strides,
            reduced: self.reduced,
            cast: self.cast,
            bufsize: DEFAULT_BUFSIZE,
            rules,
        }
    }

    /// The values of the block, parts of complex numbers one after another.
    fn values(&self) -> Vec<f64> {
        let parts = 1 + usize::from(matches!(self.input, 'F' | 'D'));
        let start = self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (0..(self.block * parts) as u64)
            .map(|i| value(self.input, mix(start.wrapping_add(i))))
            .collect()
    }
}

fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// The value that `make.py` makes of hashed bits.
fn value(letter: char, x: u64) -> f64 {
    let (mantissa, low, exponents, size) = match letter {
        'i' => return f64::from((x >> 32) as u32 as i32),
        'e' => (10, 10, 7, 16),
        'f' | 'F' => (23, 120, 14, 32),
        _ => (52, 1016, 14, 64),
    };
    let bits = x & ((1 << mantissa) - 1) | (low + (x >> 52) % exponents) << mantissa;
    let bits = bits | (x >> 63) << (size - 1);
    match size {
        16 => f16::from_bits(bits as u16).to_f64(),
        32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

/// Sums in the planned order; the result in C order.
fn evaluate<R: Real, const P: usize>(case: &Case, order: &ReduceOrder) -> Vec<[R; P]> {
    let rank = case.shape.len();
    let item = match case.input {
        'e' => 2,
        'f' | 'i' => 4,
        'd' | 'F' => 8,
        _ => 16,
    };
    let values = case.values();
    let mut places = vec![0isize; rank];
    let mut length = 1;
    for axis in (0..rank).rev().filter(|&a| case.kept(a)) {
        places[axis] = length;
        length *= case.shape[axis] as isize;
    }
    let mut out = vec![[R::ZERO; P]; length as usize];
    let axes: Vec<usize> = order.axes.iter().map(|&a| usize::from(a)).collect();
    let (inner, outer) = axes.split_at(usize::from(order.stream));
    assert!(
        inner.iter().all(|&a| !case.kept(a)),
        "runs cover folded axes"
    );
    let walk = |axes: &[usize], steps: &[isize]| {
        let mut offsets = vec![0isize];
        for &axis in axes {
            let n = case.shape[axis] as isize;
            let all = (0..n).flat_map(|i| offsets.iter().map(move |o| o + i * steps[axis]));
            offsets = all.collect();
        }
        offsets
    };
    let run = walk(inner, &case.in_strides);
    let starts = walk(outer, &case.in_strides);
    let targets = walk(outer, &places);
    let mut gathered: Vec<R> = Vec::new();
    for (start, target) in starts.iter().zip(targets) {
        for piece in run.chunks(order.piece) {
            gathered.clear();
            for o in piece {
                let at = (case.offset as isize + (start + o) / item) as usize;
                gathered.extend((0..P).map(|p| R::of(values[at * P + p])));
            }
            let total = tree::<R, P>(&gathered);
            let place = &mut out[target as usize];
            *place = std::array::from_fn(|p| (place[p] + total[p]).stored());
        }
    }
    out
}

fn hash<R: Real, const P: usize>(values: &[[R; P]]) -> u64 {
    values
        .iter()
        .flatten()
        .flat_map(|v| v.bytes())
        .fold(0xCBF2_9CE4_8422_2325, |h, byte| {
            (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        })
}

const SINCE_2_3: &str = include_str!("golden/sums.txt");
const BEFORE_2_3: &str = include_str!("golden/sums_before_2_3.txt");

fn cases(file: &str) -> impl Iterator<Item = &str> {
    file.lines().filter(|l| !l.starts_with('#'))
}

fn compare(file: &str, rules: SumRules) {
    let mut failed = Vec::new();
    for line in cases(file) {
        let case = Case::parse(line);
        let order = reduce_order(&case.facts(rules));
        let found = match case.result {
            'e' => hash(&evaluate::<Half, 1>(&case, &order)),
            'f' => hash(&evaluate::<f32, 1>(&case, &order)),
            'd' => hash(&evaluate::<f64, 1>(&case, &order)),
            'F' => hash(&evaluate::<f32, 2>(&case, &order)),
            _ => hash(&evaluate::<f64, 2>(&case, &order)),
        };
        if found != case.hash {
            failed.push(format!("{line}\n    {order:?}"));
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {} differ:\n{}",
        failed.len(),
        cases(file).count(),
        failed.join("\n")
    );
}

#[test]
fn sums_have_the_bits_of_numpy_since_2_3() {
    assert!(cases(SINCE_2_3).count() >= 500);
    compare(SINCE_2_3, SumRules::Since2_3);
}

#[test]
fn sums_have_the_bits_of_numpy_before_2_3() {
    assert!(cases(BEFORE_2_3).count() >= 300);
    compare(BEFORE_2_3, SumRules::Before2_3);
}

#[test]
fn new_results_are_laid_out_as_numpy_does() {
    for line in cases(SINCE_2_3).chain(cases(BEFORE_2_3)) {
        let case = Case::parse(line);
        let size = match case.result {
            'e' => 2,
            'f' => 4,
            'd' | 'F' => 8,
            _ => 16,
        };
        let strides = reduce_strides(&case.shape, &case.in_strides, case.reduced, size);
        for (axis, &n) in case.shape.iter().enumerate() {
            if !case.given && n > 1 && case.kept(axis) {
                assert_eq!(strides[axis], case.out_strides[axis], "{line}");
            }
        }
    }
}
