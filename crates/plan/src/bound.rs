//! The least that any grid of blocks can read, in closed form.
//!
//! For real numbers of cuts the logarithm of the voxels read is convex in the logarithms of the edges of
//! a block. At the optimum edges are proportional to halos: `e = min(D, s * H)` with the product of all
//! edges equal to the memory. By the Brunn-Minkowski inequality no other shape of block reads less.

/// Voxels that any plan of independent blocks reads at least: axes of extents `shape` with halos `halo`,
/// and blocks that read at most `voxels` voxels each.
///
/// Infinite if no block fits. A rolling slab reads less: it keeps what the next block needs.
pub fn lower_bound(shape: &[i64], halo: &[i64], voxels: f64) -> f64 {
    let real = |v: i64| {
        #[expect(clippy::cast_precision_loss, reason = "extents are far below 2^53")]
        let real = v as f64;
        real
    };
    let free: f64 = shape
        .iter()
        .zip(halo)
        .filter(|&(_, &h)| h == 0)
        .map(|(&n, _)| real(n))
        .product();
    let axes: Vec<(f64, f64)> = shape
        .iter()
        .zip(halo)
        .filter(|&(_, &h)| h > 0)
        .map(|(&n, &h)| (real(n), real(h)))
        .collect();
    let all: f64 = axes.iter().map(|a| a.0).product();
    if all <= voxels {
        return free * all;
    }
    let edges = |s: f64| axes.iter().map(move |&(n, h)| n.min(s * h));
    let (mut low, mut high) = (1.0, axes.iter().map(|a| a.0 / a.1).fold(1.0, f64::max));
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        let fits = edges(middle).product::<f64>() <= voxels;
        (low, high) = if fits { (middle, high) } else { (low, middle) };
    }
    let read = axes.iter().zip(edges(low)).map(|(&(n, h), e)| {
        let cuts = if e >= n { 1.0 } else { (n - h) / (e - h) };
        cuts * e
    });
    if low <= 1.0 {
        f64::INFINITY
    } else {
        free * read.product::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_that_fit_are_read_once() {
        assert!((lower_bound(&[10, 20], &[2, 0], 200.0) - 200.0).abs() < 1e-9);
        assert!((lower_bound(&[10, 20], &[2, 0], 10.0) - 200.0).abs() < 1e-9);
    }

    #[test]
    fn one_axis_reads_what_its_cuts_repeat() {
        // Blocks of 12 with a halo of 2 advance by 10: (102 - 2) / 10 = 10 blocks of 12.
        assert!((lower_bound(&[102], &[2], 12.0) - 120.0).abs() < 1e-6);
    }
}
