//! The meaning of recorded nodes, one after another and without any view: operands are copied out of
//! their arrays, computed apart, and copied into place.

use super::*;
use arrayloom_device::{Arg, ReduceArgs};
use arrayloom_ir::{AxisMask, Builder, Form, Output};
use arrayloom_plan::{DEFAULT_BUFSIZE, ReduceFacts, SumRules, reduce_order};
use std::collections::BTreeMap;

/// The bytes of every slot.
#[derive(Default)]
pub(super) struct Naive {
    slots: BTreeMap<SlotId, Vec<u8>>,
}

/// Byte offsets of the elements in C order.
fn places(layout: &Layout) -> Vec<usize> {
    let mut all = vec![layout.offset];
    for (&n, &s) in layout.shape.iter().zip(&layout.strides) {
        let steps = |o: isize| (0..n.cast_signed()).map(move |i| o + i * s);
        all = all.into_iter().flat_map(steps).collect();
    }
    all.into_iter()
        .map(|o| usize::try_from(o).unwrap())
        .collect()
}

impl Naive {
    pub(super) fn add(&mut self, slot: SlotId, bytes: Vec<u8>) {
        self.slots.insert(slot, bytes);
    }

    pub(super) fn bytes(&self, slot: SlotId) -> Vec<u8> {
        self.slots[&slot].clone()
    }

    fn take(&self, operand: &Operand) -> (DType, Vec<u8>) {
        match operand {
            Operand::View(slot, layout) => {
                let size = layout.dtype.size();
                let bytes = &self.slots[slot];
                let elements = places(layout).into_iter().map(|at| &bytes[at..at + size]);
                (layout.dtype, elements.flatten().copied().collect())
            }
            Operand::Scalar(scalar) => (scalar.dtype, scalar.as_bytes().to_vec()),
            Operand::Table(slot, table) => (table.walk.dtype, self.slots[slot].clone()),
        }
    }

    pub(super) fn run(&mut self, node: &Node) {
        let shape = node.domain().to_vec();
        let operands: Vec<(DType, Vec<u8>)> = node.ins.iter().map(|o| self.take(o)).collect();
        let mask = node.mask.as_ref().map(|o| self.take(o).1);
        for (number, (slot, layout)) in node.outs.iter().enumerate() {
            let result = compute(node, number, &shape, &operands, layout);
            let size = layout.dtype.size();
            let bytes = self.slots.get_mut(slot).unwrap();
            for (i, at) in places(layout).into_iter().enumerate() {
                if mask.as_ref().is_none_or(|mask| mask[i] != 0) {
                    bytes[at..at + size].copy_from_slice(&result[i * size..][..size]);
                }
            }
        }
    }
}

/// Result `number` of a node, contiguous, in the dtype of its place.
fn compute(
    node: &Node,
    number: usize,
    shape: &[usize],
    operands: &[(DType, Vec<u8>)],
    place: &Layout,
) -> Vec<u8> {
    let mut b = Builder::new();
    let values: Vec<_> = (0..)
        .zip(operands)
        .zip(&node.sig.ins)
        .map(|((i, (dtype, _)), &wanted)| {
            let value = b.input(i, *dtype);
            b.cast(value, wanted)
        })
        .collect();
    if let (Action::Gather, Operand::Table(_, table)) = (node.action, &node.ins[0]) {
        return gather(&table.walk, operands);
    }
    let (value, form, computed) = match node.action {
        Action::Gather => unreachable!("the first operand of a gather is a table"),
        Action::Map(op) => (
            (op.body)(&mut b, &values)[number],
            Form::Store,
            node.sig.outs[number],
        ),
        Action::Reduce { op, axes, .. } => (values[0], Form::Reduce { op, axes }, node.sig.ins[0]),
        Action::Arg { max, axes } => (values[0], Form::Arg { max, axes }, DType::I64),
        Action::Scan { op, axis } => (values[0], Form::Scan { op, axis }, node.sig.ins[0]),
    };
    let axes = match form {
        Form::Reduce { axes, .. } | Form::Arg { axes, .. } => axes,
        _ => 0,
    };
    let output = Output {
        value: value.0,
        form,
    };
    let kernel = kernel(b, operands, output, shape.len());
    let result = launch(
        &kernel,
        shape,
        operands,
        (computed, axes, order(node, axes)),
    );
    if computed == place.dtype {
        return result;
    }
    let mut b = Builder::new();
    let value = b.input(0, computed);
    let value = b.cast(value, place.dtype);
    let output = Output {
        value: value.0,
        form: Form::Store,
    };
    let operands = [(computed, result)];
    let kernel = self::kernel(b, &operands, output, place.shape.len());
    launch(&kernel, &place.shape, &operands, (place.dtype, 0, None))
}

/// The elements of a table by number, in the order of the domain.
fn gather(walk: &Layout, operands: &[(DType, Vec<u8>)]) -> Vec<u8> {
    let whole = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().unwrap());
    let mut result = Vec::new();
    for (point, at) in places(walk).into_iter().enumerate() {
        let pairs = operands[1..].chunks_exact(2);
        let moved: i64 = pairs
            .map(|pair| whole(&pair[0].1[8 * point..8 * point + 8]) * whole(&pair[1].1))
            .sum();
        let at = at
            .checked_add_signed(isize::try_from(moved).unwrap())
            .unwrap();
        result.extend_from_slice(&operands[0].1[at..at + walk.dtype.size()]);
    }
    result
}

fn kernel(b: Builder, operands: &[(DType, Vec<u8>)], output: Output, rank: usize) -> Kernel {
    Kernel {
        code: b.finish(),
        inputs: operands.iter().map(|(dtype, _)| *dtype).collect(),
        outputs: vec![output],
        rank: u8::try_from(rank).unwrap(),
    }
}

/// The order in which NumPy would fold, by the views as they were recorded.
fn order(node: &Node, axes: AxisMask) -> Option<ReduceArgs> {
    let (Action::Reduce { initial, .. }, Operand::View(_, layout)) = (node.action, &node.ins[0])
    else {
        return None;
    };
    let order = reduce_order(&ReduceFacts {
        shape: &layout.shape,
        in_strides: &layout.strides,
        out_strides: &node.outs[0].1.strides,
        reduced: axes,
        cast: layout.dtype != node.sig.ins[0],
        bufsize: DEFAULT_BUFSIZE,
        rules: SumRules::default(),
    });
    Some(ReduceArgs { order, initial })
}

/// Runs a kernel with one output on contiguous copies.
fn launch(
    kernel: &Kernel,
    shape: &[usize],
    operands: &[(DType, Vec<u8>)],
    (dtype, axes, order): (DType, AxisMask, Option<ReduceArgs>),
) -> Vec<u8> {
    let address = |bytes: &[u8]| Buf(bytes.as_ptr().expose_provenance() as u64);
    let count: usize = shape.iter().product();
    let ins: Vec<Arg> = operands
        .iter()
        .map(|(dtype, bytes)| {
            if bytes.len() == dtype.size() && count != 1 {
                return Arg::Scalar(Scalar::from_bytes(*dtype, bytes));
            }
            let strides = Layout::contiguous(*dtype, shape).strides;
            Arg::View {
                buf: address(bytes),
                offset: 0,
                strides,
            }
        })
        .collect();
    let kept: Vec<usize> = (0..)
        .zip(shape)
        .map(|(axis, &n)| if axes >> axis & 1 == 1 { 1 } else { n })
        .collect();
    let mut layout = Layout::contiguous(dtype, &kept);
    for (axis, stride) in layout.strides.iter_mut().enumerate() {
        if axes >> axis & 1 == 1 {
            *stride = 0;
        }
    }
    let mut result = vec![0u8; layout.len() * dtype.size()];
    let buf = Buf(result.as_mut_ptr().expose_provenance() as u64);
    let outs = [Arg::View {
        buf,
        offset: 0,
        strides: layout.strides,
    }];
    let launch = Launch {
        shape,
        outs: &outs,
        ins: &ins,
        reduces: &[order],
        flags: None,
    };
    Reference::new().run(Queue(0), kernel, &launch).unwrap();
    result
}
