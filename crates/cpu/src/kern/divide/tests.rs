//! Divisions against the plain loops.

use super::long::SMALL;
use super::*;
use crate::kern::integer;

const LEVELS: [Isa; 3] = [Isa::Baseline, Isa::Avx2, Isa::Avx512];

fn run<T: Copy + Default>(kern: Kern, a: &[T], b: &[T]) -> (Vec<T>, u8) {
    let mut out = vec![T::default(); a.len()];
    let (a, b) = (a.as_ptr().cast(), b.as_ptr().cast());
    let to = out.as_mut_ptr().cast();
    // SAFETY: the slices hold that many elements, or one where the kernel reads one.
    let flags = unsafe { kern(a, b, std::ptr::null(), to, out.len()) };
    (out, flags)
}

/// Every form of one division, with the plain loop's numbers and conditions.
fn check_one<T>((prim, dtype, isa): (Prim, DType, Isa), a: &[T], d: T)
where
    T: Copy + Default + PartialEq + std::fmt::Debug,
{
    let all = vec![d; a.len()];
    let expected = run(integer::find(prim, dtype).unwrap(), a, &all);
    let by_one = find(prim, dtype, isa, Splat::B).unwrap();
    assert_eq!(run(by_one, a, &[d]), expected, "{prim:?} {isa:?} by {d:?}");
    if let Some(tiles) = find(prim, dtype, isa, Splat::No) {
        assert_eq!(run(tiles, a, &all), expected, "{prim:?} {isa:?} {d:?}");
    }
}

fn check<T>(dtype: DType, a: &[T], divisors: &[T])
where
    T: Copy + Default + PartialEq + std::fmt::Debug,
{
    for isa in LEVELS.into_iter().filter(|&isa| isa <= Isa::detect()) {
        for &d in divisors {
            check_one((Prim::FloorDiv, dtype, isa), a, d);
            check_one((Prim::Rem, dtype, isa), a, d);
        }
    }
}

#[test]
fn all_bytes() {
    let signed: Vec<i8> = (i8::MIN..=i8::MAX).collect();
    check(DType::I8, &signed, &signed);
    let unsigned: Vec<u8> = (0..=u8::MAX).collect();
    check(DType::U8, &unsigned, &unsigned);
}

#[test]
fn all_short_integers() {
    let signed: Vec<i16> = (i16::MIN..=i16::MAX).collect();
    check(
        DType::I16,
        &signed,
        &[0, 1, -1, 2, 3, -3, 7, 255, 1000, -32767, i16::MAX, i16::MIN],
    );
    let unsigned: Vec<u16> = (0..=u16::MAX).collect();
    check(
        DType::U16,
        &unsigned,
        &[0, 1, 2, 3, 7, 255, 1000, 32767, 65534, u16::MAX],
    );
}

/// Numbers around multiples of the divisor, where a rounded quotient would go wrong.
macro_rules! near_multiples {
    ($t:ty, $d:expr) => {{
        let d: $t = $d;
        let edges = [
            <$t>::MIN,
            <$t>::MAX,
            0,
            1,
            <$t>::MAX / 2,
            <$t>::MAX / 3,
            12345,
        ];
        let near = edges.iter().flat_map(|&e| {
            let multiple = if d == 0 {
                e
            } else {
                (e.wrapping_div(d)).wrapping_mul(d)
            };
            [
                e,
                multiple,
                multiple.wrapping_sub(1),
                multiple.wrapping_add(1),
            ]
        });
        near.collect::<Vec<$t>>()
    }};
}

#[test]
fn longer_integers_near_multiples() {
    for d in [
        0,
        1,
        -1,
        2,
        3,
        -3,
        5,
        10,
        641,
        65537,
        -65536,
        i32::MAX,
        i32::MIN,
        i32::MAX - 1,
    ] {
        check(DType::I32, &near_multiples!(i32, d), &[d]);
    }
    for d in [
        0,
        1,
        2,
        3,
        5,
        10,
        641,
        65537,
        1 << 31,
        u32::MAX,
        u32::MAX - 1,
    ] {
        check(DType::U32, &near_multiples!(u32, d), &[d]);
    }
    for d in [
        0,
        1,
        -1,
        2,
        3,
        -3,
        5,
        10,
        641,
        1 << 40,
        i64::MAX,
        i64::MIN,
        6_700_417,
    ] {
        check(DType::I64, &near_multiples!(i64, d), &[d]);
    }
    for d in [
        0,
        1,
        2,
        3,
        5,
        10,
        641,
        1 << 40,
        1 << 63,
        u64::MAX,
        u64::MAX - 1,
        6_700_417,
    ] {
        check(DType::U64, &near_multiples!(u64, d), &[d]);
    }
}

#[test]
fn small_numbers_near_multiples() {
    let limit = 1i64 << SMALL;
    for d in [1, 2, 3, 5, 7, 10, 641, 6_700_417, 1 << 40, limit - 1, limit] {
        let most = limit / d;
        let quotients = [0, 1, 2, most / 3, most / 2, most - 1, most];
        let near = quotients.iter().flat_map(|q| [q * d - 1, q * d, q * d + 1]);
        let both = near.flat_map(|x| [x, -x]);
        let within: Vec<i64> = both.filter(|x| (-limit..limit).contains(x)).collect();
        check(DType::I64, &within, &[d]);
        let unsigned: Vec<u64> = within.iter().filter_map(|&x| x.try_into().ok()).collect();
        check(DType::U64, &unsigned, &[d.unsigned_abs()]);
    }
    check(DType::I64, &[limit, 5, -limit, -limit - 1], &[7, -7, limit]);
}
