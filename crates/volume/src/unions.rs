//! What long windows are joined to, box by box: ends of keys, sums, sums of squares, means and variances.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors, several arrays at a time"
)]

use crate::boxes::Union;
use crate::fold::Real;
use crate::joined::Join;
use arrayloom_cpu::{Wide, wide};
use bytemuck::Pod;

/// An end of keys: the smallest or the greatest one.
pub(crate) struct Ends<J>(pub(crate) J);

impl<K: Pod, J: Join<K> + Sync> Union<K, 1> for Ends<J> {
    const OVERLAPS: bool = true;

    #[inline(always)]
    fn equal<const N: usize>(&self, [a]: [[K; N]; 1], [b]: [[K; N]; 1]) -> [[K; N]; 1] {
        [self.0.join(a, b)]
    }
}

/// Means along one axis after the other. Voxels are made smaller by the power of two that is not below the length of
/// the window before they are summed, so sums are no larger than they are; the quotient takes it back. That changes no
/// bit, but for the smallest numbers there are.
pub(crate) struct Means<W> {
    /// For each pass that power of two, inverted.
    scales: Vec<W>,
    /// What sums are divided by; nothing where windows are clipped, and what is there counts.
    points: Vec<Option<usize>>,
}

impl<W: Real> Means<W> {
    /// Over windows of so many points along each axis, which are clipped or not.
    pub(crate) fn new(axes: impl Iterator<Item = (usize, bool)>) -> Means<W> {
        let scale = |len: usize| W::of(1.0 / size(len.next_power_of_two()));
        let each = axes.map(|(len, clipped)| (scale(len), (!clipped).then_some(len)));
        let (scales, points) = each.unzip();
        Means { scales, points }
    }

    /// What a value is before pass `pass`.
    pub(crate) fn scaled(&self, pass: usize, value: W) -> W {
        value * self.scales[pass]
    }

    /// What voxels that pass `pass` reads are multiplied with: results of passes are made smaller before.
    pub(crate) fn lifted(&self, pass: usize) -> W {
        if pass == 0 {
            self.scales[0]
        } else {
            W::of(1.0)
        }
    }

    /// What sums of pass `pass` are divided by, of which `there` voxels along the axis exist, and what the quotient is
    /// multiplied with.
    pub(crate) fn quotient(&self, pass: usize, there: usize) -> [W; 2] {
        let points = self.points[pass].unwrap_or(there);
        let by = W::of(self.scales[pass].to_f64() * size(points));
        let next = self.scales.get(pass + 1).copied();
        [by, next.unwrap_or(W::of(1.0))]
    }
}

/// A number of voxels.
#[expect(clippy::cast_precision_loss, reason = "boxes have fewer voxels")]
fn size(voxels: usize) -> f64 {
    voxels as f64
}

/// All numbers of a row times one.
struct Scaled<'a, W>(&'a mut [W], W);

impl<W: Real> Wide for Scaled<'_, W> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        for v in self.0 {
            *v = *v * self.1;
        }
    }
}

/// All numbers of a row, divided by one and then times another.
struct Quotients<'a, W>(&'a mut [W], [W; 2]);

impl<W: Real> Wide for Quotients<'_, W> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let [by, times] = self.1;
        for v in self.0 {
            *v = *v / by * times;
        }
    }
}

impl<W: Real> Union<W, 1> for &Means<W> {
    #[inline(always)]
    fn equal<const N: usize>(&self, [mut a]: [[W; N]; 1], [b]: [[W; N]; 1]) -> [[W; N]; 1] {
        for j in 0..N {
            a[j] = a[j] + b[j];
        }
        [a]
    }

    fn lift(&self, [numbers]: &mut [&mut [W]; 1]) {
        wide(Scaled(numbers, self.lifted(0)));
    }

    fn finish(&self, pass: usize, there: usize, [numbers]: &mut [&mut [W]; 1]) {
        wide(Quotients(numbers, self.quotient(pass, there)));
    }
}

/// Sums of voxels and of their squares.
pub(crate) struct Squared;

/// The square of each number.
struct Square<'a>(&'a [f64], &'a mut [f64]);

impl Wide for Square<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        for (square, v) in self.1.iter_mut().zip(self.0) {
            *square = v * v;
        }
    }
}

impl Union<f64, 2> for Squared {
    #[inline(always)]
    fn equal<const N: usize>(&self, mut a: [[f64; N]; 2], b: [[f64; N]; 2]) -> [[f64; N]; 2] {
        for c in 0..2 {
            for j in 0..N {
                a[c][j] += b[c][j];
            }
        }
        a
    }

    fn lift(&self, [sums, squares]: &mut [&mut [f64]; 2]) {
        wide(Square(sums, squares));
    }
}

/// Means and variances. Those of two boxes give those of both by the distance of their means (T. F. Chan, G. H. Golub
/// and R. Leveque, Updating formulae and a pairwise algorithm for computing sample variances, 1979), so nothing cancels
/// and constants have no variance.
pub(crate) struct Moments;

/// The moments of two boxes, the second of which has the share `share` of all voxels, and both together `product`: the
/// product of their shares.
#[inline(always)]
fn together<const N: usize>(
    [mut mean, mut variance]: [[f64; N]; 2],
    [other, spread]: [[f64; N]; 2],
    share: f64,
) -> [[f64; N]; 2] {
    let rest = 1.0 - share;
    for j in 0..N {
        let far = other[j] - mean[j];
        // Where there is infinity the difference is NaN, as it should be.
        let near = share.mul_add(far, mean[j]);
        let within = share.mul_add(spread[j], rest * variance[j]);
        variance[j] = (share * far).mul_add(other[j] - near, within);
        mean[j] = near;
    }
    [mean, variance]
}

impl Union<f64, 2> for Moments {
    fn lift(&self, [_, variances]: &mut [&mut [f64]; 2]) {
        variances.fill(0.0);
    }

    #[inline(always)]
    fn equal<const N: usize>(&self, a: [[f64; N]; 2], b: [[f64; N]; 2]) -> [[f64; N]; 2] {
        together(a, b, 0.5)
    }

    #[inline(always)]
    fn uneven<const N: usize>(
        &self,
        (a, n_a): ([[f64; N]; 2], usize),
        (b, n_b): ([[f64; N]; 2], usize),
    ) -> [[f64; N]; 2] {
        together(a, b, size(n_b) / size(n_a + n_b))
    }
}
