//! What a device runs: flat code over one iteration domain.
//!
//! Value `i` is the result of instruction `i`. Every instruction is evaluated at every point of the
//! domain, whose shape comes with the launch; so one kernel serves all sizes.

use crate::{AxisMask, Builder, Prim};
use arrayloom_types::{DType, Shape};

/// One instruction: `value = prim(a, b, c)`, or a leaf that reads `a` or `bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Ins {
    /// The primitive.
    pub prim: Prim,
    /// The dtype of the result.
    pub dtype: DType,
    /// First operand, or the input number, or the axis.
    pub a: u32,
    /// Second operand.
    pub b: u32,
    /// Third operand.
    pub c: u32,
    /// The bytes of a constant.
    pub bits: u64,
}

/// An operation that folds many values into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ReduceOp {
    /// Sum in NumPy's order; logical or for bool.
    Add,
    /// Product, strictly one after another; logical and for bool. In a piece of more than one value
    /// `float16` is multiplied in `float32` and rounded once, and complex numbers without `fma`, also in
    /// scans; else it is `Prim::Mul`.
    Mul,
    /// Smallest; NaN wins.
    Min,
    /// Largest; NaN wins.
    Max,
    /// Smallest; NaN loses.
    Fmin,
    /// Largest; NaN loses.
    Fmax,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

impl ReduceOp {
    /// The binary primitive that it folds with.
    pub const fn prim(self) -> Prim {
        match self {
            ReduceOp::Add => Prim::Add,
            ReduceOp::Mul => Prim::Mul,
            ReduceOp::Min => Prim::Min,
            ReduceOp::Max => Prim::Max,
            ReduceOp::Fmin => Prim::Fmin,
            ReduceOp::Fmax => Prim::Fmax,
            ReduceOp::And => Prim::And,
            ReduceOp::Or => Prim::Or,
            ReduceOp::Xor => Prim::Xor,
        }
    }
}

/// How a value leaves the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Every point is written to its place.
    Store,
    /// Folded over `axes`; order and initial value come with the launch.
    Reduce {
        /// The fold.
        op: ReduceOp,
        /// The axes of the domain that are folded away.
        axes: AxisMask,
    },
    /// Index (`i64`) of the smallest or largest value over `axes`, counted in C order over those axes.
    /// The first of equal values; a NaN beats everything.
    Arg {
        /// True for the largest.
        max: bool,
        /// The axes of the domain that are folded away.
        axes: AxisMask,
    },
    /// Running fold along one axis, one after another: place `i` holds the fold of values `0..=i`.
    Scan {
        /// The fold.
        op: ReduceOp,
        /// The axis of the domain.
        axis: u8,
    },
    /// Each point goes to the element that lies value `at` (`i64`) in bytes away from the output's place
    /// at this point; `i64::MIN` is nowhere. Points come in C order, so the last of several wins or all
    /// of them count. Whoever launches the kernel vouches that the elements are there and that no input
    /// lies on them. Conditions of the combining operation are not told.
    Scatter {
        /// What becomes of the element.
        mode: ScatterMode,
        /// The number of the value that says where.
        at: u32,
    },
}

impl Form {
    /// True for an output whose points go to elements by number.
    pub const fn is_scatter(self) -> bool {
        matches!(self, Form::Scatter { .. })
    }

    /// The extents of such an output over a domain of this shape: one on the axes that are folded away.
    pub fn extents(self, shape: &[usize]) -> Shape {
        let folded = match self {
            Form::Reduce { axes, .. } | Form::Arg { axes, .. } => axes,
            Form::Store | Form::Scan { .. } | Form::Scatter { .. } => 0,
        };
        let axes = shape.iter().enumerate();
        axes.map(|(i, &n)| if folded >> i & 1 == 1 { 1 } else { n })
            .collect()
    }
}

/// How a scattered value meets the element that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ScatterMode {
    /// Takes its place.
    Set,
    /// Is added to it.
    Add,
    /// The smaller one stays; NaN wins.
    Min,
    /// The larger one stays; NaN wins.
    Max,
}

impl ScatterMode {
    /// All of them, by number.
    pub const ALL: [ScatterMode; 4] = [
        ScatterMode::Set,
        ScatterMode::Add,
        ScatterMode::Min,
        ScatterMode::Max,
    ];

    /// The primitive that combines the element with the value; `None` where the value replaces it.
    pub const fn prim(self) -> Option<Prim> {
        match self {
            ScatterMode::Set => None,
            ScatterMode::Add => Some(Prim::Add),
            ScatterMode::Min => Some(Prim::Min),
            ScatterMode::Max => Some(Prim::Max),
        }
    }
}

/// One result of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Output {
    /// The number of the value.
    pub value: u32,
    /// How it leaves.
    pub form: Form,
}

/// Code, inputs and outputs over one domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// The instructions in order; operands stand before their users.
    pub code: Vec<Ins>,
    /// The dtype of each input of the launch.
    pub inputs: Vec<DType>,
    /// The results, in the order of the launch's outputs.
    pub outputs: Vec<Output>,
    /// Rank of the domain.
    pub rank: u8,
}

impl Kernel {
    /// Copies elements of one dtype.
    pub fn copy(dtype: DType, rank: u8) -> Kernel {
        let mut b = Builder::new();
        let value = b.input(0, dtype).0;
        Kernel {
            code: b.finish(),
            inputs: vec![dtype],
            outputs: vec![Output {
                value,
                form: Form::Store,
            }],
            rank,
        }
    }

    /// The numbers of the inputs that it reads elements of by number: only the numbers say which.
    pub fn tables(&self) -> impl Iterator<Item = usize> {
        let gathers = self.code.iter().filter(|ins| ins.prim == Prim::Gather);
        gathers.map(|ins| ins.b as usize)
    }

    /// True if it writes elements by number.
    pub fn scatters(&self) -> bool {
        self.outputs.iter().any(|output| output.form.is_scatter())
    }

    /// True if it reads or writes elements by number.
    pub fn goes_by_number(&self) -> bool {
        self.tables().next().is_some() || self.scatters()
    }

    /// The dtype that output number `i` has in memory.
    pub fn output_dtype(&self, i: usize) -> DType {
        let output = &self.outputs[i];
        match output.form {
            Form::Arg { .. } => DType::I64,
            _ => self.code[output.value as usize].dtype,
        }
    }
}
