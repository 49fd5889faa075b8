//! The row type of the op table.

use crate::{Builder, Ins, Prim, ReduceOp, Value};
use arrayloom_types::DType;
use smallvec::SmallVec;

/// The dtypes one call computes in: NumPy's chosen loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LoopSig {
    /// What the operands are cast to.
    pub ins: SmallVec<[DType; 3]>,
    /// What the results are.
    pub outs: SmallVec<[DType; 2]>,
}

/// Floating-point conditions, as bits. NumPy names them in its warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FpFlags(pub u8);

impl FpFlags {
    /// Nothing happened.
    pub const NONE: FpFlags = FpFlags(0);
    /// A finite number divided by zero.
    pub const DIVIDE: FpFlags = FpFlags(1);
    /// A result too large.
    pub const OVERFLOW: FpFlags = FpFlags(2);
    /// A result too small.
    pub const UNDERFLOW: FpFlags = FpFlags(4);
    /// No meaningful result.
    pub const INVALID: FpFlags = FpFlags(8);
}

/// The values a body gives: one per output.
pub type Values = SmallVec<[Value; 2]>;

/// A group of loops of one form: one loop for each letter of `over`, in that order.
#[derive(Clone, Copy, Debug)]
pub struct Loops {
    /// NumPy's type letters that `T` stands for.
    pub over: &'static str,
    /// The letters of the operands, `->`, the letters of the results; `T` is the letter of the loop.
    pub form: &'static str,
}

/// The loops of `form` for each letter of `over`, such as `each("fd", "TT->T")`.
pub const fn each(over: &'static str, form: &'static str) -> Loops {
    Loops { over, form }
}

/// How a call finds its loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The first loop to whose operands all operands cast safely.
    First,
    /// The same, but there is none when all operands are bool.
    NotBool,
    /// The same for floats and complex numbers; integers and bools compute in `float64`.
    TrueDivide,
    /// The loop of the common dtype if all operands have that dtype, else the loop of bool.
    Logical,
}

/// One operation: everything that is known of it stands in its row.
pub struct OpDef {
    /// NumPy's name. Names of operations that NumPy does not have begin with an underscore.
    pub name: &'static str,
    /// Number of operands.
    pub arity: u8,
    /// The loops in NumPy's order.
    pub loops: &'static [Loops],
    /// How a call finds its loop.
    pub rule: Rule,
    /// The body in primitives; gets the operands in the loop's input dtypes and gives one value per
    /// output in the loop's output dtypes.
    pub body: fn(&mut Builder, &[Value]) -> Values,
    /// What `reduce` and `accumulate` fold with, if they are native. Logical folds cast to bool first.
    pub fold: Option<ReduceOp>,
    /// One sentence: what it computes.
    pub doc: &'static str,
}

impl OpDef {
    /// Number of results.
    pub fn results(&self) -> usize {
        let form = self.loops[0].form;
        form.len() - form.find('>').map_or(form.len(), |arrow| arrow + 1)
    }

    /// The instructions of one call that computes in the dtypes of `sig`, its inputs first.
    pub fn code(&self, sig: &LoopSig) -> Vec<Ins> {
        let mut builder = Builder::new();
        let inputs: Vec<Value> = (0..)
            .zip(&sig.ins)
            .map(|(number, &dtype)| builder.input(number, dtype))
            .collect();
        (self.body)(&mut builder, &inputs);
        builder.finish()
    }

    /// True if one call takes a few quick instructions: memory decides how long it takes.
    pub fn is_quick(&self, sig: &LoopSig) -> bool {
        is_quick(&self.code(sig))
    }

    /// True if that holds for NumPy's loops too: they branch for choices, which takes ten times as long where these
    /// change from element to element.
    pub fn is_quick_in_numpy(&self, sig: &LoopSig) -> bool {
        let code = self.code(sig);
        is_quick(&code) && !code.iter().any(|ins| ins.prim == Prim::Select)
    }
}

fn is_quick(code: &[Ins]) -> bool {
    code.len() <= QUICK_CODE && code.iter().all(|ins| ins.prim.is_quick())
}

/// Instructions of a quick operation at most.
const QUICK_CODE: usize = 12;

impl std::fmt::Debug for OpDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
