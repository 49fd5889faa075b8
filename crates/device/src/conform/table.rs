//! Which primitives exist for which dtypes: those that some operation of the table is made of.

use arrayloom_ir::{Arity, Builder, Form, Ins, Kernel, OpDef, Output, Prim, ops};
use arrayloom_types::DType;
use std::collections::BTreeSet;

/// A primitive with the dtypes of its operands and its result.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Loop {
    pub(super) prim: Prim,
    pub(super) ins: Vec<DType>,
    pub(super) out: DType,
}

impl Loop {
    /// The dtypes as text: of the operands, then the result's if it differs.
    pub(super) fn dtypes(&self) -> String {
        let mut text: Vec<&str> = self.ins.iter().map(|d| d.name()).collect();
        if self.ins.iter().all(|d| *d == self.ins[0]) {
            text.truncate(1);
        }
        if self.ins.last() != Some(&self.out) {
            text.push(self.out.name());
        }
        text.join("-")
    }

    /// The kernel of this primitive alone.
    pub(super) fn kernel(&self, rank: usize) -> Kernel {
        let mut b = Builder::new();
        let mut operands = [0; 3];
        for (number, &dtype) in (0..).zip(&self.ins) {
            operands[number as usize] = b.input(number, dtype).0;
        }
        let [x, y, z] = operands;
        let result = b.push(Ins {
            prim: self.prim,
            dtype: self.out,
            a: x,
            b: y,
            c: z,
            bits: 0,
        });
        kernel(b, &[(result.0, Form::Store)], &self.ins, rank)
    }
}

/// A kernel from finished code.
pub(super) fn kernel(b: Builder, outs: &[(u32, Form)], ins: &[DType], rank: usize) -> Kernel {
    let outputs = outs.iter().map(|&(value, form)| Output { value, form });
    Kernel {
        outputs: outputs.collect(),
        inputs: ins.to_vec(),
        code: b.finish(),
        rank: u8::try_from(rank).unwrap_or(u8::MAX),
    }
}

/// The body of one loop of an operation.
pub(super) fn body(op: &OpDef, ins: &[DType], rank: usize) -> Kernel {
    let mut b = Builder::new();
    let operands: Vec<_> = (0..).zip(ins).map(|(i, &d)| b.input(i, d)).collect();
    let results = (op.body)(&mut b, &operands);
    let outs: Vec<_> = results.iter().map(|v| (v.0, Form::Store)).collect();
    kernel(b, &outs, ins, rank)
}

/// All loops of all primitives but leaves and conversions.
pub(super) fn loops() -> BTreeSet<Loop> {
    let mut found = BTreeSet::new();
    for op in ops::all() {
        for sig in op.signatures() {
            let kernel = body(op, &sig.ins, 1);
            for ins in &kernel.code {
                let ins_dtypes: Vec<DType> = operands(ins)
                    .iter()
                    .map(|&v| kernel.code[v as usize].dtype)
                    .collect();
                if ins.prim != Prim::Cast && !ins_dtypes.is_empty() {
                    found.insert(Loop {
                        prim: ins.prim,
                        ins: ins_dtypes,
                        out: ins.dtype,
                    });
                }
            }
        }
    }
    found
}

/// The values an instruction reads.
pub(super) fn operands(ins: &Ins) -> Vec<u32> {
    let all = [ins.a, ins.b, ins.c];
    let count = match ins.prim.arity() {
        Arity::Leaf => 0,
        Arity::Unary => 1,
        Arity::Binary => 2,
        Arity::Ternary => 3,
    };
    all[..count].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrayloom_ir::{ALL_PRIMS, verify};

    #[test]
    fn every_primitive_is_found_in_some_operation() {
        let used: BTreeSet<Prim> = loops().into_iter().map(|l| l.prim).collect();
        // Casts and gathers have cases of their own.
        let elsewhere =
            |p: &Prim| p.arity() == Arity::Leaf || matches!(p, Prim::Cast | Prim::Gather);
        let mut rest: Vec<Prim> = ALL_PRIMS.to_vec();
        rest.retain(|p| !elsewhere(p) && !used.contains(p));
        assert_eq!(rest, []);
    }

    #[test]
    fn kernels_are_well_formed() {
        for l in loops() {
            assert_eq!(verify(&l.kernel(2)), Ok(()), "{l:?}");
        }
    }
}
