//! Where the operands and results of a case lie.

use arrayloom_types::{DType, Layout, Shape, Strides, contiguous_strides};

/// A way to lay out operands and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    Contiguous,
    Strided,
    Reversed,
    Broadcast,
    Permuted,
    Unaligned,
    Scalar,
    ZeroD,
    Empty,
}

pub(super) const PATTERNS: [Pattern; 9] = [
    Pattern::Contiguous,
    Pattern::Strided,
    Pattern::Reversed,
    Pattern::Broadcast,
    Pattern::Permuted,
    Pattern::Unaligned,
    Pattern::Scalar,
    Pattern::ZeroD,
    Pattern::Empty,
];

impl Pattern {
    pub(super) fn name(self) -> &'static str {
        match self {
            Pattern::Contiguous => "contiguous",
            Pattern::Strided => "strided",
            Pattern::Reversed => "reversed",
            Pattern::Broadcast => "broadcast",
            Pattern::Permuted => "permuted",
            Pattern::Unaligned => "unaligned",
            Pattern::Scalar => "scalar",
            Pattern::ZeroD => "zero_d",
            Pattern::Empty => "empty",
        }
    }

    /// The domain of a case that only needs points.
    pub(super) fn shape(self) -> Shape {
        let shape: &[usize] = match self {
            Pattern::Contiguous => &[131],
            Pattern::Strided => &[5, 13],
            Pattern::Reversed => &[4, 9],
            Pattern::Broadcast => &[6, 17],
            Pattern::Permuted => &[3, 4, 5],
            Pattern::Unaligned => &[37],
            Pattern::Scalar => &[21],
            Pattern::ZeroD => &[],
            Pattern::Empty => &[3, 0],
        };
        shape.into()
    }

    /// Where operand number `nth` lies.
    pub(super) fn input(self, dtype: DType, shape: &[usize], nth: usize) -> Layout {
        if self != Pattern::Broadcast || shape.is_empty() {
            return self.output(dtype, shape);
        }
        // Every operand repeats along another axis; a third one along all.
        let axis = nth % 3 % (shape.len() + 1);
        let thin: Shape = (0..shape.len())
            .map(|i| {
                if i == axis || axis == shape.len() {
                    1
                } else {
                    shape[i]
                }
            })
            .collect();
        Layout::contiguous(dtype, &thin).broadcast_to(shape)
    }

    /// Where a result lies; no element repeats.
    pub(super) fn output(self, dtype: DType, shape: &[usize]) -> Layout {
        let size = dtype.size().cast_signed();
        let mut layout = Layout::contiguous(dtype, shape);
        match self {
            Pattern::Strided => {
                // Every second element of rows that are three elements longer.
                let mut step = 2 * size;
                for (s, &n) in layout.strides.iter_mut().zip(shape).rev() {
                    *s = step;
                    step = step * n.max(1).cast_signed() + 3 * size;
                }
            }
            Pattern::Reversed => {
                for (s, &n) in layout.strides.iter_mut().zip(shape) {
                    layout.offset += *s * (n.max(1).cast_signed() - 1);
                    *s = -*s;
                }
            }
            Pattern::Permuted => layout.strides = rotated(shape, dtype.size()),
            Pattern::Unaligned => layout.offset = 1,
            _ => {}
        }
        layout
    }
}

/// The steps of an array whose last axis is its outermost.
fn rotated(shape: &[usize], size: usize) -> Strides {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    order.rotate_right(1.min(shape.len()));
    let turned: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
    let packed = contiguous_strides(&turned, size);
    let mut strides = Strides::from_elem(0, shape.len());
    for (&axis, &step) in order.iter().zip(&packed) {
        strides[axis] = step;
    }
    strides
}

/// Bytes of a block that holds the layout.
pub(super) fn block_bytes(layout: &Layout) -> usize {
    layout.byte_range().1.max(layout.offset).cast_unsigned()
}

/// The byte offsets of the elements in C order.
pub(super) fn offsets(layout: &Layout) -> Vec<usize> {
    let mut all = vec![layout.offset];
    for (&n, &step) in layout.shape.iter().zip(&layout.strides) {
        all = all
            .iter()
            .flat_map(|&o| (0..n.cast_signed()).map(move |i| o + i * step))
            .collect();
    }
    all.into_iter().map(isize::cast_unsigned).collect()
}
