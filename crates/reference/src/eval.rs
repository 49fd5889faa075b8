//! Runs a kernel: evaluates all instructions at a point, for all points.

#![expect(unsafe_code, reason = "a launch names memory by address")]

use crate::value::Val;
use crate::{arg, fold, memory, scalar};
use arrayloom_device::{Arg, Launch, points};
use arrayloom_ir::{Arity, Form, FpFlags, Ins, Kernel, Prim, ScatterMode};
use arrayloom_types::DType;
use std::cell::RefCell;
use std::sync::atomic::Ordering;

/// A kernel bound to a launch.
pub(crate) struct Run<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) launch: &'a Launch<'a>,
    /// What to write, and where, once everything is computed: outputs may lie on inputs.
    writes: RefCell<Vec<(usize, Val)>>,
}

/// Runs all outputs. The launch fits the kernel and the kernel is well formed.
///
/// # Errors
/// The words for an instruction that does not exist for its dtypes.
pub(crate) fn run(kernel: &Kernel, launch: &Launch<'_>) -> Result<(), String> {
    let run = Run {
        kernel,
        launch,
        writes: RefCell::default(),
    };
    for (number, output) in kernel.outputs.iter().enumerate() {
        match output.form {
            Form::Store | Form::Scatter { .. } => {}
            Form::Reduce { op, axes } => fold::reduce(&run, number, op, axes)?,
            Form::Arg { max, axes } => arg::arg(&run, number, max, axes)?,
            Form::Scan { op, axis } => fold::scan(&run, number, op, usize::from(axis))?,
        }
    }
    run.store_all()?;
    let scattered = run.scattered()?;
    for (at, value) in run.writes.into_inner() {
        // SAFETY: whoever calls `Device::run` vouches that the elements of an output lie in writable
        // memory that nobody else uses meanwhile.
        unsafe { memory::store(at, value) };
    }
    for (mode, at, value) in scattered {
        let mut flags = FpFlags::NONE;
        // SAFETY: whoever calls `Device::run` vouches that the element is there, and that nobody else
        // uses it meanwhile.
        let there = unsafe { memory::load(at, value.dtype()) };
        let value = match mode.prim() {
            None => Some(value),
            Some(prim) => scalar::binary(prim, value.dtype(), there, value, &mut flags),
        };
        let value = value.ok_or_else(|| format!("{mode:?} scatter of {}", there.dtype()))?;
        // SAFETY: as above.
        unsafe { memory::store(at, value) };
    }
    Ok(())
}

impl Run<'_> {
    /// The values of all instructions at a point.
    pub(crate) fn values(&self, index: &[usize]) -> Result<Vec<Val>, String> {
        let mut values: Vec<Val> = Vec::with_capacity(self.kernel.code.len());
        for (number, ins) in self.kernel.code.iter().enumerate() {
            let operand = |v: u32| values[v as usize];
            let mut flags = FpFlags::NONE;
            let value = match ins.prim.arity() {
                Arity::Leaf => self.leaf(number, index),
                Arity::Unary if ins.prim == Prim::Gather => self.gather(ins, operand(ins.a), index),
                Arity::Unary => scalar::unary(ins.prim, ins.dtype, operand(ins.a), &mut flags),
                Arity::Binary => {
                    let (a, b) = (operand(ins.a), operand(ins.b));
                    scalar::binary(ins.prim, ins.dtype, a, b, &mut flags)
                }
                Arity::Ternary => Some(match operand(ins.a) {
                    Val::Bool(false) => operand(ins.c),
                    _ => operand(ins.b),
                }),
            };
            self.flag(number, flags);
            values.push(value.ok_or_else(|| {
                format!(
                    "instruction {number} ({}) to {}",
                    ins.prim.name(),
                    ins.dtype
                )
            })?);
        }
        Ok(values)
    }

    /// The value of instruction `value` at a point.
    pub(crate) fn value(&self, value: u32, index: &[usize]) -> Result<Val, String> {
        self.values(index).map(|all| all[value as usize])
    }

    fn leaf(&self, number: usize, index: &[usize]) -> Option<Val> {
        let ins = &self.kernel.code[number];
        match ins.prim {
            Prim::Iota => index
                .get(ins.a as usize)
                .and_then(|&i| i128::try_from(i).ok())
                .map(|i| Val::Int(DType::I64, i)),
            Prim::Const => {
                let mut bytes = [0; 16];
                bytes[..8].copy_from_slice(&ins.bits.to_le_bytes());
                Some(Val::from_bytes(ins.dtype, bytes))
            }
            _ => match &self.launch.ins[ins.a as usize] {
                Arg::Scalar(s) => Some(Val::from_bytes(ins.dtype, s.bytes)),
                view @ Arg::View { .. } => view.address(index).map(|at| {
                    // SAFETY: whoever calls `Device::run` vouches that the elements of an input lie in
                    // readable memory that nobody writes meanwhile.
                    unsafe { memory::load(at, ins.dtype) }
                }),
            },
        }
    }

    /// The element of a table that lies `by` bytes from its place at this point.
    fn gather(&self, ins: &Ins, by: Val, index: &[usize]) -> Option<Val> {
        let at = self.launch.ins[ins.b as usize].address(index)?;
        let Val::Int(_, by) = by else { return None };
        let at = at.checked_add_signed(isize::try_from(by).ok()?)?;
        // SAFETY: whoever calls `Device::run` vouches that the element may be read.
        Some(unsafe { memory::load(at, ins.dtype) })
    }

    /// Notes `value` for the place of a point in output `number`.
    pub(crate) fn put(&self, number: usize, index: &[usize], value: Val) {
        if let Some(at) = self.launch.outs[number].address(index) {
            self.writes.borrow_mut().push((at, value));
        }
    }

    /// Notes conditions of instruction `number`.
    pub(crate) fn flag(&self, number: usize, flags: FpFlags) {
        if let Some(all) = self.launch.flags {
            all[number].fetch_or(flags.0, Ordering::Relaxed);
        }
    }

    /// Where the values of scattered outputs go, in C order of the points.
    fn scattered(&self) -> Result<Vec<(ScatterMode, usize, Val)>, String> {
        let mut all = Vec::new();
        for (number, output) in self.kernel.outputs.iter().enumerate() {
            let Form::Scatter { mode, at } = output.form else {
                continue;
            };
            for index in points(self.launch.shape) {
                let values = self.values(&index)?;
                let Val::Int(_, by) = values[at as usize] else {
                    return Err("a place that is no whole number".to_owned());
                };
                let by = i64::try_from(by).map_err(|e| e.to_string())?;
                let from = self.launch.outs[number].address(&index);
                if let Some(from) = from.filter(|_| by != i64::MIN) {
                    let by = isize::try_from(by).map_err(|e| e.to_string())?;
                    let to = from.wrapping_add_signed(by);
                    all.push((mode, to, values[output.value as usize]));
                }
            }
        }
        Ok(all)
    }

    /// Writes the outputs that have every point.
    fn store_all(&self) -> Result<(), String> {
        let stores: Vec<(usize, u32)> = self
            .kernel
            .outputs
            .iter()
            .enumerate()
            .filter(|(_, output)| output.form == Form::Store)
            .map(|(number, output)| (number, output.value))
            .collect();
        if stores.is_empty() {
            return Ok(());
        }
        for index in points(self.launch.shape) {
            let values = self.values(&index)?;
            for &(number, value) in &stores {
                self.put(number, &index, values[value as usize]);
            }
        }
        Ok(())
    }
}
