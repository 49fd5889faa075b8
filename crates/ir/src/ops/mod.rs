//! The op table: one static row per operation.
//!
//! A row tells the loops in NumPy's order, how a call finds its loop, and the body in primitives. The
//! rows of a family stand in one file. To add an operation, add its row to the table of its family.

mod arithmetic;
mod bits;
mod compare;
mod exp;
mod fold;
mod internal;
mod logic;
mod round;
mod special;
mod trig;

use crate::{Loops, OpDef, Rule, Values};

/// The tables of the families.
static FAMILIES: [&[OpDef]; 9] = [
    arithmetic::OPS,
    compare::OPS,
    logic::OPS,
    bits::OPS,
    round::OPS,
    exp::OPS,
    trig::OPS,
    special::OPS,
    internal::OPS,
];

/// All rows.
pub fn all() -> impl Iterator<Item = &'static OpDef> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

/// The row with this name.
pub fn find(name: &str) -> Option<&'static OpDef> {
    all().find(|op| op.name == name)
}

/// A row with the usual rule and no fold.
const fn row(
    name: &'static str,
    arity: u8,
    loops: &'static [Loops],
    body: fn(&mut crate::Builder, &[crate::Value]) -> Values,
    doc: &'static str,
) -> OpDef {
    OpDef {
        name,
        arity,
        loops,
        rule: Rule::First,
        body,
        fold: None,
        doc,
    }
}

/// Signed and unsigned integers in NumPy's order.
const INTEGERS: &str = "bBhHiIqQ";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, Kernel, Output, verify};

    #[test]
    fn names_are_unique_and_found() {
        for op in all() {
            assert!(std::ptr::eq(find(op.name).unwrap(), op), "{}", op.name);
            assert!(op.doc.ends_with('.'), "{}", op.name);
        }
        assert!(find("matmul").is_none());
    }

    #[test]
    fn every_body_gives_the_dtypes_of_every_loop() {
        for op in all() {
            for sig in op.signatures() {
                assert_eq!(sig.ins.len(), usize::from(op.arity), "{}", op.name);
                let mut b = Builder::new();
                let operands: Vec<_> = (0..).zip(&sig.ins).map(|(i, &d)| b.input(i, d)).collect();
                let results = (op.body)(&mut b, &operands);
                let dtypes: Vec<_> = results.iter().map(|&v| b.dtype(v)).collect();
                assert_eq!(dtypes, sig.outs.to_vec(), "{} {sig:?}", op.name);
                let outputs = results.iter().map(|v| Output {
                    value: v.0,
                    form: crate::Form::Store,
                });
                let kernel = Kernel {
                    outputs: outputs.collect(),
                    inputs: sig.ins.to_vec(),
                    code: b.finish(),
                    rank: 1,
                };
                assert_eq!(verify(&kernel), Ok(()), "{}\n{kernel}", op.name);
            }
        }
    }
}
