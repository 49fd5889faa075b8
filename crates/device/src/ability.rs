//! What a device can do, as bits: asked before anything is sent to it.

use arrayloom_ir::{ALL_PRIMS, Form, Kernel, Prim, ReduceOp};
use arrayloom_types::{ALL_DTYPES, DType, Kind};

/// Every point stored.
pub const FORM_MAP: u32 = 1;
/// Folds over axes.
pub const FORM_REDUCE: u32 = 1 << 1;
/// Places of extremes.
pub const FORM_ARG: u32 = 1 << 2;
/// Running folds.
pub const FORM_SCAN: u32 = 1 << 3;
/// Elements by number.
pub const FORM_GATHER: u32 = 1 << 4;

/// Results at places by number.
pub const FORM_SCATTER: u32 = 1 << 5;

const ALL_FORMS: u32 = FORM_MAP | FORM_REDUCE | FORM_ARG | FORM_SCAN | FORM_GATHER | FORM_SCATTER;

/// A bit for every primitive, dtype and form, and a few facts.
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are independent facts, each asked for by name"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Bit `p as u8` for every primitive `p`.
    pub prims: u128,
    /// Bit `d as u8` for every dtype `d`.
    pub dtypes: u32,
    /// The `FORM_*` bits.
    pub forms: u32,
    /// Elements need not lie at multiples of their size.
    pub unaligned: bool,
    /// Sums of floats follow the order of the launch, which is NumPy's.
    pub numpy_order: bool,
    /// It tells floating-point conditions; otherwise whoever wants them goes without.
    pub flags: bool,
    /// Results mean something; false for a device that only counts.
    pub values: bool,
}

impl Abilities {
    /// Everything there is.
    pub const ALL: Abilities = Abilities {
        prims: u128::MAX,
        dtypes: u32::MAX,
        forms: ALL_FORMS,
        unaligned: true,
        numpy_order: true,
        flags: true,
        values: true,
    };

    /// These primitives over these dtypes, every point stored; nothing else.
    pub fn maps(prims: &[Prim], dtypes: &[DType]) -> Abilities {
        let leaves = [Prim::Input, Prim::Const];
        let bit = |p: &Prim| 1 << (*p as u8);
        Abilities {
            prims: prims.iter().chain(&leaves).map(bit).sum(),
            dtypes: dtypes.iter().map(|d| 1u32 << (*d as u8)).sum(),
            forms: FORM_MAP,
            unaligned: true,
            numpy_order: false,
            flags: false,
            values: true,
        }
    }

    /// True for a primitive it has.
    pub fn has_prim(&self, prim: Prim) -> bool {
        self.prims >> (prim as u8) & 1 == 1
    }

    /// True for a dtype it has.
    pub fn has_dtype(&self, dtype: DType) -> bool {
        self.dtypes >> (dtype as u8) & 1 == 1
    }

    /// The first thing that a kernel needs and the device lacks, in words.
    pub fn lacks(&self, kernel: &Kernel) -> Option<String> {
        for ins in &kernel.code {
            if !self.has_prim(ins.prim) {
                return Some(format!("no {}", ins.prim.name()));
            }
            if !self.has_dtype(ins.dtype) {
                return Some(format!("no {}", ins.dtype));
            }
            if ins.prim == Prim::Gather && self.forms & FORM_GATHER == 0 {
                return Some("no elements by number".to_owned());
            }
        }
        for output in &kernel.outputs {
            let (bit, name) = match output.form {
                Form::Store => (FORM_MAP, "results at every point"),
                Form::Reduce { .. } => (FORM_REDUCE, "folds"),
                Form::Arg { .. } => (FORM_ARG, "places of extremes"),
                Form::Scan { .. } => (FORM_SCAN, "running folds"),
                Form::Scatter { .. } => (FORM_SCATTER, "results at places by number"),
            };
            if self.forms & bit == 0 {
                return Some(format!("no {name}"));
            }
            let kind = kernel.code[output.value as usize].dtype.kind();
            let rounds = matches!(kind, Kind::Float | Kind::Complex);
            let sum = matches!(output.form, Form::Reduce { op, .. } if op == ReduceOp::Add);
            if sum && rounds && !self.numpy_order {
                return Some("no sums in NumPy's order".to_owned());
            }
        }
        None
    }

    /// How many primitives and dtypes it has.
    pub fn counts(&self) -> (usize, usize) {
        let prims = ALL_PRIMS.iter().filter(|p| self.has_prim(**p)).count();
        let dtypes = ALL_DTYPES.iter().filter(|d| self.has_dtype(**d)).count();
        (prims, dtypes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrayloom_ir::{Builder, Output};

    fn kernel(prim: Prim, dtype: DType, form: Form) -> Kernel {
        let mut b = Builder::new();
        let x = b.input(0, dtype);
        let value = b.bin(prim, x, x).0;
        Kernel {
            code: b.finish(),
            inputs: vec![dtype],
            outputs: vec![Output { value, form }],
            rank: 1,
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let few = Abilities::maps(&[Prim::Add], &[DType::F64]);
        let sum = Form::Reduce {
            op: ReduceOp::Add,
            axes: 1,
        };
        let said = |p, d, f| few.lacks(&kernel(p, d, f)).unwrap_or_default();
        assert_eq!(said(Prim::Add, DType::F64, Form::Store), "");
        assert_eq!(said(Prim::Mul, DType::F64, Form::Store), "no Mul");
        assert_eq!(said(Prim::Add, DType::F32, Form::Store), "no float32");
        assert_eq!(said(Prim::Add, DType::F64, sum), "no folds");
        let unordered = Abilities {
            numpy_order: false,
            ..Abilities::ALL
        };
        let float = kernel(Prim::Add, DType::F64, sum);
        assert!(unordered.lacks(&float).is_some_and(|s| s.contains("order")));
        assert_eq!(unordered.lacks(&kernel(Prim::Add, DType::I64, sum)), None);
        assert_eq!(Abilities::ALL.lacks(&float), None);
        assert_eq!(few.counts(), (3, 1));
    }

    #[test]
    fn every_primitive_has_a_bit() {
        assert!(ALL_PRIMS.len() < 128);
    }
}
