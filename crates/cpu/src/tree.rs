//! NumPy's pairwise tree over a stream of values that arrive in pieces of any length.
//!
//! `T(n)` of up to 128 reals is a leaf; otherwise `T(first m) + T(rest)`. The stream is cut where the
//! leaves of the tree end; finished left halves wait on a stack. See `arrayloom_plan::tree_split`.

#![expect(unsafe_code, reason = "leaves are kernels on raw tiles")]
#![expect(
    clippy::inline_always,
    reason = "a body must be compiled inside the function that enables the instruction set"
)]

#[cfg(target_arch = "x86_64")]
mod vectors;

use crate::Isa;
use crate::kern::{Body, Kern, Rows, plain, tile, tile_mut};
use arrayloom_plan::{LANES, LEAF, tree_split};
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::ops::{Add, Neg};

/// A sum: of reals in the first place, of complex numbers as real and imaginary part.
pub(crate) type Sum<R> = [R; 2];

/// `f32` and `f64`.
pub(crate) trait Addend: Copy + Default + Add<Output = Self> + Neg<Output = Self> {
    /// Sums of subtrees on vectors, if the processor has them.
    fn vectors(_complex: bool, _: Isa) -> Option<TreeKern> {
        None
    }
}

impl Addend for f32 {
    #[cfg(target_arch = "x86_64")]
    fn vectors(complex: bool, isa: Isa) -> Option<TreeKern> {
        vectors::single(complex, isa).map(TreeKern::on_vectors)
    }
}

impl Addend for f64 {
    #[cfg(target_arch = "x86_64")]
    fn vectors(complex: bool, isa: Isa) -> Option<TreeKern> {
        vectors::double(complex, isa).map(TreeKern::on_vectors)
    }
}

enum Node<R> {
    /// The right half of this length is still to come.
    Right(usize),
    /// The left half is summed.
    Left(Sum<R>),
}

/// The sum of one stream of known length.
pub(crate) struct Tree<R> {
    stack: SmallVec<[Node<R>; 24]>,
    kern: TreeKern,
    /// Length of the open subtree; once it has values, it is a leaf.
    leaf: usize,
    /// Values of the open leaf that are here already.
    filled: usize,
    buffer: [R; LEAF],
    sum: Sum<R>,
}

impl<R: Addend> Tree<R> {
    /// A tree whose subtrees are summed so.
    pub(crate) fn new(kern: TreeKern) -> Tree<R> {
        Tree {
            stack: SmallVec::new(),
            kern,
            leaf: 0,
            filled: 0,
            buffer: [R::default(); LEAF],
            sum: [R::default(); 2],
        }
    }

    /// Starts a stream of `n` reals (two for each complex number); at least one.
    pub(crate) fn begin(&mut self, n: usize) {
        debug_assert!(
            self.stack.is_empty() && self.filled == 0,
            "the last stream is done"
        );
        self.leaf = n;
    }

    /// Opens the next subtree: the largest one on the left edge of `n` values that is a leaf or that
    /// the `here` values at hand hold completely.
    fn descend(&mut self, mut n: usize, here: usize) {
        while let Some(left) = tree_split(n).filter(|_| n > here || n > self.kern.most) {
            self.stack.push(Node::Right(n - left));
            n = left;
        }
        self.leaf = n;
    }

    /// Takes the next values. After the last one [`Tree::sum`] is the sum.
    pub(crate) fn feed(&mut self, mut values: &[R]) {
        while !values.is_empty() {
            if self.filled == 0 {
                let open = self.leaf;
                self.descend(open, values.len());
                if values.len() >= self.leaf {
                    let (now, later) = values.split_at(self.leaf);
                    let sum = self.kern.sum(now);
                    values = later;
                    self.close(sum);
                    continue;
                }
            }
            let more = values.len().min(self.leaf - self.filled);
            let (now, later) = values.split_at(more);
            self.buffer[self.filled..self.filled + more].copy_from_slice(now);
            self.filled += more;
            values = later;
            if self.filled == self.leaf {
                self.filled = 0;
                let sum = self.kern.sum(&self.buffer[..self.leaf]);
                self.close(sum);
            }
        }
    }

    /// Adds a finished leaf to the tree and opens the next one.
    fn close(&mut self, mut sum: Sum<R>) {
        while let Some(node) = self.stack.pop() {
            match node {
                Node::Left(left) => sum = [left[0] + sum[0], left[1] + sum[1]],
                Node::Right(n) => {
                    self.stack.push(Node::Left(sum));
                    self.leaf = n;
                    return;
                }
            }
        }
        self.sum = sum;
        self.leaf = 0;
    }

    /// The sum of the finished stream.
    pub(crate) fn sum(&self) -> Sum<R> {
        self.sum
    }
}

/// How the subtrees of a tree are summed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeKern {
    /// Sums the `n` reals at its first operand into two reals.
    kern: Kern,
    /// The most reals that it takes.
    most: usize,
    /// Sums many runs of reals; see [`TreeKern::runs`].
    runs: Option<Kern>,
}

/// Most values of a subtree of up to four leaves: however they are split twice, no part is more than a
/// leaf (a right half has up to 8 values more than half).
const FOUR: usize = 4 * (LEAF - 2 * LANES);

/// Most values of a subtree that vectors sum: so many that the call takes little of the time.
#[cfg(target_arch = "x86_64")]
const WHOLE: usize = 8192;

struct RealLeaf<R>(PhantomData<R>);
struct ComplexLeaf<R>(PhantomData<R>);

/// The eight accumulators after all whole groups of eight; there is at least one.
#[inline(always)]
fn lanes<R: Addend>(values: &[R]) -> ([R; LANES], &[R]) {
    let (groups, tail) = values.as_chunks::<LANES>();
    let mut lanes = groups[0];
    for group in &groups[1..] {
        for (lane, &x) in lanes.iter_mut().zip(group) {
            *lane = *lane + x;
        }
    }
    // Through memory: otherwise the final sums in pairs make the compiler keep pairs all along.
    (std::hint::black_box(lanes), tail)
}

#[inline(always)]
fn real_leaf<R: Addend>(values: &[R]) -> Sum<R> {
    let (start, tail) = if values.len() < LANES {
        (-R::default(), values)
    } else {
        let (r, tail) = lanes(values);
        let halves = [(r[0] + r[1]) + (r[2] + r[3]), (r[4] + r[5]) + (r[6] + r[7])];
        (halves[0] + halves[1], tail)
    };
    let sum = tail.iter().fold(start, |sum, &x| sum + x);
    [sum, R::default()]
}

#[inline(always)]
fn complex_leaf<R: Addend>(values: &[R]) -> Sum<R> {
    let (mut re, mut im, tail) = if values.len() < LANES {
        (-R::default(), -R::default(), values)
    } else {
        let (r, tail) = lanes(values);
        (
            (r[0] + r[2]) + (r[4] + r[6]),
            (r[1] + r[3]) + (r[5] + r[7]),
            tail,
        )
    };
    let (pairs, _) = tail.as_chunks::<2>();
    for pair in pairs {
        re = re + pair[0];
        im = im + pair[1];
    }
    [re, im]
}

/// The sum of a subtree of at most four leaves.
#[inline(always)]
fn whole<R: Addend>(values: &[R], leaf: impl Fn(&[R]) -> Sum<R> + Copy) -> Sum<R> {
    match tree_split(values.len()) {
        Some(left) => add(part(&values[..left], leaf), part(&values[left..], leaf)),
        None => leaf(values),
    }
}

/// The sum of a subtree of at most two leaves.
#[inline(always)]
fn part<R: Addend>(values: &[R], leaf: impl Fn(&[R]) -> Sum<R> + Copy) -> Sum<R> {
    match tree_split(values.len()) {
        Some(left) => add(leaf(&values[..left]), leaf(&values[left..])),
        None => leaf(values),
    }
}

#[inline(always)]
pub(crate) fn add<R: Addend>(l: Sum<R>, r: Sum<R>) -> Sum<R> {
    [l[0] + r[0], l[1] + r[1]]
}

impl<R: Addend> Body for RealLeaf<R> {
    #[inline(always)]
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let values = unsafe { tile::<R>(a, n) };
        // SAFETY: as above; two reals.
        let out = unsafe { tile_mut::<R>(out, 2) };
        out.copy_from_slice(&whole(values, real_leaf));
        0
    }
}

impl<R: Addend> Body for ComplexLeaf<R> {
    #[inline(always)]
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let values = unsafe { tile::<R>(a, n) };
        // SAFETY: as above; two reals.
        let out = unsafe { tile_mut::<R>(out, 2) };
        out.copy_from_slice(&whole(values, complex_leaf));
        0
    }
}

impl TreeKern {
    /// Of reals, or of complex numbers as pairs of reals.
    pub(crate) fn of<R: Addend>(complex: bool, isa: Isa) -> TreeKern {
        R::vectors(complex, isa).unwrap_or_else(|| TreeKern {
            kern: if complex {
                plain::<ComplexLeaf<R>>()
            } else {
                plain::<RealLeaf<R>>()
            },
            most: FOUR,
            runs: None,
        })
    }

    #[cfg(target_arch = "x86_64")]
    fn on_vectors((kern, runs): (Kern, Option<Kern>)) -> TreeKern {
        TreeKern {
            kern,
            most: WHOLE,
            runs,
        }
    }

    /// True when runs of `n` reals are one subtree each.
    pub(crate) fn takes(self, n: usize) -> bool {
        n <= self.most
    }

    /// The sums of as many runs of `n` reals as there are places for them.
    ///
    /// # Safety
    /// The kernel [takes](TreeKern::takes) such runs, and all of them may be read: aligned, the first at `values`,
    /// each `step` bytes behind the one before.
    pub(crate) unsafe fn runs<R: Addend>(
        self,
        (values, step): (*const u8, isize),
        n: usize,
        sums: &mut [R],
    ) {
        let count = sums.len();
        if let Some(kern) = self.runs {
            let rows = Rows { count, step };
            let facts = (&raw const rows).cast::<u8>();
            // SAFETY: made by `of`: `kern` reads the runs and writes a sum for each.
            unsafe { kern(values, facts, facts, sums.as_mut_ptr().cast(), n) };
            return;
        }
        for (i, sum) in sums.iter_mut().enumerate() {
            let from = values.wrapping_offset(i.cast_signed() * step);
            // SAFETY: promised by the caller.
            *sum = self.sum(unsafe { tile::<R>(from, n) })[0];
        }
    }

    /// The sum of a whole subtree.
    pub(crate) fn sum<R: Addend>(self, values: &[R]) -> Sum<R> {
        debug_assert!(values.len() <= self.most, "a subtree for one call");
        let mut sum = [R::default(); 2];
        let (from, to) = (values.as_ptr().cast(), (&raw mut sum).cast());
        // SAFETY: made by `of`: `kern` reads the slice and writes two reals.
        unsafe { (self.kern)(from, from, from, to, values.len()) };
        sum
    }
}

/// Cuts a stream of `n` reals into subtrees of at most `most` reals, in order: start and length.
pub(crate) fn subtrees(n: usize, most: usize) -> Vec<(usize, usize)> {
    let mut cut = Vec::new();
    let mut open = vec![(0, n)];
    while let Some((start, n)) = open.pop() {
        match tree_split(n).filter(|_| n > most) {
            Some(left) => {
                open.push((start + left, n - left));
                open.push((start, left));
            }
            None => cut.push((start, n)),
        }
    }
    cut
}

/// The sum of a stream of `n` reals from the sums of its [`subtrees`].
pub(crate) fn join<R: Addend>(
    n: usize,
    most: usize,
    sums: &mut impl Iterator<Item = Sum<R>>,
) -> Sum<R> {
    match tree_split(n).filter(|_| n > most) {
        Some(left) => {
            let l = join(left, most, sums);
            let r = join(n - left, most, sums);
            [l[0] + r[0], l[1] + r[1]]
        }
        None => sums.next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;

    /// NumPy's recursion, for reals or for pairs of them.
    fn model<R: Addend>(x: &[R], complex: bool) -> Sum<R> {
        if x.len() > 128 {
            let m = x.len() / 2 / 8 * 8;
            return add(model(&x[..m], complex), model(&x[m..], complex));
        }
        let (mut sum, whole) = ([-R::default(); 2], x.len() / 8 * 8);
        if whole > 0 {
            let mut r = [R::default(); 8];
            r.copy_from_slice(&x[..8]);
            for (i, &v) in x[..whole].iter().enumerate().skip(8) {
                r[i % 8] = r[i % 8] + v;
            }
            sum = if complex {
                [(r[0] + r[2]) + (r[4] + r[6]), (r[1] + r[3]) + (r[5] + r[7])]
            } else {
                let halves = [(r[0] + r[1]) + (r[2] + r[3]), (r[4] + r[5]) + (r[6] + r[7])];
                [halves[0] + halves[1], R::default()]
            };
        }
        for (i, &v) in x[whole..].iter().enumerate() {
            let part = usize::from(complex) * (i % 2);
            sum[part] = sum[part] + v;
        }
        sum
    }

    /// Streams of all lengths and in all pieces; `bits` shows a number to the last bit.
    fn streams<R: Addend, B: PartialEq + Debug>(
        x: &[R],
        (complex, isa): (bool, Isa),
        bits: impl Fn(R) -> B,
    ) {
        let kern = TreeKern::of::<R>(complex, isa);
        // The second place is part of the sum only for complex numbers.
        let bits = |sum: Sum<R>| [bits(sum[0]), bits(sum[usize::from(complex)])];
        let step = 1 + usize::from(complex);
        for n in (step..1500).step_by(step) {
            let mut tree = Tree::new(kern);
            tree.begin(n);
            tree.feed(&x[..n]);
            let expected = bits(model(&x[..n], complex));
            assert_eq!(bits(tree.sum()), expected, "{n} on {isa}");
        }
        for n in [1, 7, 8, 9, 127, 128, 129, 200, 1000, 4097, 20_003].map(|n| n * step) {
            let expected = bits(model(&x[..n], complex));
            for piece in [1, 3, 64, 100, 512, 5000, 40_006].map(|piece| piece * step) {
                let mut tree = Tree::new(kern);
                tree.begin(n);
                x[..n].chunks(piece).for_each(|c| tree.feed(c));
                assert_eq!(bits(tree.sum()), expected, "{n} by {piece} on {isa}");
            }
            for most in [8, 100, 1000, 100_000] {
                let mut sums = subtrees(n, most).into_iter().map(|(at, len)| {
                    let mut tree = Tree::new(kern);
                    tree.begin(len);
                    tree.feed(&x[at..at + len]);
                    tree.sum()
                });
                assert_eq!(bits(join(n, most, &mut sums)), expected);
            }
        }
    }

    /// Runs of all lengths, as many as fill vectors and not, close to each other and apart.
    fn runs<R: Addend, B: PartialEq + Debug>(x: &[R], isa: Isa, bits: impl Fn(R) -> B) {
        let kern = TreeKern::of::<R>(false, isa);
        let lengths = (1..300).chain([400, 512, 513, 1000, 1025]);
        for n in lengths.filter(|&n| kern.takes(n)) {
            for (count, gap) in [(1, 0), (3, 5), (4, 0), (9, 1), (17, 0)] {
                let mut sums = vec![R::default(); count];
                let step = ((n + gap) * size_of::<R>()).cast_signed();
                // SAFETY: so many runs lie in the slice.
                unsafe { kern.runs((x.as_ptr().cast(), step), n, &mut sums) };
                for (i, sum) in sums.into_iter().enumerate() {
                    let expected = model(&x[i * (n + gap)..][..n], false)[0];
                    assert_eq!(bits(sum), bits(expected), "run {i} of {n} on {isa}");
                }
            }
        }
    }

    #[test]
    fn streams_in_any_pieces_give_the_bits_of_the_recursion() {
        let wide: Vec<f64> = (0..40_006u32)
            .map(|i| (f64::from(i) * 0.7).sin() + 0.3)
            .collect();
        #[expect(clippy::cast_possible_truncation, reason = "values of another type")]
        let narrow: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
        for isa in [Isa::Baseline, Isa::Avx2, Isa::Avx512] {
            if isa <= Isa::detect() {
                runs(&wide, isa, f64::to_bits);
                runs(&narrow, isa, f32::to_bits);
                for complex in [false, true] {
                    streams(&wide, (complex, isa), f64::to_bits);
                    streams(&narrow, (complex, isa), f32::to_bits);
                }
            }
        }
    }
}
