//! What a Fourier transform is of.

use crate::fourier::Spectrum;
use arrayloom_device::ExtCall;
use arrayloom_types::DType;

/// Transforms are shorter: four times their length fits 32 bits, and squares of places fit 64.
const LONGEST: usize = 1 << 29;

/// A Fourier transform along an axis, as it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fourier {
    /// Of its complex numbers.
    pub dtype: DType,
    /// The axis that is transformed.
    pub axis: usize,
    /// What is read.
    pub from: Spectrum,
    /// What is written.
    pub to: Spectrum,
    /// Back from a spectrum.
    pub inverse: bool,
    /// The bits of the factor of all results.
    pub factor: u64,
    /// Values of a line: what an operand has more is left out, what it lacks is zero.
    pub length: usize,
    /// How many lines there are.
    pub lines: usize,
}

impl Fourier {
    /// The transform `fft` of one array, with these attributes: axis, kind (0 complex, 1 from real numbers, 2 to
    /// real numbers, 3 from real to complex numbers), inverse, the bits of the factor, the length.
    ///
    /// # Errors
    /// The words for what is none.
    pub fn of(call: &ExtCall<'_>) -> Result<Fourier, String> {
        Fourier::read(call).ok_or_else(|| "no Fourier transform of these arrays".to_owned())
    }

    fn read(call: &ExtCall<'_>) -> Option<Fourier> {
        let ([source], [target]) = (call.ins, call.outs) else {
            return None;
        };
        let (&[axis, kind, inverse], rest) = call.attrs.split_first_chunk()?;
        let (factor, rest) = rest.split_first_chunk()?;
        let (length, _) = rest.split_first_chunk()?;
        let (from, to) = match kind {
            0 => (Spectrum::Full, Spectrum::Full),
            1 => (Spectrum::Real, Spectrum::Half),
            2 => (Spectrum::Half, Spectrum::Real),
            3 => (Spectrum::Real, Spectrum::Full),
            _ => return None,
        };
        let dtype = complex(source.layout.dtype, from)?;
        let axis = usize::from(axis);
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (shape, other) = (&target.layout.shape, &source.layout.shape);
        let ends = match to {
            Spectrum::Half => length / 2 + 1,
            _ => length,
        };
        let others = (0..shape.len()).filter(|&a| a != axis);
        let fits = shape.len() == other.len()
            && others.clone().all(|a| shape[a] == other[a])
            && shape.get(axis) == Some(&ends)
            && complex(target.layout.dtype, to) == Some(dtype)
            && (1..LONGEST).contains(&length);
        fits.then(|| Fourier {
            dtype,
            axis,
            from,
            to,
            inverse: inverse != 0,
            factor: u64::from_le_bytes(*factor),
            length,
            lines: others.map(|a| shape[a]).product(),
        })
    }
}

/// The complex numbers of a transform with values of this dtype.
fn complex(dtype: DType, spectrum: Spectrum) -> Option<DType> {
    match (spectrum, dtype) {
        (Spectrum::Real, DType::F32) => Some(DType::C64),
        (Spectrum::Real, DType::F64) => Some(DType::C128),
        (Spectrum::Real, _) => None,
        _ => Some(dtype).filter(|d| d.is_complex()),
    }
}
