//! Builds flat code, sharing equal instructions.

use crate::{Ins, Prim};
use arrayloom_types::{DType, Scalar};
use std::collections::BTreeMap;

/// The number of an instruction, and so of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub u32);

/// Collects instructions. An instruction that stands already is not added again.
#[derive(Debug, Default)]
pub struct Builder {
    code: Vec<Ins>,
    known: BTreeMap<(u8, u8, u32, u32, u32, u64), Value>,
    found: Vec<Value>,
}

impl Builder {
    /// Nothing yet.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// The dtype of a value.
    pub fn dtype(&self, v: Value) -> DType {
        self.code[v.0 as usize].dtype
    }

    /// Number of instructions so far.
    pub fn len(&self) -> usize {
        self.code.len()
    }

    /// True while there is no instruction.
    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }

    /// The code.
    pub fn finish(self) -> Vec<Ins> {
        self.code
    }

    /// Adds an instruction or finds the equal one.
    pub fn push(&mut self, ins: Ins) -> Value {
        let key = (
            ins.prim as u8,
            ins.dtype as u8,
            ins.a,
            ins.b,
            ins.c,
            ins.bits,
        );
        let next = Value(u32::try_from(self.code.len()).unwrap_or(u32::MAX));
        let value = *self.known.entry(key).or_insert(next);
        if value == next {
            self.code.push(ins);
        } else {
            self.found.push(value);
        }
        value
    }

    /// The instructions that were asked for again since the last call.
    pub fn take_found(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.found)
    }

    fn ins(&mut self, prim: Prim, dtype: DType, operands: [u32; 3]) -> Value {
        let [a, b, c] = operands;
        self.push(Ins {
            prim,
            dtype,
            a,
            b,
            c,
            bits: 0,
        })
    }

    /// Input number `number` of the launch.
    pub fn input(&mut self, number: u32, dtype: DType) -> Value {
        self.ins(Prim::Input, dtype, [number, 0, 0])
    }

    /// The element that lies `bytes` (`i64`) after the start of input number `table`, which has this dtype.
    pub fn gather(&mut self, bytes: Value, table: u32, dtype: DType) -> Value {
        self.ins(Prim::Gather, dtype, [bytes.0, table, 0])
    }

    /// The index on `axis` as `i64`.
    pub fn iota(&mut self, axis: u32) -> Value {
        self.ins(Prim::Iota, DType::I64, [axis, 0, 0])
    }

    /// A real constant in `dtype`.
    pub fn constant(&mut self, dtype: DType, value: f64) -> Value {
        let s = Scalar::from_f64(dtype, value);
        let mut low = [0; 8];
        low.copy_from_slice(&s.bytes[..8]);
        self.push(Ins {
            prim: Prim::Const,
            dtype,
            a: 0,
            b: 0,
            c: 0,
            bits: u64::from_le_bytes(low),
        })
    }

    /// `v` in `dtype`; `v` itself if it has it.
    pub fn cast(&mut self, v: Value, dtype: DType) -> Value {
        if self.dtype(v) == dtype {
            v
        } else {
            self.ins(Prim::Cast, dtype, [v.0, 0, 0])
        }
    }

    /// A primitive of one operand whose result has the operand's dtype.
    pub fn un(&mut self, prim: Prim, v: Value) -> Value {
        let dtype = self.dtype(v);
        self.ins(prim, dtype, [v.0, 0, 0])
    }

    /// A primitive of one operand with another result dtype.
    pub fn un_as(&mut self, prim: Prim, dtype: DType, v: Value) -> Value {
        self.ins(prim, dtype, [v.0, 0, 0])
    }

    /// A primitive of two operands whose result has the first operand's dtype.
    pub fn bin(&mut self, prim: Prim, a: Value, b: Value) -> Value {
        let dtype = self.dtype(a);
        self.ins(prim, dtype, [a.0, b.0, 0])
    }

    /// A primitive of two operands with another result dtype, such as a comparison.
    pub fn bin_as(&mut self, prim: Prim, dtype: DType, a: Value, b: Value) -> Value {
        self.ins(prim, dtype, [a.0, b.0, 0])
    }

    /// A comparison: bool result.
    pub fn compare(&mut self, prim: Prim, a: Value, b: Value) -> Value {
        self.bin_as(prim, DType::Bool, a, b)
    }

    /// `yes` where `condition` (bool) is true, else `no`.
    pub fn select(&mut self, condition: Value, yes: Value, no: Value) -> Value {
        let dtype = self.dtype(yes);
        self.ins(Prim::Select, dtype, [condition.0, yes.0, no.0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_instructions_are_shared() {
        let mut b = Builder::new();
        let x = b.input(0, DType::F64);
        let first = b.un(Prim::Sqrt, x);
        let second = b.un(Prim::Sqrt, x);
        assert_eq!(first, second);
        assert_eq!(b.cast(x, DType::F64), x);
        let half = b.constant(DType::F64, 0.5);
        let _product = b.bin(Prim::Mul, half, x);
        assert_eq!(b.len(), 4);
    }
}
