//! Sums of neighbours along a line of whole numbers, each made from the one before: with the number that enters, and
//! without the one that leaves. These differences are added up within a vector, by steps of one, two, four and eight
//! lanes, so a turn gives as many sums as a vector has lanes, however long windows are.
#![expect(unsafe_code, reason = "vector instructions")]

use crate::Isa;
use crate::wide::isa;

/// The sums of all windows of `n` neighbours of `line`; where they do not fit, they go around.
///
/// # Panics
/// Unless windows have elements, and `out` has one for each window.
pub fn running_sums(line: &[i32], n: usize, out: &mut [i32]) {
    assert!(
        n > 0 && out.len() + n == line.len() + 1,
        "{} sums of {n} neighbours of {}",
        out.len(),
        line.len()
    );
    let Some((first, rest)) = out.split_first_mut() else {
        return;
    };
    *first = line[..n].iter().fold(0, |sum, &v| sum.wrapping_add(v));
    let moves = Moves {
        enter: &line[n..],
        leave: &line[..rest.len()],
    };
    let (sum, done) = match isa() {
        // SAFETY: these features were detected.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512(*first, &moves, rest) },
        // SAFETY: these features were detected.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { avx2(*first, &moves, rest) },
        _ => (*first, 0),
    };
    moves.one_by_one(sum, done, rest);
}

/// The numbers that enter and leave windows, one after the other.
struct Moves<'a> {
    enter: &'a [i32],
    leave: &'a [i32],
}

impl Moves<'_> {
    /// The sums from number `done` on, behind `sum`.
    fn one_by_one(&self, mut sum: i32, done: usize, out: &mut [i32]) {
        let moves = self.enter[done..].iter().zip(&self.leave[done..]);
        for (out, (&more, &less)) in out[done..].iter_mut().zip(moves) {
            sum = sum.wrapping_add(more.wrapping_sub(less));
            *out = sum;
        }
    }
}

/// Whole vectors of sums behind `first`; the last sum, and how many there are.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512(first: i32, moves: &Moves<'_>, out: &mut [i32]) -> (i32, usize) {
    use std::arch::x86_64::{
        _mm512_add_epi32, _mm512_alignr_epi32, _mm512_loadu_si512, _mm512_permutexvar_epi32,
        _mm512_set1_epi32, _mm512_setzero_si512, _mm512_storeu_si512, _mm512_sub_epi32,
    };
    let (nothing, last) = (_mm512_setzero_si512(), _mm512_set1_epi32(15));
    let mut sum = _mm512_set1_epi32(first);
    let outs = out.as_chunks_mut::<16>().0;
    let (enter, leave) = (moves.enter.as_chunks::<16>().0, moves.leave.as_chunks().0);
    for ((out, more), less) in outs.iter_mut().zip(enter).zip(leave) {
        let less: &[i32; 16] = less;
        // SAFETY: both are 16 numbers; they need no alignment.
        let more = unsafe { _mm512_loadu_si512(more.as_ptr().cast()) };
        // SAFETY: as above.
        let less = unsafe { _mm512_loadu_si512(less.as_ptr().cast()) };
        let mut all = _mm512_sub_epi32(more, less);
        all = _mm512_add_epi32(all, _mm512_alignr_epi32::<15>(all, nothing));
        all = _mm512_add_epi32(all, _mm512_alignr_epi32::<14>(all, nothing));
        all = _mm512_add_epi32(all, _mm512_alignr_epi32::<12>(all, nothing));
        all = _mm512_add_epi32(all, _mm512_alignr_epi32::<8>(all, nothing));
        all = _mm512_add_epi32(all, sum);
        // SAFETY: as above.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), all) };
        sum = _mm512_permutexvar_epi32(last, all);
    }
    (outs.last().map_or(first, |sums| sums[15]), 16 * outs.len())
}

/// The same in vectors of eight.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(first: i32, moves: &Moves<'_>, out: &mut [i32]) -> (i32, usize) {
    use std::arch::x86_64::{
        _mm256_add_epi32, _mm256_blend_epi32, _mm256_loadu_si256, _mm256_permutevar8x32_epi32,
        _mm256_set1_epi32, _mm256_setzero_si256, _mm256_slli_si256, _mm256_storeu_si256,
        _mm256_sub_epi32,
    };
    let (middle, last) = (_mm256_set1_epi32(3), _mm256_set1_epi32(7));
    let mut sum = _mm256_set1_epi32(first);
    let outs = out.as_chunks_mut::<8>().0;
    let (enter, leave) = (moves.enter.as_chunks::<8>().0, moves.leave.as_chunks().0);
    for ((out, more), less) in outs.iter_mut().zip(enter).zip(leave) {
        let less: &[i32; 8] = less;
        // SAFETY: both are 8 numbers; they need no alignment.
        let more = unsafe { _mm256_loadu_si256(more.as_ptr().cast()) };
        // SAFETY: as above.
        let less = unsafe { _mm256_loadu_si256(less.as_ptr().cast()) };
        let mut all = _mm256_sub_epi32(more, less);
        // Lanes are shifted within halves; the sum of the lower half is added to the upper one.
        all = _mm256_add_epi32(all, _mm256_slli_si256::<4>(all));
        all = _mm256_add_epi32(all, _mm256_slli_si256::<8>(all));
        let lower = _mm256_permutevar8x32_epi32(all, middle);
        let lower = _mm256_blend_epi32::<0xf0>(_mm256_setzero_si256(), lower);
        all = _mm256_add_epi32(all, lower);
        all = _mm256_add_epi32(all, sum);
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), all) };
        sum = _mm256_permutevar8x32_epi32(all, last);
    }
    (outs.last().map_or(first, |sums| sums[7]), 8 * outs.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(len: usize) -> Vec<i32> {
        let number = |i: usize| i32::try_from(i * 7919 % 100_003).unwrap_or(0);
        // Now and then one that makes sums go around.
        let far = |i: usize| if i % 37 == 5 { i32::MAX } else { 0 };
        (0..len).map(|i| number(i).wrapping_sub(far(i))).collect()
    }

    fn windows(line: &[i32], n: usize) -> Vec<i32> {
        let sum = |window: &[i32]| window.iter().fold(0i32, |sum, &v| sum.wrapping_add(v));
        line.windows(n).map(sum).collect()
    }

    #[test]
    fn sums_are_those_of_all_windows() {
        for n in [1, 2, 3, 8, 16, 31, 200] {
            for len in (0..40).chain([64, 65, 333]).map(|more| n - 1 + more) {
                let line = line(len);
                let mut out = vec![7; len + 1 - n];
                running_sums(&line, n, &mut out);
                assert_eq!(out, windows(&line, n), "{n} of {len}");
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn every_instruction_set_gives_them() {
        let (n, line) = (5, line(100));
        let wanted = windows(&line, n);
        let moves = Moves {
            enter: &line[n..],
            leave: &line[..line.len() - n],
        };
        let check = |(sum, done): (i32, usize), mut out: Vec<i32>| {
            moves.one_by_one(sum, done, &mut out);
            assert_eq!(out, wanted[1..]);
        };
        check((wanted[0], 0), vec![0; wanted.len() - 1]);
        let mut out = vec![0; wanted.len() - 1];
        if isa() >= Isa::Avx2 {
            // SAFETY: the features were detected.
            check(unsafe { avx2(wanted[0], &moves, &mut out) }, out.clone());
        }
        if isa() >= Isa::Avx512 {
            // SAFETY: the features were detected.
            check(unsafe { avx512(wanted[0], &moves, &mut out) }, out.clone());
        }
    }

    #[test]
    #[should_panic(expected = "3 sums of 2 neighbours of 3")]
    fn a_sum_for_each_window_is_wanted() {
        running_sums(&[1, 2, 3], 2, &mut [0; 3]);
    }
}
