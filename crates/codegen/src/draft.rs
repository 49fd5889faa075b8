//! What a step is made from: the code that it needs, its operands and dimensions.

use crate::conditions::Watch;
use crate::dims::{Dim, merged};
use crate::entry::Form;
use crate::lower::{Memory, Steps, Target};
use arrayloom_device::{Arg, Launch};
use arrayloom_ir::{Arity, AxisMask, Ins, Kernel, Output, Prim};
use arrayloom_types::DType;
use std::collections::BTreeMap;

/// An operand in memory while dimensions are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub(super) memory: Memory,
    pub(super) dtype: DType,
}

/// What goes into one entry.
pub(super) struct Draft {
    pub(super) code: Vec<Ins>,
    /// For each input of the code, the one of the launch.
    pub(super) inputs: Vec<usize>,
    pub(super) outs: Vec<(u32, usize)>,
    /// Views: inputs first, then outputs.
    pub(super) operands: Vec<Operand>,
    pub(super) dims: Vec<Dim>,
    pub(super) kept: usize,
    pub(super) stream: usize,
    pub(super) form: Form,
    pub(super) watch: Watch,
    /// For each instruction, the one of the kernel.
    pub(super) origin: Vec<usize>,
}

impl Draft {
    /// A step that has nothing of the kernel.
    pub(super) fn empty(form: Form) -> Draft {
        Draft {
            code: Vec::new(),
            inputs: Vec::new(),
            outs: Vec::new(),
            operands: Vec::new(),
            dims: Vec::new(),
            kept: 0,
            stream: 0,
            form,
            watch: Watch::Nothing,
            origin: Vec::new(),
        }
    }
}

pub(super) struct Lowering<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) launch: &'a Launch<'a>,
    pub(super) target: Target,
    pub(super) steps: Steps,
    /// Outputs that have every point are written by a step already.
    pub(super) stored: bool,
    /// Values are looked at while they are computed: results lie apart from operands.
    pub(super) looks: bool,
    /// The word for the results of the output that is worked on.
    pub(super) slot: Option<usize>,
}

impl<'a> Lowering<'a> {
    /// No steps yet.
    pub(super) fn new(kernel: &'a Kernel, launch: &'a Launch<'a>, target: Target) -> Lowering<'a> {
        Lowering {
            kernel,
            launch,
            target,
            steps: Steps::default(),
            stored: false,
            looks: false,
            slot: None,
        }
    }
}

impl Lowering<'_> {
    /// The code that outputs `numbers` need, and dimensions over `axes` (outermost first).
    pub(super) fn draft(&self, numbers: &[usize], form: Form) -> Draft {
        let output = |&n: &usize| (n, self.kernel.outputs[n]);
        self.draft_of(&numbers.iter().map(output).collect::<Vec<_>>(), form)
    }

    /// The same for values that may be others than those of the outputs.
    pub(super) fn draft_of(&self, outputs: &[(usize, Output)], form: Form) -> Draft {
        let code = &self.kernel.code;
        let mut needed = vec![false; code.len()];
        for (_, output) in outputs {
            needed[output.value as usize] = true;
        }
        for (at, ins) in code.iter().enumerate().rev() {
            if needed[at] {
                for v in used(ins) {
                    needed[v as usize] = true;
                }
            }
        }
        let (mut kept, mut inputs, mut places) = (Vec::new(), Vec::new(), BTreeMap::new());
        let renumber = |inputs: &mut Vec<usize>, input: u32| {
            let input = input as usize;
            let at = inputs.iter().position(|&i| i == input).unwrap_or_else(|| {
                inputs.push(input);
                inputs.len() - 1
            });
            number_of(at)
        };
        for (at, ins) in code.iter().enumerate().filter(|(at, _)| needed[*at]) {
            let mut own = *ins;
            let place = |v: u32| places.get(&v).copied().unwrap_or(v);
            match ins.prim {
                Prim::Input => own.a = renumber(&mut inputs, ins.a),
                Prim::Gather => {
                    own.a = place(ins.a);
                    own.b = renumber(&mut inputs, ins.b);
                }
                _ if ins.prim.arity() != Arity::Leaf => {
                    (own.a, own.b, own.c) = (place(ins.a), place(ins.b), place(ins.c));
                }
                _ => {}
            }
            places.insert(number_of(at), number_of(kept.len()));
            kept.push(own);
        }
        let outs = outputs
            .iter()
            .map(|(n, o)| (places[&o.value], *n))
            .collect();
        let views = inputs.iter().filter(|&&i| self.is_view(i));
        let operands = views
            .map(|&i| Operand {
                memory: Memory::In(i),
                dtype: self.kernel.inputs[i],
            })
            .chain(outputs.iter().map(|&(i, _)| Operand {
                memory: Memory::Out(i),
                dtype: self.kernel.output_dtype(i),
            }));
        Draft {
            operands: operands.collect(),
            code: kept,
            inputs,
            outs,
            dims: Vec::new(),
            kept: 0,
            stream: 0,
            form,
            watch: Watch::Nothing,
            origin: (0..code.len()).filter(|&at| needed[at]).collect(),
        }
    }
    pub(super) fn is_view(&self, input: usize) -> bool {
        matches!(self.launch.ins[input], Arg::View { .. })
    }

    pub(super) fn arg(&self, memory: Memory) -> Option<&Arg> {
        match memory {
            Memory::In(i) => self.launch.ins.get(i),
            Memory::Out(i) => self.launch.outs.get(i),
            Memory::Scratch(_) => None,
        }
    }

    /// One dimension for each of these axes.
    pub(super) fn dims(&self, draft: &Draft, axes: &[usize]) -> Vec<Dim> {
        let iota = |axis: usize| {
            let reads = |i: &Ins| i.prim == Prim::Iota && i.a as usize == axis;
            draft.code.iter().any(reads).then_some(number_of(axis))
        };
        let stride = |operand: &Operand, axis: usize| match self.arg(operand.memory) {
            Some(Arg::View { strides, .. }) => strides[axis],
            _ => 0,
        };
        axes.iter()
            .map(|&axis| Dim {
                extent: self.launch.shape[axis],
                strides: draft.operands.iter().map(|o| stride(o, axis)).collect(),
                axis: iota(axis),
            })
            .collect()
    }

    /// These axes, those with the largest steps in output `number` first.
    pub(super) fn sorted(&self, mut axes: Vec<usize>, number: usize) -> Vec<usize> {
        if let Arg::View { strides, .. } = &self.launch.outs[number] {
            axes.sort_by_key(|&a| std::cmp::Reverse(strides[a].unsigned_abs()));
        }
        axes
    }

    pub(super) fn axes(&self, folded: AxisMask, wanted: bool) -> Vec<usize> {
        let all = 0..self.launch.shape.len();
        all.filter(|a| (folded >> a & 1 == 1) == wanted).collect()
    }
    /// The dimensions of a fold: those of results, then the folded ones in loop order.
    pub(super) fn folded(
        &self,
        draft: &mut Draft,
        number: usize,
        axes: AxisMask,
        order: &[usize],
        stream: usize,
    ) {
        let kept = self.sorted(self.axes(axes, false), number);
        let (outer, run) = order.split_at(order.len() - stream);
        let parts = [kept.as_slice(), outer, run].map(|axes| merged(self.dims(draft, axes)));
        draft.kept = parts[0].len();
        draft.stream = parts[2].len();
        draft.dims = parts.concat();
    }
}

/// The values that an instruction reads.
pub(super) fn used(ins: &Ins) -> Vec<u32> {
    let count = match ins.prim.arity() {
        Arity::Leaf => 0,
        Arity::Unary => 1,
        Arity::Binary => 2,
        Arity::Ternary => 3,
    };
    [ins.a, ins.b, ins.c][..count].to_vec()
}
pub(super) fn number_of(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

pub(super) fn small_number(n: usize) -> u8 {
    u8::try_from(n).unwrap_or(u8::MAX)
}
