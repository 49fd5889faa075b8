//! From instructions to the steps of a tile: kernels chosen, conversions taken apart, uniform values
//! computed once.
//!
//! Steps (`step`) work on *places*: values of this tile, lanes read in place, uniform values. `program`
//! turns values into buffers.

#![expect(
    unsafe_code,
    reason = "uniform values are computed by running kernels on single elements"
)]

use crate::Isa;
use crate::cell::Cell;
use crate::config::{HostLoop, HostLoops};
use crate::jit::Jit;
use crate::kern::{Found, Splat, find, toward_half};
use crate::mxcsr;
use crate::nest::Nest;
use crate::setup::{Setup, Source};
use crate::step::{HostCall, Lowered, Place, Step, Verb, note};
use arrayloom_ir::{Arity, Ins, Kernel, Prim};
use arrayloom_types::{DType, Scalar};
use std::sync::atomic::AtomicU8;

/// A value while lowering.
#[derive(Clone, Copy, Debug)]
enum Val {
    Uniform(usize),
    /// One value for each row.
    Row(usize),
    Tile(Place),
}

/// What lowering reads.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) setup: &'a Setup,
    pub(crate) loops: &'a HostLoops,
    pub(crate) isa: Isa,
    pub(crate) flags: Option<&'a [AtomicU8]>,
    /// The compiler, if steps are to be compiled.
    pub(crate) jit: Option<&'a Jit>,
}

/// Alignment that tiles of elements of `size` bytes need.
pub(crate) fn tile_align(size: usize) -> usize {
    size.min(8)
}

/// True when tiles of a lane can be used in place.
pub(crate) fn in_place(nest: &Nest, span: bool, lane: usize, size: usize) -> bool {
    let contiguous = if span {
        nest.is_flat(lane, size)
    } else {
        nest.step(lane) == size.cast_signed()
    };
    contiguous && nest.is_aligned(lane, tile_align(size))
}

fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The walk over the instructions.
pub(crate) struct Lower<'a> {
    facts: Facts<'a>,
    /// Tiles run over the ends of rows.
    span: bool,
    vals: Vec<Option<Val>>,
    /// Row lanes that stand in a tile already.
    spread: Vec<(usize, Place)>,
    /// Bools in memory, by their instructions, as bytes of 0 and 1.
    truths: Vec<(u32, Val)>,
    out: Lowered,
}

impl<'a> Lower<'a> {
    pub(crate) fn new(facts: Facts<'a>, span: bool) -> Lower<'a> {
        Lower {
            facts,
            span,
            vals: vec![None; facts.kernel.code.len()],
            spread: Vec::new(),
            truths: Vec::new(),
            out: Lowered::default(),
        }
    }

    pub(crate) fn finish(self) -> Lowered {
        self.out
    }

    pub(crate) fn push(&mut self, step: Step<Place>) {
        self.out.steps.push(step);
    }

    /// Lowers instruction `at` if it is not a leaf; leaves wait for their first user.
    ///
    /// # Errors
    /// The primitive and dtypes that have no kernel.
    pub(crate) fn instruction(&mut self, at: usize) -> Result<(), String> {
        let ins = self.facts.kernel.code[at];
        let code = &self.facts.kernel.code;
        let dtype = |v: u32| code[v as usize].dtype;
        let (first, second) = (dtype(ins.a.min(last(code))), dtype(ins.b.min(last(code))));
        let val = match ins.prim.arity() {
            Arity::Leaf => return Ok(()),
            Arity::Unary if ins.prim == Prim::Gather => {
                let by = self.operand(ins.a)?;
                let by = self.tile(by, DType::I64.size());
                self.reach(&ins, by)?
            }
            Arity::Unary => {
                let a = self.operand(ins.a)?;
                self.emit(Want::new(ins.prim, (first, first), ins.dtype, at), &[a])?
            }
            Arity::Binary => {
                let ops = [self.operand(ins.a)?, self.operand(ins.b)?];
                self.emit(Want::new(ins.prim, (first, second), ins.dtype, at), &ops)?
            }
            Arity::Ternary => {
                // Any byte but zero chooses.
                let ops = [
                    self.value(ins.a)?,
                    self.operand(ins.b)?,
                    self.operand(ins.c)?,
                ];
                self.emit(Want::new(ins.prim, (first, second), ins.dtype, at), &ops)?
            }
        };
        self.vals[at] = Some(val);
        Ok(())
    }

    /// The elements of a table that lie `by` bytes away.
    fn reach(&mut self, ins: &Ins, by: Place) -> Result<Val, String> {
        let Source::Lane(lane) = self.facts.setup.sources[ins.b as usize] else {
            return Err("a table that is no memory".to_owned());
        };
        let size = ins.dtype.size();
        let to = self.fresh(size);
        self.push(Step::Reach { lane, size, by, to });
        Ok(Val::Tile(to))
    }

    /// A value in a tile, converted to `dtype`.
    ///
    /// # Errors
    /// As for [`Lower::instruction`].
    pub(crate) fn tile_as(&mut self, at: usize, dtype: DType) -> Result<Place, String> {
        let own = self.facts.kernel.code[at].dtype;
        let val = self.operand(number(at))?;
        let val = self.cast(val, own, dtype, at)?;
        Ok(self.tile(val, dtype.size()))
    }

    /// A value in a tile, byte for byte.
    ///
    /// # Errors
    /// As for [`Lower::instruction`].
    pub(crate) fn copied(&mut self, at: usize) -> Result<Place, String> {
        let val = self.value(number(at))?;
        Ok(self.tile(val, self.facts.kernel.code[at].dtype.size()))
    }

    /// The tile itself if it is a value of this program; a copy of it if it is memory.
    pub(crate) fn own(&mut self, place: Place, size: usize) -> Place {
        let Place::Lane(lane) = place else {
            return place;
        };
        let to = self.fresh(size);
        self.push(Step::Gather { lane, size, to });
        to
    }

    /// A value to compute with. In memory any byte but zero is true; kernels know the byte 1 only.
    fn operand(&mut self, number: u32) -> Result<Val, String> {
        let val = self.value(number)?;
        let ins = self.facts.kernel.code[number as usize];
        let memory = matches!(ins.prim, Prim::Input | Prim::Gather);
        if ins.dtype != DType::Bool || !memory || matches!(val, Val::Uniform(_)) {
            return Ok(val);
        }
        if let Some(&(_, truth)) = self.truths.iter().find(|(of, _)| *of == number) {
            return Ok(truth);
        }
        let mut one = Cell::default();
        one.0[0] = 1;
        let one = self.uniform(one);
        let bytes = (DType::U8, DType::U8);
        let want = Want::new(Prim::Min, bytes, DType::Bool, number as usize);
        let truth = self.emit(want, &[val, one])?;
        self.truths.push((number, truth));
        Ok(truth)
    }

    fn value(&mut self, number: u32) -> Result<Val, String> {
        let at = number as usize;
        if let Some(val) = self.vals[at] {
            return Ok(val);
        }
        let val = self.leaf(&self.facts.kernel.code[at])?;
        self.vals[at] = Some(val);
        Ok(val)
    }

    fn leaf(&mut self, ins: &Ins) -> Result<Val, String> {
        let setup = self.facts.setup;
        match ins.prim {
            Prim::Const => {
                let mut cell = Cell::default();
                cell.0[..8].copy_from_slice(&ins.bits.to_le_bytes());
                Ok(self.uniform(cell))
            }
            Prim::Iota => match setup.iotas[ins.a as usize] {
                Some(lane) => {
                    let to = self.fresh(8);
                    self.push(Step::Iota { lane, to });
                    Ok(Val::Tile(to))
                }
                None => Err("an index without a lane".to_owned()),
            },
            _ => match setup.sources[ins.a as usize] {
                Source::Uniform(scalar) => Ok(self.scalar(scalar, ins.a as usize)),
                Source::Lane(lane) => Ok(self.lane(lane, ins.dtype.size())),
                Source::Unused => Err("an input without a source".to_owned()),
            },
        }
    }

    fn scalar(&mut self, scalar: Scalar, input: usize) -> Val {
        self.out.inputs.push((self.out.uniforms.len(), input));
        self.uniform(Cell(scalar.bytes))
    }

    fn uniform(&mut self, cell: Cell) -> Val {
        self.out.uniforms.push(cell);
        Val::Uniform(self.out.uniforms.len() - 1)
    }

    fn lane(&mut self, lane: usize, size: usize) -> Val {
        let (nest, span) = (&self.facts.setup.nest, self.span);
        if in_place(nest, span, lane, size) {
            return Val::Tile(Place::Lane(lane));
        }
        if !span && nest.step(lane) == 0 && nest.is_aligned(lane, tile_align(size)) {
            return Val::Row(lane);
        }
        let to = self.fresh(size);
        self.push(Step::Gather { lane, size, to });
        Val::Tile(to)
    }

    fn fresh(&mut self, size: usize) -> Place {
        self.out.sizes.push(size);
        Place::Value(self.out.sizes.len() - 1)
    }

    /// The value as a tile.
    fn tile(&mut self, val: Val, size: usize) -> Place {
        match val {
            Val::Tile(place) => place,
            Val::Uniform(number) => {
                let known = self.out.filled.iter().position(|&f| f == (number, size));
                Place::Filled(known.unwrap_or_else(|| {
                    self.out.filled.push((number, size));
                    self.out.filled.len() - 1
                }))
            }
            Val::Row(lane) => {
                if let Some(&(_, place)) = self.spread.iter().find(|(l, _)| *l == lane) {
                    return place;
                }
                let to = self.fresh(size);
                self.push(Step::Gather { lane, size, to });
                self.spread.push((lane, to));
                to
            }
        }
    }

    fn cast(&mut self, val: Val, from: DType, to: DType, ins: usize) -> Result<Val, String> {
        if from == to {
            return Ok(val);
        }
        self.emit(Want::new(Prim::Cast, (from, from), to, ins), &[val])
    }

    /// Adds the steps of one primitive.
    fn emit(&mut self, want: Want, ops: &[Val]) -> Result<Val, String> {
        if want.prim == Prim::Cast {
            if let Some(val) = self.cast_in_parts(&want, ops[0])? {
                return Ok(val);
            }
        } else if let Some(host) = self.host(&want) {
            return Ok(self.call(&want, host, ops));
        } else if want.first == DType::F16 && !matches!(want.prim, Prim::Spacing | Prim::NextAfter)
        {
            return self.in_single(&want, ops);
        }
        let uniform: Option<Vec<usize>> = ops
            .iter()
            .map(|op| match op {
                Val::Uniform(number) => Some(*number),
                _ => None,
            })
            .collect();
        if let Some(numbers) = uniform {
            let found = self.find(&want, Splat::No).ok_or_else(|| want.missing())?;
            return Ok(self.evaluate(&want, found, &numbers));
        }
        let (found, from, splat) = self.operands(&want, ops)?;
        let to = self.fresh(want.to.size());
        let verb = (!want.toward_half).then_some(Verb {
            prim: want.prim,
            first: want.first,
            second: want.second,
            to: want.to,
            splat,
        });
        self.push(Step::Run {
            found,
            verb,
            from,
            to,
            ins: want.ins,
        });
        Ok(Val::Tile(to))
    }

    /// The kernel and its operands, single values left as they are where a kernel takes them.
    fn operands(&mut self, want: &Want, ops: &[Val]) -> Result<(Found, [Place; 3], Splat), String> {
        if let &[a, b] = ops {
            let splat = match (a, b) {
                (Val::Tile(x), Val::Uniform(n)) => Some((Splat::B, [x, Place::Uniform(n)])),
                (Val::Tile(x), Val::Row(l)) => Some((Splat::B, [x, Place::Lane(l)])),
                (Val::Uniform(n), Val::Tile(y)) => Some((Splat::A, [Place::Uniform(n), y])),
                (Val::Row(l), Val::Tile(y)) => Some((Splat::A, [Place::Lane(l), y])),
                _ => None,
            };
            if let Some((splat, [x, y])) = splat
                && let Some(found) = self.find(want, splat)
            {
                return Ok((found, [x, y, Place::None], splat));
            }
        }
        let found = self.find(want, Splat::No).ok_or_else(|| want.missing())?;
        let mut from = [Place::None; 3];
        for (i, (&op, place)) in ops.iter().zip(&mut from).enumerate() {
            *place = self.tile(op, want.size(i));
        }
        Ok((found, from, Splat::No))
    }

    fn find(&self, want: &Want, splat: Splat) -> Option<Found> {
        if want.toward_half {
            return (splat == Splat::No).then(|| toward_half(self.facts.isa));
        }
        let operands = (want.first, want.second);
        find(want.prim, operands, want.to, self.facts.isa, splat)
    }

    /// Conversions that have no kernel of their own, as several that have.
    fn cast_in_parts(&mut self, want: &Want, val: Val) -> Result<Option<Val>, String> {
        let (from, to, ins) = (want.first, want.to, want.ins);
        let by = if want.toward_half || from == to {
            return Ok((from == to).then_some(val));
        } else if from.is_complex() && !to.is_complex() && to != DType::Bool {
            let part = Want::new(Prim::Real, (from, from), from.real(), ins);
            let part = self.emit(part, &[val])?;
            return self.cast(part, from.real(), to, ins).map(Some);
        } else if to.is_complex() && !from.is_complex() && from != to.real() {
            to.real()
        } else if from == DType::F64 && to == DType::F16 {
            let mut odd = Want::new(Prim::Cast, (from, from), DType::F32, ins);
            odd.toward_half = true;
            let odd = self.emit(odd, &[val])?;
            return self.cast(odd, DType::F32, to, ins).map(Some);
        } else if (from == DType::F16) != (to == DType::F16)
            && from != DType::F32
            && to != DType::F32
        {
            DType::F32
        } else {
            return Ok(None);
        };
        let half_way = self.cast(val, from, by, ins)?;
        self.cast(half_way, by, to, ins).map(Some)
    }

    /// Half precision: computed in single precision, rounded at the end.
    fn in_single(&mut self, want: &Want, ops: &[Val]) -> Result<Val, String> {
        let mut wide = Vec::with_capacity(ops.len());
        for (i, &op) in ops.iter().enumerate() {
            let dtype = if i == 0 { want.first } else { want.second };
            let half = dtype == DType::F16;
            wide.push(if half {
                self.cast(op, dtype, DType::F32, want.ins)?
            } else {
                op
            });
        }
        let widen = |d: DType| if d == DType::F16 { DType::F32 } else { d };
        let single = Want::new(
            want.prim,
            (DType::F32, widen(want.second)),
            widen(want.to),
            want.ins,
        );
        // The first of equal ones, where wider floats take the second.
        if want.prim.is_extreme() {
            wide.reverse();
        }
        let val = self.emit(single, &wide)?;
        self.cast(val, single.to, want.to, want.ins)
    }

    /// The host's loop, for primitives that have no vectorised kernel.
    fn host(&self, want: &Want) -> Option<HostLoop> {
        let float = want.first.is_float();
        let complex = want.first.is_complex();
        let wanted = match want.prim {
            Prim::FloorDiv | Prim::Rem | Prim::Fmod => float,
            Prim::Mul
            | Prim::Div
            | Prim::Abs
            | Prim::Sign
            | Prim::Square
            | Prim::Sqrt
            | Prim::Rint => complex,
            Prim::Reciprocal => !float,
            Prim::Gcd
            | Prim::Lcm
            | Prim::Pow
            | Prim::FloatPow
            | Prim::Atan2
            | Prim::Hypot
            | Prim::NextAfter
            | Prim::LogAddExp
            | Prim::LogAddExp2
            | Prim::Spacing => true,
            prim => prim >= Prim::Exp && prim <= Prim::Atanh || prim == Prim::Cbrt,
        };
        if !wanted {
            return None;
        }
        self.facts.loops.get(want.prim, want.first)
    }

    fn call(&mut self, want: &Want, host: HostLoop, ops: &[Val]) -> Val {
        let mut from = [Place::None; 2];
        let mut steps = [0; 3];
        let size = want.first.size();
        // NumPy takes a step of zero for a single exponent, for some of which it has other operations.
        let by_one = want.prim == Prim::Pow && want.first.is_float();
        for (i, &op) in ops.iter().take(2).enumerate() {
            (from[i], steps[i]) = match op {
                Val::Uniform(_) if by_one && i == 1 => (self.tile(op, size), size.cast_signed()),
                Val::Tile(place) => (place, size.cast_signed()),
                Val::Row(lane) => (Place::Lane(lane), 0),
                Val::Uniform(number) => (Place::Uniform(number), 0),
            };
        }
        let count = ops.len().min(2);
        steps[count] = want.to.size().cast_signed();
        let call = HostCall { host, count, steps };
        let to = self.fresh(want.to.size());
        self.push(Step::Host {
            call,
            from,
            to,
            ins: want.ins,
        });
        Val::Tile(to)
    }

    /// Runs a kernel on uniform values now.
    fn evaluate(&mut self, want: &Want, found: Found, numbers: &[usize]) -> Val {
        self.out.evaluated = true;
        let mut result = Cell::default();
        let cell = |i: usize| numbers.get(i).map_or([0; 16], |&n| self.out.uniforms[n].0);
        let cells = [Cell(cell(0)), Cell(cell(1)), Cell(cell(2))];
        let [a, b, c] = [0, 1, 2].map(|i| cells[i].0.as_ptr());
        let out = result.0.as_mut_ptr();
        // What came before is nobody's condition.
        mxcsr::take();
        // SAFETY: operands and result are single elements in aligned cells of their own.
        let answer = unsafe { (found.kern)(a, b, c, out, usize::from(found.scale)) };
        if let Some(flags) = self.facts.flags {
            note(flags, want.ins, found.raise, answer);
        }
        self.uniform(result)
    }
}

fn last(code: &[Ins]) -> u32 {
    u32::try_from(code.len().saturating_sub(1)).unwrap_or(u32::MAX)
}

/// One primitive to be lowered.
#[derive(Clone, Copy, Debug)]
struct Want {
    prim: Prim,
    first: DType,
    second: DType,
    to: DType,
    ins: usize,
    /// A conversion from `float64` to `float32` that is to be rounded further.
    toward_half: bool,
}

impl Want {
    fn new(prim: Prim, operands: (DType, DType), to: DType, ins: usize) -> Want {
        Want {
            prim,
            first: operands.0,
            second: operands.1,
            to,
            ins,
            toward_half: false,
        }
    }

    /// Element size of operand `i`.
    fn size(&self, i: usize) -> usize {
        match (self.prim, i) {
            (Prim::Select, 1 | 2) => self.to.size(),
            (_, 0) => self.first.size(),
            _ => self.second.size(),
        }
    }

    fn missing(&self) -> String {
        let (prim, from, to) = (self.prim.name(), self.first, self.to);
        format!("no kernel for {prim} from {from} to {to}")
    }
}
