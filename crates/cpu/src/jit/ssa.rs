//! The code of a segment in terms of what vector units do.
//!
//! Primitives become a few *operations* each, with their constants as values. Two segments with equal
//! code share one compiled function, whatever their sizes and addresses.

use crate::kern::Splat;
use crate::step::Verb;
use arrayloom_ir::Prim;
use arrayloom_types::DType;

/// Element types that code is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ty {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    C64,
    C128,
}

impl Ty {
    pub(crate) fn of(dtype: DType) -> Option<Ty> {
        Some(match dtype {
            DType::Bool => Ty::Bool,
            DType::I8 => Ty::I8,
            DType::U8 => Ty::U8,
            DType::I16 => Ty::I16,
            DType::U16 => Ty::U16,
            DType::I32 => Ty::I32,
            DType::U32 => Ty::U32,
            DType::I64 => Ty::I64,
            DType::U64 => Ty::U64,
            DType::F32 => Ty::F32,
            DType::F64 => Ty::F64,
            DType::C64 => Ty::C64,
            DType::C128 => Ty::C128,
            DType::F16 => return None,
        })
    }

    pub(crate) fn size(self) -> usize {
        match self {
            Ty::Bool | Ty::I8 | Ty::U8 => 1,
            Ty::I16 | Ty::U16 => 2,
            Ty::I32 | Ty::U32 | Ty::F32 => 4,
            Ty::I64 | Ty::U64 | Ty::F64 | Ty::C64 => 8,
            Ty::C128 => 16,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Ty::F32 | Ty::F64)
    }

    pub(crate) fn is_complex(self) -> bool {
        matches!(self, Ty::C64 | Ty::C128)
    }

    /// The type of the parts of a complex number; any other type itself.
    pub(crate) fn parts(self) -> Ty {
        match self {
            Ty::C64 => Ty::F32,
            Ty::C128 => Ty::F64,
            other => other,
        }
    }

    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64)
    }
}

/// A constant that operations need: eight bytes, repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub(crate) enum Konst {
    Zero,
    Ones,
    Truth,
    Sign64,
    Sign32,
    Abs64,
    Abs32,
    One64,
    One32,
    Inf64,
    Inf32,
}

/// The constants in memory, by their numbers.
pub(crate) static KONSTS: [u64; 11] = [
    0,
    u64::MAX,
    0x0101_0101_0101_0101,
    1 << 63,
    (1 << 63) | (1 << 31),
    !(1 << 63),
    !((1 << 63) | (1 << 31)),
    0x3ff0_0000_0000_0000,
    0x3f80_0000_3f80_0000,
    0x7ff0_0000_0000_0000,
    0x7f80_0000_7f80_0000,
];

/// A comparison. Those with `Not` hold for unordered operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pred {
    Eq,
    Ne,
    Lt,
    Le,
    NotLt,
    NotGt,
    Unordered,
    Ordered,
}

/// An operation. On complex numbers, arithmetic and bits are those of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mop {
    Add,
    Sub,
    Mul,
    Div,
    And,
    Or,
    Xor,
    /// `!a & b`.
    AndNot,
    Sqrt,
    /// To a whole number, with the rounding of the instruction.
    Round(u8),
    /// Absolute value of an integer with a sign.
    Abs,
    /// Smaller and larger integer.
    Min,
    Max,
    Shl,
    Shr,
    /// Truth of a comparison.
    Cmp(Pred),
    /// `b` where the comparison holds and the operand (`a`, or `b` if set) is a number, else `a`.
    Pick(Pred, bool),
    /// `b` where the bool `a` is true, else `c`.
    Select,
    /// `c` where the comparison of `a` and `b` holds, else `d`.
    SelectCmp(Pred),
    /// From another type.
    Convert,
    /// The real part in place of both, or the imaginary one if set.
    Twice(bool),
    /// The parts in each other's place.
    Swap,
    /// `a * b - c` for real parts and `a * b + c` for imaginary ones, rounded once.
    MulSubAdd,
    /// The real part of `a` and the imaginary one of `b`.
    Ends,
}

/// Where a single value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// At the address of this argument.
    Arg(usize),
    Konst(Konst),
}

/// How a value is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Node {
    /// Elements of an argument.
    Load(usize),
    /// One value everywhere.
    Splat(Source),
    /// An operation on values: as many as it has.
    Op(Mop, [usize; 4], usize),
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Value {
    pub(crate) node: Node,
    pub(crate) ty: Ty,
}

impl Value {
    /// Its operands.
    pub(crate) fn operands(&self) -> &[usize] {
        match &self.node {
            Node::Op(_, operands, count) => &operands[..*count],
            Node::Load(_) | Node::Splat(_) => &[],
        }
    }
}

/// A value that is written to an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Store {
    pub(crate) value: usize,
    pub(crate) arg: usize,
    /// After everything was read, because the argument may be read too.
    pub(crate) late: bool,
    /// Around the caches.
    pub(crate) around: bool,
}

/// The code of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Code {
    pub(crate) values: Vec<Value>,
    pub(crate) stores: Vec<Store>,
    /// Arguments whose lines are asked for ahead of time, and their element sizes.
    pub(crate) ahead: Vec<(usize, usize)>,
    /// The instruction set has no masks: bools fill whole elements.
    pub(crate) wide_truth: bool,
}

impl Code {
    /// The value of this node; an equal one if there is one.
    pub(crate) fn value(&mut self, node: Node, ty: Ty) -> usize {
        let value = Value { node, ty };
        let known = self.values.iter().position(|v| *v == value);
        known.unwrap_or_else(|| {
            self.values.push(value);
            self.values.len() - 1
        })
    }

    fn op(&mut self, mop: Mop, ty: Ty, operands: &[usize]) -> usize {
        let mut all = [0; 4];
        all[..operands.len()].copy_from_slice(operands);
        self.value(Node::Op(mop, all, operands.len()), ty)
    }

    fn konst(&mut self, konst: Konst, ty: Ty) -> usize {
        self.value(Node::Splat(Source::Konst(konst)), ty)
    }

    /// Bytes of the largest element.
    pub(crate) fn widest(&self) -> usize {
        self.values.iter().map(|v| v.ty.size()).max().unwrap_or(1)
    }

    /// True if masks of parts are needed beside those of elements.
    pub(crate) fn has_complex(&self) -> bool {
        self.values.iter().any(|v| v.ty.is_complex())
    }

    /// True if there are bools beside elements of 16 bytes.
    pub(crate) fn has_bools_of_16_bytes(&self) -> bool {
        self.widest() > 8 && self.values.iter().any(|v| v.ty == Ty::Bool)
    }

    /// The arguments that are written around the caches, and their element sizes.
    pub(crate) fn streams(&self) -> impl Iterator<Item = (usize, usize)> {
        let around = self.stores.iter().filter(|store| store.around);
        around.map(|store| (store.arg, self.values[store.value].ty.size()))
    }

    /// Adds a primitive; `None` if there is no code for it.
    pub(crate) fn verb(&mut self, verb: Verb, operands: &[usize]) -> Option<usize> {
        let (from, to) = (Ty::of(verb.first)?, Ty::of(verb.to)?);
        Ty::of(verb.second)?;
        match (verb.prim, operands) {
            (Prim::Cast, &[a]) => self.cast(from, to, a),
            (Prim::Select, &[a, b, c]) => Some(self.select(to, [a, b, c])),
            (prim, &[a]) if from.is_complex() => self.complex_unary(prim, from, a),
            (prim, &[a, b]) if from.is_complex() => self.complex_binary(prim, from, a, b),
            (prim, &[a]) if from == Ty::Bool => {
                matches!(prim, Prim::Not).then(|| self.not(Ty::Bool, a))
            }
            (prim, &[a, b]) if from == Ty::Bool => self.logic(prim, a, b),
            (prim, &[a]) if from.is_float() => self.float_unary(prim, from, a),
            (prim, &[a, b]) if from.is_float() => self.float_binary(prim, from, a, b),
            (prim, &[a]) => self.integer_unary(prim, from, a),
            (prim, &[a, b]) => self.integer_binary(prim, from, a, b),
            _ => None,
        }
    }

    /// The choice; a comparison that nothing else has used so far is done on the way.
    fn select(&mut self, to: Ty, [a, b, c]: [usize; 3]) -> usize {
        if let Value {
            node: Node::Op(Mop::Cmp(pred), [x, y, ..], 2),
            ..
        } = self.values[a]
            && !to.is_complex()
        {
            return self.op(Mop::SelectCmp(pred), to, &[x, y, b, c]);
        }
        self.op(Mop::Select, to, &[a, b, c])
    }

    fn compare(&mut self, pred: Pred, a: usize, b: usize) -> usize {
        self.op(Mop::Cmp(pred), Ty::Bool, &[a, b])
    }

    fn not(&mut self, ty: Ty, a: usize) -> usize {
        let konst = if ty == Ty::Bool && !self.wide_truth {
            Konst::Truth
        } else {
            Konst::Ones
        };
        let ones = self.konst(konst, ty);
        self.op(Mop::Xor, ty, &[a, ones])
    }

    fn logic(&mut self, prim: Prim, a: usize, b: usize) -> Option<usize> {
        let ty = Ty::Bool;
        Some(match prim {
            Prim::And | Prim::Mul | Prim::Min | Prim::Fmin => self.op(Mop::And, ty, &[a, b]),
            Prim::Or | Prim::Add | Prim::Max | Prim::Fmax => self.op(Mop::Or, ty, &[a, b]),
            Prim::Xor | Prim::Ne => self.op(Mop::Xor, ty, &[a, b]),
            Prim::Eq => {
                let differ = self.op(Mop::Xor, ty, &[a, b]);
                self.not(ty, differ)
            }
            Prim::Lt => self.op(Mop::AndNot, ty, &[a, b]),
            Prim::Le => {
                let not = self.not(ty, a);
                self.op(Mop::Or, ty, &[not, b])
            }
            _ => return None,
        })
    }

    fn float_unary(&mut self, prim: Prim, ty: Ty, a: usize) -> Option<usize> {
        let double = ty == Ty::F64;
        let pick = |wide, narrow| if double { wide } else { narrow };
        let sign = pick(Konst::Sign64, Konst::Sign32);
        let abs = pick(Konst::Abs64, Konst::Abs32);
        let one = pick(Konst::One64, Konst::One32);
        let inf = pick(Konst::Inf64, Konst::Inf32);
        let whole = if double { Ty::I64 } else { Ty::I32 };
        let magnitude = |code: &mut Code| {
            let mask = code.konst(abs, ty);
            code.op(Mop::And, ty, &[a, mask])
        };
        Some(match prim {
            Prim::Neg => {
                let mask = self.konst(sign, ty);
                self.op(Mop::Xor, ty, &[a, mask])
            }
            Prim::Abs => magnitude(self),
            Prim::Sqrt => self.op(Mop::Sqrt, ty, &[a]),
            Prim::Square => self.op(Mop::Mul, ty, &[a, a]),
            Prim::Reciprocal => {
                let one = self.konst(one, ty);
                self.op(Mop::Div, ty, &[one, a])
            }
            // Bit 3 keeps the instruction from noting that it was not exact.
            Prim::Rint => self.op(Mop::Round(8), ty, &[a]),
            Prim::Floor => self.op(Mop::Round(9), ty, &[a]),
            Prim::Ceil => self.op(Mop::Round(10), ty, &[a]),
            Prim::Trunc => self.op(Mop::Round(11), ty, &[a]),
            Prim::IsNan => self.compare(Pred::Unordered, a, a),
            Prim::IsInf | Prim::IsFinite => {
                let (magnitude, inf) = (magnitude(self), self.konst(inf, ty));
                let pred = if prim == Prim::IsInf {
                    Pred::Eq
                } else {
                    Pred::Lt
                };
                self.compare(pred, magnitude, inf)
            }
            Prim::SignBit => {
                // The same register, seen as integers.
                let zero = self.konst(Konst::Zero, whole);
                let bits = self.op(Mop::Or, whole, &[a, zero]);
                self.compare(Pred::Lt, bits, zero)
            }
            _ => return None,
        })
    }

    fn float_binary(&mut self, prim: Prim, ty: Ty, a: usize, b: usize) -> Option<usize> {
        let (sign, abs) = if ty == Ty::F64 {
            (Konst::Sign64, Konst::Abs64)
        } else {
            (Konst::Sign32, Konst::Abs32)
        };
        Some(match prim {
            Prim::Add => self.op(Mop::Add, ty, &[a, b]),
            Prim::Sub => self.op(Mop::Sub, ty, &[a, b]),
            Prim::Mul => self.op(Mop::Mul, ty, &[a, b]),
            Prim::Div => self.op(Mop::Div, ty, &[a, b]),
            Prim::Min => self.op(Mop::Pick(Pred::NotLt, false), ty, &[a, b]),
            Prim::Max => self.op(Mop::Pick(Pred::NotGt, false), ty, &[a, b]),
            Prim::Fmin => self.op(Mop::Pick(Pred::NotLt, true), ty, &[a, b]),
            Prim::Fmax => self.op(Mop::Pick(Pred::NotGt, true), ty, &[a, b]),
            Prim::Eq => self.compare(Pred::Eq, a, b),
            Prim::Ne => self.compare(Pred::Ne, a, b),
            Prim::Lt => self.compare(Pred::Lt, a, b),
            Prim::Le => self.compare(Pred::Le, a, b),
            Prim::CopySign => {
                let (abs, sign) = (self.konst(abs, ty), self.konst(sign, ty));
                let magnitude = self.op(Mop::And, ty, &[a, abs]);
                let sign = self.op(Mop::And, ty, &[b, sign]);
                self.op(Mop::Or, ty, &[magnitude, sign])
            }
            _ => return None,
        })
    }

    fn integer_unary(&mut self, prim: Prim, ty: Ty, a: usize) -> Option<usize> {
        Some(match prim {
            Prim::Neg => {
                let zero = self.konst(Konst::Zero, ty);
                self.op(Mop::Sub, ty, &[zero, a])
            }
            Prim::Abs if ty.is_signed() => self.op(Mop::Abs, ty, &[a]),
            Prim::Not => self.not(ty, a),
            Prim::Square if ty.size() > 1 => self.op(Mop::Mul, ty, &[a, a]),
            _ => return None,
        })
    }

    fn integer_binary(&mut self, prim: Prim, ty: Ty, a: usize, b: usize) -> Option<usize> {
        let wide = ty.size() >= 4;
        Some(match prim {
            Prim::Add => self.op(Mop::Add, ty, &[a, b]),
            Prim::Sub => self.op(Mop::Sub, ty, &[a, b]),
            Prim::Mul if ty.size() > 1 => self.op(Mop::Mul, ty, &[a, b]),
            Prim::Min | Prim::Fmin => self.op(Mop::Min, ty, &[a, b]),
            Prim::Max | Prim::Fmax => self.op(Mop::Max, ty, &[a, b]),
            Prim::And => self.op(Mop::And, ty, &[a, b]),
            Prim::Or => self.op(Mop::Or, ty, &[a, b]),
            Prim::Xor => self.op(Mop::Xor, ty, &[a, b]),
            Prim::Shl if wide => self.op(Mop::Shl, ty, &[a, b]),
            Prim::Shr if wide => self.op(Mop::Shr, ty, &[a, b]),
            Prim::Eq => self.compare(Pred::Eq, a, b),
            Prim::Ne => self.compare(Pred::Ne, a, b),
            Prim::Lt => self.compare(Pred::Lt, a, b),
            Prim::Le => self.compare(Pred::Le, a, b),
            _ => return None,
        })
    }

    fn complex_unary(&mut self, prim: Prim, ty: Ty, a: usize) -> Option<usize> {
        let double = ty == Ty::C128;
        let signs = if double { Konst::Sign64 } else { Konst::Sign32 };
        Some(match prim {
            Prim::Neg => {
                let signs = self.konst(signs, ty);
                self.op(Mop::Xor, ty, &[a, signs])
            }
            Prim::Conj => {
                // The sign of eight bytes is that of the imaginary part in single precision.
                let signs = self.konst(Konst::Sign64, ty);
                let turned = self.op(Mop::Xor, ty, &[a, signs]);
                if double {
                    self.op(Mop::Ends, ty, &[a, turned])
                } else {
                    turned
                }
            }
            Prim::Square => self.complex_product(ty, a, a),
            _ => return None,
        })
    }

    fn complex_binary(&mut self, prim: Prim, ty: Ty, a: usize, b: usize) -> Option<usize> {
        Some(match prim {
            Prim::Add => self.op(Mop::Add, ty, &[a, b]),
            Prim::Sub => self.op(Mop::Sub, ty, &[a, b]),
            Prim::Mul => self.complex_product(ty, a, b),
            _ => return None,
        })
    }

    /// The product, one of the two products of each part not rounded, as in the kernel of tiles.
    fn complex_product(&mut self, ty: Ty, a: usize, b: usize) -> usize {
        let real = self.op(Mop::Twice(false), ty, &[a]);
        let imaginary = self.op(Mop::Twice(true), ty, &[a]);
        let swapped = self.op(Mop::Swap, ty, &[b]);
        let cross = self.op(Mop::Mul, ty, &[imaginary, swapped]);
        self.op(Mop::MulSubAdd, ty, &[real, b, cross])
    }

    fn cast(&mut self, from: Ty, to: Ty, a: usize) -> Option<usize> {
        if from.is_complex() || to.is_complex() {
            let direct = to.is_complex() && (from.is_complex() || from == to.parts());
            return direct.then(|| self.op(Mop::Convert, to, &[a]));
        }
        if to == Ty::Bool {
            let zero = self.konst(Konst::Zero, from);
            return Some(self.compare(Pred::Ne, a, zero));
        }
        // Through another type where there is no direct way: NumPy's casts go the same way.
        let by = match (from, to) {
            (Ty::F32 | Ty::F64, Ty::U64) => return None,
            (Ty::F32 | Ty::F64, Ty::U32) => Ty::I64,
            (Ty::F32 | Ty::F64, Ty::I8 | Ty::U8 | Ty::I16 | Ty::U16)
            | (Ty::Bool | Ty::I8 | Ty::U8 | Ty::I16 | Ty::U16, Ty::F32 | Ty::F64) => Ty::I32,
            _ => return Some(self.op(Mop::Convert, to, &[a])),
        };
        let half_way = self.op(Mop::Convert, by, &[a]);
        Some(self.op(Mop::Convert, to, &[half_way]))
    }
}

/// True when there is code for the primitive; `wide_truth` as in [`Code`]. What the processor lacks is
/// the matter of `fits`.
pub(crate) fn takes(verb: Verb, wide_truth: bool, fits: impl Fn(&Code, &Value) -> bool) -> bool {
    let mut code = Code {
        wide_truth,
        ..Code::default()
    };
    let dtypes: &[DType] = match (verb.prim, verb.prim.arity()) {
        (Prim::Select, _) => &[DType::Bool, verb.to, verb.to],
        (_, arrayloom_ir::Arity::Unary) => &[verb.first],
        _ => &[verb.first, verb.second],
    };
    let mut operands = Vec::with_capacity(3);
    for (i, &dtype) in dtypes.iter().enumerate() {
        let Some(ty) = Ty::of(dtype) else {
            return false;
        };
        operands.push(code.value(Node::Load(i), ty));
    }
    code.verb(verb, &operands).is_some() && code.values.iter().all(|v| fits(&code, v))
}

/// Which operands are single values.
pub(crate) fn splats(splat: Splat) -> [bool; 3] {
    [splat == Splat::A, splat == Splat::B, false]
}
