//! One value outside of a tile: a uniform operand, an accumulator, the sum of a piece.

#![expect(
    unsafe_code,
    reason = "output elements lie at computed addresses that the launch vouches for"
)]

use crate::place::{gather, scatter};
use crate::tree::{Addend, Sum};
use arrayloom_types::DType;
use half::f16;

/// One value, aligned for every type.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(16))]
pub(crate) struct Cell(pub(crate) [u8; 16]);

/// A real that a cell can hold two of.
pub(crate) trait Part: Addend {
    fn parts(cell: &Cell) -> Sum<Self>;
    fn cell(sum: Sum<Self>) -> Cell;
}

macro_rules! part {
    ($t:ty, $size:expr) => {
        impl Part for $t {
            fn parts(cell: &Cell) -> Sum<$t> {
                let (mut re, mut im) = ([0; $size], [0; $size]);
                re.copy_from_slice(&cell.0[..$size]);
                im.copy_from_slice(&cell.0[$size..2 * $size]);
                [<$t>::from_ne_bytes(re), <$t>::from_ne_bytes(im)]
            }
            fn cell(sum: Sum<$t>) -> Cell {
                let mut cell = Cell::default();
                cell.0[..$size].copy_from_slice(&sum[0].to_ne_bytes());
                cell.0[$size..2 * $size].copy_from_slice(&sum[1].to_ne_bytes());
                cell
            }
        }
    };
}
part!(f32, 4);
part!(f64, 8);

impl Cell {
    /// The two reals in it.
    pub(crate) fn sum<R: Part>(&self) -> Sum<R> {
        R::parts(self)
    }

    /// A cell of two reals.
    pub(crate) fn of<R: Part>(sum: Sum<R>) -> Cell {
        R::cell(sum)
    }
}

/// Adds the sum of a piece to an output element.
///
/// # Safety
/// The element may be read and written.
pub(crate) unsafe fn add(dtype: DType, out: *mut u8, piece: Cell) {
    let size = dtype.size();
    let mut now = Cell::default();
    // SAFETY: promised by the caller.
    unsafe { gather(size, out, size.cast_signed(), now.0.as_mut_ptr(), 1) };
    let single = || {
        let (a, b) = (now.sum::<f32>(), piece.sum::<f32>());
        [a[0] + b[0], a[1] + b[1]]
    };
    let sum = match dtype {
        DType::F16 => {
            let before = f16::from_ne_bytes([now.0[0], now.0[1]]).to_f32();
            let after = f16::from_f32(before + piece.sum::<f32>()[0]);
            let mut cell = Cell::default();
            cell.0[..2].copy_from_slice(&after.to_ne_bytes());
            cell
        }
        DType::F32 | DType::C64 => Cell::of(single()),
        _ => {
            let (a, b) = (now.sum::<f64>(), piece.sum::<f64>());
            Cell::of([a[0] + b[0], a[1] + b[1]])
        }
    };
    // SAFETY: promised by the caller.
    unsafe { scatter(size, sum.0.as_ptr(), out, size.cast_signed(), 1) };
}
