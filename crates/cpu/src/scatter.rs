//! Results at places by number: values and places are computed by the usual loops, some rows of the
//! domain at a time, and then go where they belong as if one after another, in C order.

#![expect(unsafe_code, reason = "elements are named by address")]

use arrayloom_device::{Arg, Buf, Launch, ReduceArgs, points};
use arrayloom_ir::{Builder, Form, Ins, Kernel, Output, Prim, ScatterMode};
use arrayloom_types::{DType, contiguous_strides};
use std::collections::BTreeMap;
use std::ptr;

/// Bytes of values and places at one time, about.
const PIECE: usize = 4 << 20;
/// The place of a point that goes nowhere.
const NOWHERE: i64 = i64::MIN;

/// Runs a kernel that scatters nothing.
type Run<'a> = &'a dyn Fn(&Kernel, &Launch<'_>) -> Result<(), String>;

/// Memory for values, aligned for every element.
struct Room(Vec<u128>);

impl Room {
    fn new(bytes: usize) -> Room {
        Room(vec![0; bytes.div_ceil(16).max(1)])
    }

    fn buf(&self) -> Buf {
        Buf(self.0.as_ptr().expose_provenance() as u64)
    }

    fn element(&self, number: usize, size: usize) -> *mut u8 {
        let base = self.0.as_ptr().cast::<u8>().cast_mut();
        base.wrapping_add(number * size)
    }
}

/// One output that goes by number, with its values.
struct Scattered {
    number: usize,
    mode: ScatterMode,
    dtype: DType,
    values: Room,
    places: Room,
}

/// Runs such a kernel; `run` runs one without.
///
/// # Safety
/// The launch is one that `Device::run` takes.
pub(crate) unsafe fn scatter(
    kernel: &Kernel,
    launch: &Launch<'_>,
    run: Run<'_>,
) -> Result<(), String> {
    if !launch.fits(kernel) {
        return Err("the launch does not fit the kernel".to_owned());
    }
    let first_axis = |ins: &Ins| ins.prim == Prim::Iota && ins.a == 0;
    let together = launch.shape.is_empty()
        || kernel
            .outputs
            .iter()
            .any(|output| !output.form.is_scatter())
        || kernel.code.iter().any(first_axis);
    let rows = launch.shape.first().copied().unwrap_or(1);
    let row: usize = launch.shape.iter().skip(1).product();
    let count = if together {
        rows
    } else {
        PIECE / (row * 24 * kernel.outputs.len()).max(1)
    };
    let count = count.clamp(1, rows.max(1));
    for first in (0..rows).step_by(count) {
        let mut shape = launch.shape.to_vec();
        if let Some(rows) = shape.first_mut() {
            *rows = count.min(*rows - first);
        }
        let from = |args: &[Arg]| args.iter().map(|a| a.from_row(first)).collect::<Vec<Arg>>();
        let (outs, ins) = (from(launch.outs), from(launch.ins));
        let part = Launch {
            shape: &shape,
            outs: &outs,
            ins: &ins,
            ..*launch
        };
        // SAFETY: rows of the launch that the caller vouches for.
        unsafe { piece(kernel, &part, run) }?;
    }
    Ok(())
}

/// Computes all values, then scatters.
///
/// # Safety
/// The launch is one that `Device::run` takes.
unsafe fn piece(kernel: &Kernel, launch: &Launch<'_>, run: Run<'_>) -> Result<(), String> {
    let points: usize = launch.shape.iter().product();
    let mut stores = kernel.clone();
    let (mut outs, mut reduces) = (launch.outs.to_vec(), launch.reduces.to_vec());
    let mut all = Vec::new();
    for (number, output) in kernel.outputs.iter().enumerate() {
        let Form::Scatter { mode, at } = output.form else {
            continue;
        };
        let dtype = kernel
            .code
            .get(output.value as usize)
            .ok_or("no such value")?
            .dtype;
        let (values, places) = (Room::new(points * dtype.size()), Room::new(points * 8));
        stores.outputs[number].form = Form::Store;
        outs[number] = dense(&values, launch.shape, dtype);
        stores.outputs.push(Output {
            value: at,
            form: Form::Store,
        });
        outs.push(dense(&places, launch.shape, DType::I64));
        reduces.push(None);
        all.push(Scattered {
            number,
            mode,
            dtype,
            values,
            places,
        });
    }
    let computed = Launch {
        outs: &outs,
        reduces: &reduces,
        ..*launch
    };
    run(&stores, &computed)?;
    for one in &all {
        let targets = targets(one, launch);
        match one.mode.prim() {
            // SAFETY: the caller vouches for the elements that the places name.
            None => unsafe { one.set(&targets) },
            // SAFETY: as above.
            Some(prim) => unsafe { one.combine(prim, &targets, run) }?,
        }
    }
    Ok(())
}

fn dense(room: &Room, shape: &[usize], dtype: DType) -> Arg {
    Arg::View {
        buf: room.buf(),
        offset: 0,
        strides: contiguous_strides(shape, dtype.size()),
    }
}

/// The address that each point goes to, by number of the point; points that go nowhere are left out.
fn targets(one: &Scattered, launch: &Launch<'_>) -> Vec<(usize, usize)> {
    let numbered = points(launch.shape).enumerate();
    numbered
        .filter_map(|(point, index)| {
            // SAFETY: the room holds a place for each point.
            let by = unsafe { one.places.element(point, 8).cast::<[u8; 8]>().read() };
            let by = i64::from_ne_bytes(by);
            let from = launch.outs[one.number].address(&index)?;
            let by = isize::try_from(by).ok().filter(|_| by != NOWHERE)?;
            Some((point, from.wrapping_add_signed(by)))
        })
        .collect()
}

impl Scattered {
    /// Every value takes the place of what is there.
    ///
    /// # Safety
    /// The elements at the addresses may be written.
    unsafe fn set(&self, targets: &[(usize, usize)]) {
        let size = self.dtype.size();
        for &(point, address) in targets {
            let from = self.values.element(point, size);
            let to = ptr::with_exposed_provenance_mut::<u8>(address);
            // SAFETY: the room holds a value for each point; the caller vouches for the element.
            unsafe { ptr::copy_nonoverlapping(from, to, size) };
        }
    }

    /// Every value is combined with what is there: in rounds, so that each element occurs once in each.
    ///
    /// # Safety
    /// The elements at the addresses may be read and written.
    unsafe fn combine(
        &self,
        prim: Prim,
        targets: &[(usize, usize)],
        run: Run<'_>,
    ) -> Result<(), String> {
        let size = self.dtype.size();
        let mut times: BTreeMap<usize, usize> = BTreeMap::new();
        let mut rounds: Vec<Vec<(usize, usize)>> = Vec::new();
        for &(point, address) in targets {
            let round = times.entry(address).or_insert(0);
            if rounds.len() == *round {
                rounds.push(Vec::new());
            }
            rounds[*round].push((point, address));
            *round += 1;
        }
        let longest = rounds.first().map_or(0, Vec::len);
        let [there, new] = [Room::new(longest * size), Room::new(longest * size)];
        let kernel = binary(prim, self.dtype);
        for round in &rounds {
            for (number, &(point, address)) in round.iter().enumerate() {
                let from = ptr::with_exposed_provenance::<u8>(address);
                // SAFETY: the caller vouches for the element; the room has one for each of the round.
                unsafe { ptr::copy_nonoverlapping(from, there.element(number, size), size) };
                let value = self.values.element(point, size);
                // SAFETY: both rooms hold these elements.
                unsafe { ptr::copy_nonoverlapping(value, new.element(number, size), size) };
            }
            let shape = [round.len()];
            let (old, new) = (
                dense(&there, &shape, self.dtype),
                dense(&new, &shape, self.dtype),
            );
            let launch = Launch {
                shape: &shape,
                outs: std::slice::from_ref(&old),
                ins: &[old.clone(), new],
                reduces: &[None::<ReduceArgs>],
                flags: None,
            };
            run(&kernel, &launch)?;
            for (number, &(_, address)) in round.iter().enumerate() {
                let to = ptr::with_exposed_provenance_mut::<u8>(address);
                // SAFETY: as above.
                unsafe { ptr::copy_nonoverlapping(there.element(number, size), to, size) };
            }
        }
        Ok(())
    }
}

/// `prim` of two rows of elements.
fn binary(prim: Prim, dtype: DType) -> Kernel {
    let mut b = Builder::new();
    let (x, y) = (b.input(0, dtype), b.input(1, dtype));
    let value = b.push(Ins {
        prim,
        dtype,
        a: x.0,
        b: y.0,
        c: 0,
        bits: 0,
    });
    Kernel {
        code: b.finish(),
        inputs: vec![dtype; 2],
        outputs: vec![Output {
            value: value.0,
            form: Form::Store,
        }],
        rank: 1,
    }
}
