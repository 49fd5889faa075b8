//! The loops written by hand. Results do not pass through the caches when they are large.

#![expect(
    unsafe_code,
    reason = "instructions that the compiler does not choose by itself"
)]
#![expect(
    clippy::inline_always,
    reason = "compiled inside the versions for each processor"
)]

/// Outputs of more elements go around the caches.
const LARGE: usize = 2 << 20;

/// Compiles a loop for AVX-512 too, and calls the version that the processor has.
macro_rules! versions {
    ($name:ident, $body:ident, ($($arg:ident: $ty:ty),*) -> $result:ty) => {
        pub(crate) fn $name($($arg: $ty),*) -> $result {
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
            fn wide($($arg: $ty),*) -> $result {
                $body($($arg),*)
            }
            if is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw") {
                // SAFETY: the processor has the instructions.
                return unsafe { wide($($arg),*) };
            }
            $body($($arg),*)
        }
    };
}

versions!(heat, heat_body, (rows: usize, a: &[f64], out: &mut [f64]) -> f64);
versions!(half_step, half_step_body,
    (rows: usize, ins: &[Vec<f64>; 3], outs: [&mut [f64]; 3]) -> ());
versions!(jacobi, jacobi_body, (side: usize, a: &[f64], out: &mut [f64]) -> ());
versions!(life, life_body, (rows: usize, a: &[u8], out: &mut [u8]) -> ());

/// Accumulators of a sum.
const LANES: usize = 32;

#[inline(always)]
fn heat_body(rows: usize, a: &[f64], out: &mut [f64]) -> f64 {
    let wide = rows + 2;
    let mut sums = [0.0; LANES];
    let mut ring = vec![0.0; rows];
    let large = out.len() > LARGE;
    for (row, out) in out.chunks_exact_mut(rows).enumerate() {
        let here = &a[(row + 1) * wide..(row + 2) * wide];
        let north = &a[row * wide + 1..][..rows];
        let south = &a[(row + 2) * wide + 1..][..rows];
        let (west, center, east) = (&here[..rows], &here[1..][..rows], &here[2..][..rows]);
        let to: &mut [f64] = if large { &mut ring } else { &mut *out };
        let whole = rows - rows % LANES;
        for at in (0..whole).step_by(LANES) {
            for (lane, sum) in sums.iter_mut().enumerate() {
                let j = at + lane;
                let new = 0.2 * (center[j] + north[j] + south[j] + east[j] + west[j]);
                to[j] = new;
                *sum += (new - center[j]).abs();
            }
        }
        for j in whole..rows {
            let new = 0.2 * (center[j] + north[j] + south[j] + east[j] + west[j]);
            to[j] = new;
            sums[0] += (new - center[j]).abs();
        }
        if large {
            stream(&ring, out);
        }
    }
    sums.iter().sum()
}

#[inline(always)]
fn half_step_body(rows: usize, ins: &[Vec<f64>; 3], outs: [&mut [f64]; 3]) {
    let wide = rows + 2;
    let [out_h, out_u, out_v] = outs;
    let large = out_h.len() > LARGE;
    let mut rings = [vec![0.0; rows], vec![0.0; rows], vec![0.0; rows]];
    for row in 0..rows {
        let line = |array: usize, next: usize| &ins[array][(row + next) * wide + 1..][..rows];
        let (h0, h1, u0, u1) = (line(0, 0), line(0, 1), line(1, 0), line(1, 1));
        let (v0, v1) = (line(2, 0), line(2, 1));
        let place = row * rows..(row + 1) * rows;
        let (o_h, o_u, o_v) = (
            &mut out_h[place.clone()],
            &mut out_u[place.clone()],
            &mut out_v[place],
        );
        let [ring_h, ring_u, ring_v] = &mut rings;
        let (t_h, t_u, t_v) = if large {
            (&mut ring_h[..], &mut ring_u[..], &mut ring_v[..])
        } else {
            (&mut *o_h, &mut *o_u, &mut *o_v)
        };
        let (t_h, t_u, t_v) = (&mut t_h[..rows], &mut t_u[..rows], &mut t_v[..rows]);
        for j in 0..rows {
            let flux = |h: f64, u: f64| u * u / h + 4.9 * (h * h);
            t_h[j] = (h1[j] + h0[j]) * 0.5 - 0.01 * (u1[j] - u0[j]);
            t_u[j] = (u1[j] + u0[j]) * 0.5 - 0.01 * (flux(h1[j], u1[j]) - flux(h0[j], u0[j]));
            t_v[j] = (v1[j] + v0[j]) * 0.5 - 0.01 * (u1[j] * v1[j] / h1[j] - u0[j] * v0[j] / h0[j]);
        }
        if large {
            stream(ring_h, o_h);
            stream(ring_u, o_u);
            stream(ring_v, o_v);
        }
    }
}

/// The mean of every inner point of a cube and its six neighbours.
#[inline(always)]
fn jacobi_body(side: usize, a: &[f64], out: &mut [f64]) {
    let wide = side + 2;
    let large = out.len() > LARGE;
    let mut ring = vec![0.0; side];
    for (number, out) in out.chunks_exact_mut(side).enumerate() {
        let (plane, row) = (number / side + 1, number % side + 1);
        let line = |plane: usize, row: usize, column: usize| {
            &a[(plane * wide + row) * wide + column..][..side]
        };
        let center = line(plane, row, 1);
        let (above, below) = (line(plane - 1, row, 1), line(plane + 1, row, 1));
        let (north, south) = (line(plane, row - 1, 1), line(plane, row + 1, 1));
        let (west, east) = (line(plane, row, 0), line(plane, row, 2));
        let to: &mut [f64] = if large { &mut ring } else { &mut *out };
        let to = &mut to[..side];
        for j in 0..side {
            let sum = center[j] + above[j] + below[j] + north[j] + south[j] + west[j] + east[j];
            to[j] = sum * (1.0 / 7.0);
        }
        if large {
            stream(&ring, out);
        }
    }
}

/// One generation of Conway's life.
#[inline(always)]
fn life_body(rows: usize, a: &[u8], out: &mut [u8]) {
    let wide = rows + 2;
    for (row, out) in out.chunks_exact_mut(rows).enumerate() {
        let line = |down: usize, right: usize| &a[(row + down) * wide + right..][..rows];
        let (north, here, south) = (
            [line(0, 0), line(0, 1), line(0, 2)],
            [line(1, 0), line(1, 1), line(1, 2)],
            [line(2, 0), line(2, 1), line(2, 2)],
        );
        for j in 0..rows {
            let count = north[0][j] + north[1][j] + north[2][j] + here[0][j] + here[2][j];
            let count = count + south[0][j] + south[1][j] + south[2][j];
            out[j] = u8::from(count == 3) | (u8::from(count == 2) & u8::from(here[1][j] == 1));
        }
    }
}

/// Copies around the caches.
#[inline(always)]
fn stream(from: &[f64], to: &mut [f64]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    let head = to.as_ptr().align_offset(16).min(to.len());
    to[..head].copy_from_slice(&from[..head]);
    let pairs = (to.len() - head) / 2;
    for (to, from) in to[head..]
        .chunks_exact_mut(2)
        .zip(from[head..].chunks_exact(2))
    {
        let (from, to): (*const __m128i, *mut __m128i) =
            (from.as_ptr().cast(), to.as_mut_ptr().cast());
        // SAFETY: two live elements.
        let pair = unsafe { _mm_loadu_si128(from) };
        // SAFETY: two live elements, aligned after the head.
        unsafe { _mm_stream_si128(to, pair) };
    }
    let rest = head + 2 * pairs;
    to[rest..].copy_from_slice(&from[rest..]);
    // SAFETY: every processor of this architecture has the instruction.
    unsafe { _mm_sfence() };
}
