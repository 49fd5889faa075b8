//! What a mask picks, counted and moved together by kernels, on a device with memory of its own: values stay there.
//!
//! A running count of the true places says where each element goes: a scan, then a scatter.

use crate::{Engine, EngineError, Row, SlotView};
use arrayloom_device::{Arg, Buf, Contents, DeviceError, End, Launch, ReduceArgs, Tensor};
use arrayloom_guard::Block;
use arrayloom_ir::{Builder, Form, Ins, Kernel, Output, Prim, ReduceOp, ScatterMode, Value};
use arrayloom_plan::ReduceOrder;
use arrayloom_types::{DType, Layout, Queue, Scalar, contiguous_strides};

/// Bytes of a count.
const NUMBER: usize = 8;

/// What is moved.
enum Moved<'a> {
    /// Elements. The mask has as many places as their first axes.
    Elements(&'a Tensor),
    /// Indices along an axis of the mask.
    Indices(usize),
}

impl Row {
    /// So many elements from here on.
    fn vector(self, dtype: DType, count: usize) -> SlotView {
        let mut layout = Layout::contiguous(dtype, &[count]);
        layout.offset = self.offset.cast_signed();
        SlotView {
            slot: Some(self.slot),
            base: 0,
            layout,
        }
    }
}

impl Engine {
    /// How many of so many truth values are true, and the place of the first, counted on the device. `None` if it has no
    /// memory of its own, or no kernels for it.
    ///
    /// # Errors
    /// As for [`Engine::operate`].
    pub fn count_true(
        &self,
        mask: Row,
        places: usize,
    ) -> Result<Option<(usize, Option<usize>)>, EngineError> {
        if !self.copies_values() {
            return Ok(None);
        }
        let _turn = self.turns.take();
        let mask = mask.vector(DType::Bool, places);
        let found = self.numbers(&[mask], &counting(), places)?;
        Ok(found.map(|[count, first]: [usize; 2]| (count, (count > 0).then_some(first))))
    }

    /// True if so many truth values are the same, in slots that have values. The caller has the turn.
    pub(crate) fn are_alike(&self, masks: [Row; 2], places: usize) -> Result<bool, EngineError> {
        let masks = masks.map(|mask| mask.vector(DType::Bool, places));
        let found = self.numbers(&masks, &differing(), places)?;
        Ok(found == Some([0]))
    }

    /// The results of a kernel that makes numbers of vectors. `None` if the device does not run it. The caller has the
    /// turn.
    fn numbers<const N: usize>(
        &self,
        ins: &[SlotView],
        kernel: &Kernel,
        places: usize,
    ) -> Result<Option<[usize; N]>, EngineError> {
        let room = self.with_room(|| self.block(N * NUMBER, false))?;
        let start = room.ptr().expose_provenance() as u64;
        let outs: [SlotView; N] = std::array::from_fn(|n| SlotView {
            slot: None,
            base: start + (n * NUMBER) as u64,
            layout: Layout::contiguous(DType::I64, &[1]),
        });
        let mut found = [[0u8; NUMBER]; N];
        let done = self.operate_held(ins, &outs, |ins, outs| {
            self.launch_on(kernel, &[places], (&arguments(ins), &arguments(outs)))?;
            for (number, out) in found.iter_mut().zip(outs) {
                let to = End::Host(number.as_mut_ptr());
                let queue = Queue::default();
                self.device
                    .copy(queue, to, End::Dev(out.buf, 0), NUMBER as u64)?;
            }
            Ok(())
        });
        self.put(room);
        let number = |bytes| usize::try_from(i64::from_ne_bytes(bytes)).unwrap_or_default();
        Ok(done?.then(|| found.map(number)))
    }

    /// Moves the elements at the true ones of the first places of `values` to `out`, a new array, in their order. False if
    /// the device has no memory of its own, or does not do it: then nothing was written.
    ///
    /// # Errors
    /// As for [`Engine::operate`].
    pub fn compress(
        &self,
        values: &SlotView,
        mask: &SlotView,
        out: &SlotView,
    ) -> Result<bool, EngineError> {
        let operands = [values.clone(), mask.clone()];
        self.move_picked(&operands, out, |counted, ins, out| {
            self.move_to(out, &Moved::Elements(&ins[0]), (&ins[1], counted))
        })
    }

    /// Writes the indices of the true ones of a mask to `out`, a new array with a row for each. False as for
    /// [`Engine::compress`].
    ///
    /// # Errors
    /// As for [`Engine::operate`].
    pub fn true_places(&self, mask: &SlotView, out: &SlotView) -> Result<bool, EngineError> {
        self.move_picked(std::slice::from_ref(mask), out, |counted, ins, out| {
            for axis in 0..ins[0].layout.shape.len() {
                let mut column = out.clone();
                column.layout.offset += (axis * NUMBER).cast_signed();
                self.move_to(&column, &Moved::Indices(axis), (&ins[0], counted))?;
            }
            Ok(())
        })
    }

    /// Runs `work` with room for a running count of the last operand, the mask.
    pub(crate) fn move_picked(
        &self,
        ins: &[SlotView],
        out: &SlotView,
        work: impl FnOnce(Buf, &[Tensor], &Tensor) -> Result<(), DeviceError>,
    ) -> Result<bool, EngineError> {
        let Some(mask) = ins.last().filter(|_| self.copies_values()) else {
            return Ok(false);
        };
        let places: usize = mask.layout.shape.iter().product();
        let _turn = self.turns.take();
        let counts = self.with_room(|| self.block(places * NUMBER, false))?;
        let done = self.operate_held(ins, std::slice::from_ref(out), |ins, outs| {
            if let Some(mask) = ins.last() {
                self.count_up(address_of(&counts), mask)?;
            }
            work(address_of(&counts), ins, &outs[0])
        });
        self.put(counts);
        done
    }

    /// Moves picked elements of so many bytes to a new block. The caller has the turn.
    pub(crate) fn compress_to(
        &self,
        room: &Block,
        [values, mask]: [Row; 2],
        places: usize,
        size: usize,
    ) -> Result<(), EngineError> {
        let counts = self.block(places * NUMBER, false)?;
        let dtype = DType::of_bytes(size);
        let out = Tensor {
            buf: address_of(room),
            layout: Layout::contiguous(dtype, &[room.len() / size]),
        };
        let moved = || {
            let values = self.tensor(&values.vector(dtype, places), false)?;
            let mask = self.tensor(&mask.vector(DType::Bool, places), false)?;
            self.begin(out.buf.0, room.len(), Contents::Nothing);
            let counted = address_of(&counts);
            self.count_up(counted, &mask)?;
            Ok(self.move_to(&out, &Moved::Elements(&values), (&mask, counted))?)
        };
        let done = moved();
        self.put(counts);
        self.settle_device(true);
        done
    }

    /// Counts the true ones of a mask, which is contiguous, up to each place.
    fn count_up(&self, counted: Buf, mask: &Tensor) -> Result<(), DeviceError> {
        let places = mask.layout.shape.iter().product();
        let vector = |buf, offset, step| Arg::View {
            buf,
            offset,
            strides: [step].as_slice().into(),
        };
        let truth = vector(mask.buf, mask.layout.offset, 1);
        let count = vector(counted, 0, NUMBER.cast_signed());
        self.launch_on(&running(), &[places], (&[truth], &[count]))
    }

    /// Moves what a mask picks to the start of `out`, where `counted` says.
    fn move_to(
        &self,
        out: &Tensor,
        what: &Moved<'_>,
        (mask, counted): (&Tensor, Buf),
    ) -> Result<(), DeviceError> {
        let rank = mask.layout.shape.len();
        let shape = match what {
            Moved::Elements(values) => &values.layout.shape,
            Moved::Indices(_) => &mask.layout.shape,
        };
        let size = out.layout.dtype.size();
        let row = &shape[rank..];
        let width = match what {
            Moved::Elements(_) => size * row.iter().product::<usize>(),
            Moved::Indices(_) => size * rank,
        };
        let mut ins = by_place(mask, counted, shape.len()).to_vec();
        ins.push(Arg::Scalar(Scalar::from_i64(
            DType::I64,
            width.cast_signed() as i64,
        )));
        if let Moved::Elements(values) = what {
            ins.push(values.arg());
        }
        let mut strides = contiguous_strides(row, size);
        strides.insert_many(0, std::iter::repeat_n(0, rank));
        let to = Arg::View {
            buf: out.buf,
            offset: out.layout.offset,
            strides,
        };
        self.launch_on(&moving(what, shape.len()), shape, (&ins, &[to]))
    }

    /// Runs a kernel on operands that are on the device, all folds of which are sums of whole numbers.
    pub(crate) fn launch_on(
        &self,
        kernel: &Kernel,
        shape: &[usize],
        (ins, outs): (&[Arg], &[Arg]),
    ) -> Result<(), DeviceError> {
        let reduces: Vec<Option<ReduceArgs>> = kernel.outputs.iter().map(order_of).collect();
        let launch = Launch {
            shape,
            outs,
            ins,
            reduces: &reduces,
            flags: None,
        };
        self.device.run(Queue::default(), kernel, &launch)
    }
}

/// A mask and its running count over a domain of so many axes, the first of which are the mask's.
pub(crate) fn by_place(mask: &Tensor, counted: Buf, axes: usize) -> [Arg; 2] {
    let vectors = [(mask.buf, mask.layout.offset, 1), (counted, 0, NUMBER)];
    vectors.map(|(buf, offset, size)| {
        let mut strides = contiguous_strides(&mask.layout.shape, size);
        strides.resize(axes, 0);
        Arg::View {
            buf,
            offset,
            strides,
        }
    })
}

fn address_of(block: &Block) -> Buf {
    Buf(block.ptr().expose_provenance() as u64)
}

fn arguments(tensors: &[Tensor]) -> Vec<Arg> {
    tensors.iter().map(Tensor::arg).collect()
}

/// Whole numbers are added in any order.
fn order_of(output: &Output) -> Option<ReduceArgs> {
    let order = ReduceOrder {
        axes: [0].as_slice().into(),
        stream: 1,
        piece: 1,
    };
    matches!(output.form, Form::Reduce { .. }).then_some(ReduceArgs {
        order,
        initial: None,
    })
}

/// A kernel of the code in `b`.
pub(crate) fn kernel(
    b: Builder,
    inputs: Vec<DType>,
    outputs: &[(Value, Form)],
    rank: usize,
) -> Kernel {
    let outputs = outputs.iter().map(|(value, form)| Output {
        value: value.0,
        form: *form,
    });
    Kernel {
        code: b.finish(),
        inputs,
        outputs: outputs.collect(),
        rank: u8::try_from(rank).unwrap_or(u8::MAX),
    }
}

/// 1 for true, whatever byte that is, else 0.
fn one_if(b: &mut Builder, truth: Value) -> Value {
    let [one, zero] = [1.0, 0.0].map(|number| b.constant(DType::I64, number));
    b.select(truth, one, zero)
}

/// The sum of all places.
const SUM: Form = Form::Reduce {
    op: ReduceOp::Add,
    axes: 1,
};

/// How many of a vector of truth values are true, and the place of the first.
fn counting() -> Kernel {
    let mut b = Builder::new();
    let mask = b.input(0, DType::Bool);
    let number = one_if(&mut b, mask);
    let first = Form::Arg { max: true, axes: 1 };
    kernel(b, vec![DType::Bool], &[(number, SUM), (mask, first)], 1)
}

/// At how many places two vectors of truth values differ.
fn differing() -> Kernel {
    let mut b = Builder::new();
    let [left, right] = [0, 1].map(|input| b.input(input, DType::Bool));
    let differ = b.compare(Prim::Ne, left, right);
    let number = one_if(&mut b, differ);
    kernel(b, vec![DType::Bool; 2], &[(number, SUM)], 1)
}

/// How many of a vector of truth values are true up to each place.
fn running() -> Kernel {
    let mut b = Builder::new();
    let mask = b.input(0, DType::Bool);
    let number = one_if(&mut b, mask);
    let scan = Form::Scan {
        op: ReduceOp::Add,
        axis: 0,
    };
    kernel(b, vec![DType::Bool], &[(number, scan)], 1)
}

/// Puts each picked value where the running count says: truth value, count, bytes of a row, and value.
fn moving(what: &Moved<'_>, rank: usize) -> Kernel {
    let mut inputs = vec![DType::Bool, DType::I64, DType::I64];
    let mut b = Builder::new();
    let mask = b.input(0, DType::Bool);
    let [counted, width] = [1, 2].map(|input| b.input(input, DType::I64));
    let value = match what {
        Moved::Elements(values) => {
            inputs.push(values.layout.dtype);
            b.input(3, values.layout.dtype)
        }
        Moved::Indices(axis) => b.iota(u32::try_from(*axis).unwrap_or(u32::MAX)),
    };
    let one = b.constant(DType::I64, 1.0);
    let before = b.bin(Prim::Sub, counted, one);
    let bytes = b.bin(Prim::Mul, before, width);
    let nowhere = b.push(Ins {
        prim: Prim::Const,
        dtype: DType::I64,
        a: 0,
        b: 0,
        c: 0,
        bits: i64::MIN.cast_unsigned(),
    });
    let at = b.select(mask, bytes, nowhere);
    let form = Form::Scatter {
        mode: ScatterMode::Set,
        at: at.0,
    };
    kernel(b, inputs, &[(value, form)], rank)
}
