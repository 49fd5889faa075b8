//! From a draft to an entry and the values of its parameters.

use crate::access::unit_bytes;
use crate::conditions::Watch;
use crate::dims::{magic, points, reach};
use crate::draft::{Draft, Lowering, Operand, small_number};
use crate::entry::{Entry, Form, Param, Source, Stride, View};
use crate::lower::{ArgValue, Memory, SMALL, Step};
use crate::watch::MET;
use arrayloom_device::Arg;
use arrayloom_ir::{Ins, Prim};
use arrayloom_types::Scalar;

impl Lowering<'_> {
    /// Adds a step.
    pub(super) fn push(
        &mut self,
        draft: &Draft,
        groups: [u64; 3],
        numbers: &[(&str, usize)],
        initial: Option<Scalar>,
    ) -> Result<(), String> {
        let small = points(&draft.dims) < SMALL;
        let mut views: Vec<View> = Vec::new();
        for (number, operand) in draft.operands.iter().enumerate() {
            views.push(self.view(draft, number, *operand, small));
        }
        let reach_of = |(n, view): (usize, &View)| {
            reach(&draft.dims, n) / unit_bytes(view.dtype, view.aligned)
        };
        let far = views.iter().enumerate().map(reach_of).max().unwrap_or(0);
        let items = numbers
            .iter()
            .find(|(name, _)| *name == "items")
            .map_or(0, |n| n.1);
        let longest = draft.dims.iter().map(|d| d.extent).max().unwrap_or(0);
        let total: usize = points(&draft.dims[draft.kept..]);
        let limit = 1 << 31;
        let wide = [far, items, longest, total].into_iter().any(|n| n >= limit);
        let mut next = views.iter().cloned();
        let mut ins = Vec::new();
        for (number, &input) in draft.inputs.iter().enumerate() {
            let tabled = draft
                .code
                .iter()
                .any(|i| i.prim == Prim::Gather && i.b as usize == number);
            if input == usize::MAX || self.is_view(input) {
                let view = next.next().ok_or("an input without a view")?;
                ins.push(if tabled {
                    Source::Table(view)
                } else {
                    Source::View(view)
                });
            } else {
                ins.push(Source::Value(self.kernel.inputs[input]));
            }
        }
        let outs: Vec<(u32, View)> = draft.outs.iter().map(|(v, _)| *v).zip(next).collect();
        let axes = draft.dims.iter().enumerate();
        let entry = Entry {
            code: draft.code.clone(),
            apart: self.apart(draft) && !ins.iter().any(|s| matches!(s, Source::Table(_))),
            watch: self.watch_of(draft),
            ins,
            outs,
            form: draft.form,
            dims: small_number(draft.dims.len()),
            kept: small_number(draft.kept),
            stream: small_number(draft.stream),
            iota: axes
                .filter_map(|(d, dim)| dim.axis.map(|a| (a, small_number(d))))
                .collect(),
            wide,
            leaves: self.target.cores
                && match draft.form {
                    Form::Map => draft.watch != Watch::Nothing,
                    form => matches!(form, Form::Fold { .. } | Form::Tree),
                },
        };
        let args = self.args(draft, &entry, numbers, initial)?;
        self.steps.list.push(Step {
            entry,
            args,
            groups,
        });
        Ok(())
    }

    /// What the text knows of an operand.
    fn view(&self, draft: &Draft, number: usize, operand: Operand, small: bool) -> View {
        let dtype = operand.dtype;
        let tabled = |i: usize| {
            let reads = |ins: &Ins| ins.prim == Prim::Gather && draft.inputs[ins.b as usize] == i;
            draft.code.iter().any(reads)
        };
        let part = unit_bytes(dtype, true) as u64;
        let start = match self.arg(operand.memory) {
            Some(Arg::View { buf, offset, .. }) => buf.0.wrapping_add_signed(*offset as i64),
            _ => 0,
        };
        let steps = draft.dims.iter().map(|d| d.strides[number]);
        let mut starts = steps
            .clone()
            .map(|s| s.unsigned_abs() as u64)
            .chain([start]);
        let by_number = match operand.memory {
            Memory::In(i) => tabled(i),
            Memory::Out(_) => matches!(draft.form, Form::Scatter { .. }),
            Memory::Scratch(_) => false,
        };
        let aligned = starts.all(|s| s % part == 0) && !by_number;
        let last = draft.dims.len().wrapping_sub(1);
        let known = |(dim, step): (usize, isize)| {
            let first = draft.operands.len() - draft.outs.len();
            let folded = dim >= draft.kept && number == first;
            let scanned = matches!(draft.form, Form::Scan { .. } | Form::Scatter { .. });
            if folded && !scanned {
                Stride::Zero
            } else if small {
                Stride::Any
            } else if step == 0 {
                Stride::Zero
            } else if dim == last && step == dtype.size().cast_signed() {
                Stride::Unit
            } else {
                Stride::Any
            }
        };
        View {
            dtype,
            aligned,
            strides: steps.enumerate().map(known).collect(),
        }
    }

    /// True when no result of the draft shares memory with an operand.
    pub(super) fn apart(&self, draft: &Draft) -> bool {
        let range = |number: usize, operand: &Operand| {
            let Some(Arg::View { buf, offset, .. }) = self.arg(operand.memory) else {
                return None;
            };
            let (mut low, mut high) = (
                *offset as i128,
                *offset as i128 + operand.dtype.size() as i128,
            );
            for dim in &draft.dims {
                let way = (dim.extent as i128 - 1) * dim.strides[number] as i128;
                (low, high) = (low + way.min(0), high + way.max(0));
            }
            let base = if self.target.unified {
                i128::from(buf.0)
            } else {
                0
            };
            Some((buf.0, low + base, high + base))
        };
        let ranges: Vec<_> = draft
            .operands
            .iter()
            .enumerate()
            .map(|(n, o)| range(n, o))
            .collect();
        let outs = draft.operands.len() - draft.outs.len();
        let meets = |a: (u64, i128, i128), b: (u64, i128, i128)| {
            (self.target.unified || a.0 == b.0) && a.1 < b.2 && b.1 < a.2
        };
        let pairs = ranges[outs..].iter().flatten();
        !pairs
            .into_iter()
            .any(|out| ranges[..outs].iter().flatten().any(|i| meets(*out, *i)))
    }

    fn args(
        &self,
        draft: &Draft,
        entry: &Entry,
        numbers: &[(&str, usize)],
        initial: Option<Scalar>,
    ) -> Result<Vec<ArgValue>, String> {
        // The operand that an input is: inputs that are values have none.
        let view_of = |input: usize| {
            let before = entry.ins[..input].iter();
            before.filter(|s| !matches!(s, Source::Value(_))).count()
        };
        let outs = draft.operands.len() - draft.outs.len();
        let unit = |operand: usize| {
            let (dtype, view) = (
                draft.operands[operand].dtype,
                if operand < outs {
                    entry.ins.iter().filter_map(view_in).nth(operand)
                } else {
                    Some(&entry.outs[operand - outs].1)
                },
            );
            unit_bytes(dtype, view.is_some_and(|v| v.aligned))
        };
        let index = |value: isize| whole(value as i64, if entry.wide { 8 } else { 4 });
        let offset = |operand: usize| ArgValue::Offset {
            memory: draft.operands[operand].memory,
            unit: unit(operand),
        };
        let stride = |operand: usize, dim: usize| {
            index(draft.dims[dim].strides[operand] / unit(operand).cast_signed())
        };
        let mut args = Vec::new();
        for param in entry.params() {
            match param {
                Param::In(i) => args.push(ArgValue::Block(draft.operands[view_of(i)].memory)),
                Param::Out(i) => args.push(ArgValue::Block(draft.operands[outs + i].memory)),
                Param::InOffset(i) => args.push(offset(view_of(i))),
                Param::OutOffset(i) => args.push(offset(outs + i)),
                Param::InStride(i, d) => args.push(stride(view_of(i), d)),
                Param::OutStride(i, d) => args.push(stride(outs + i, d)),
                Param::Extent(d) => args.push(index(draft.dims[d].extent.cast_signed())),
                Param::Magic(d) | Param::Shift(d) => {
                    let n = u32::try_from(draft.dims[d].extent);
                    let (factor, shift) =
                        magic(n.map_err(|_long| "an axis of more than 2^32".to_owned())?);
                    let word = if matches!(param, Param::Magic(_)) {
                        factor
                    } else {
                        shift
                    };
                    args.push(whole(i64::from(word), 4));
                }
                Param::Scratch(i) => args.push(ArgValue::Block(Memory::Scratch(i))),
                Param::Met => args.push(ArgValue::Block(Memory::Scratch(MET))),
                Param::Number("slot") => {
                    let slot = self.slot.unwrap_or(0);
                    args.push(whole(slot.cast_signed() as i64, 8));
                }
                Param::Number(name) => {
                    let found = numbers.iter().find(|(n, _)| *n == name);
                    let number = found.map_or(0, |n| n.1);
                    args.push(whole(number.cast_signed() as i64, 8));
                }
                Param::Value(i) => {
                    let input = draft.inputs[i];
                    let Arg::Scalar(scalar) = self.launch.ins[input] else {
                        return Err("a view where a value was".to_owned());
                    };
                    let (size, whole) = (scalar.dtype.real().size(), scalar.dtype.size());
                    let parts = (0..whole).step_by(size);
                    args.extend(parts.map(|from| ArgValue::Value { input, from, size }));
                }
                Param::Initial => args.extend(initial.iter().flat_map(parts_of)),
            }
        }
        Ok(args)
    }
}

fn view_in(source: &Source) -> Option<&View> {
    match source {
        Source::View(view) | Source::Table(view) => Some(view),
        Source::Value(_) => None,
    }
}
/// A whole number as a parameter of 4 or 8 bytes.
fn whole(value: i64, size: usize) -> ArgValue {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&value.to_le_bytes());
    ArgValue::Bytes(bytes, size)
}

/// A value as parameters: complex numbers are two.
fn parts_of(scalar: &Scalar) -> Vec<ArgValue> {
    let size = scalar.dtype.real().size();
    let part = |from: usize| {
        let mut bytes = [0; 16];
        bytes[..size].copy_from_slice(&scalar.bytes[from..from + size]);
        ArgValue::Bytes(bytes, size)
    };
    if scalar.dtype.is_complex() {
        vec![part(0), part(size)]
    } else {
        vec![part(0)]
    }
}
