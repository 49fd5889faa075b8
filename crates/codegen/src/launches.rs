//! Steps of launches that were lowered before. A loop launches the same kernels over the same views each time, on
//! other memory and with other values: one list of steps serves them all.

use crate::ready::steps;
use crate::{Steps, Target};
use arrayloom_device::{Arg, Caps, DeviceError, Launch};
use arrayloom_ir::{Kernel, KeyBytes};
use arrayloom_types::DType;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::hash::Hash as _;
use std::sync::{Arc, Mutex, PoisonError};

/// Most launches that are kept; beyond that, all are forgotten.
const KEPT: usize = 1024;

/// Launches by all that their steps depend on.
#[derive(Debug, Default)]
pub struct Launches {
    known: Mutex<IndexMap<Box<[u8]>, Arc<Steps>, FxBuildHasher>>,
}

impl Launches {
    /// The steps of a launch on the device with these facts, which are always the same ones.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] for a kernel that it does not have.
    pub fn steps(
        &self,
        caps: &Caps,
        kernel: &Kernel,
        launch: &Launch<'_>,
        target: Target,
    ) -> Result<Arc<Steps>, DeviceError> {
        let made = || steps(caps, kernel, launch, target).map(Arc::new);
        // Where numbers say what is read or written, views do not tell what overlaps.
        if !launch.fits(kernel) || kernel.goes_by_number() {
            return made();
        }
        let key = key(kernel, launch);
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&*key) {
            return Ok(Arc::clone(known));
        }
        let made = made()?;
        let mut known = lock();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(key, Arc::clone(&made));
        Ok(made)
    }
}

/// All that steps depend on, but for what a device has one of. Of places in memory that is how elements are aligned, and
/// how far apart results lie from what they overlap.
fn key(kernel: &Kernel, launch: &Launch<'_>) -> Box<[u8]> {
    let mut bytes = KeyBytes::default();
    kernel.hash(&mut bytes);
    (launch.shape, launch.flags.is_some()).hash(&mut bytes);
    for reduce in launch.reduces {
        let facts = reduce.as_ref().map(|args| (&args.order, args.initial));
        facts.hash(&mut bytes);
    }
    let ins = launch.ins.iter().zip(kernel.inputs.iter().copied());
    let ins = ins.map(|(arg, dtype)| place(arg, launch.shape, dtype));
    let outs = launch.outs.iter().enumerate().map(|(number, arg)| {
        let extents = kernel.outputs[number].form.extents(launch.shape);
        place(arg, &extents, kernel.output_dtype(number))
    });
    let places: Vec<Place> = ins.chain(outs).collect();
    for arg in launch.ins.iter().chain(launch.outs) {
        match arg {
            Arg::Scalar(scalar) => (0u8, scalar.dtype).hash(&mut bytes),
            Arg::View {
                buf,
                offset,
                strides,
            } => {
                let start = buf.0.wrapping_add_signed(*offset as i64);
                (1u8, start % ALIGNED, strides).hash(&mut bytes);
            }
        }
    }
    let (read, written) = places.split_at(launch.ins.len());
    for (number, out) in written.iter().enumerate() {
        let others = read.iter().chain(&written[..number]);
        for (other, apart) in others.map(|other| out.from(other)).enumerate() {
            if let Some(apart) = apart {
                (number, other, apart).hash(&mut bytes);
            }
        }
    }
    bytes.into_key()
}

/// The largest alignment that matters.
const ALIGNED: u64 = 16;

/// The bytes of a view: its buffer, its first element, and the range of all, as if buffers were addresses.
struct Place(Option<(u64, u64, (u64, u64))>);

fn place(arg: &Arg, shape: &[usize], dtype: DType) -> Place {
    let Arg::View { buf, offset, .. } = arg else {
        return Place(None);
    };
    let range = arg.range(shape, dtype);
    Place(range.map(|range| (buf.0, buf.0.wrapping_add_signed(*offset as i64), range)))
}

impl Place {
    /// How many bytes its first element lies behind that of another view, and whether both are in one buffer; `None` for
    /// views that share no byte.
    fn from(&self, other: &Place) -> Option<(u64, bool)> {
        let (&Place(Some((buf, start, own))), &Place(Some((of, first, its)))) = (self, other)
        else {
            return None;
        };
        let meets = own.0 < its.1 && its.0 < own.1;
        meets.then(|| (start.wrapping_sub(first), buf == of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower;
    use arrayloom_device::{Buf, Device as _, ReduceArgs};
    use arrayloom_ir::{Builder, Form, Output, Prim, ReduceOp};
    use arrayloom_plan::ReduceOrder;
    use arrayloom_reference::Reference;
    use arrayloom_types::Scalar;

    /// `a + b * s` and its sum over axis 0.
    fn kernel() -> Kernel {
        let mut b = Builder::new();
        let [x, y, s] = [0, 1, 2].map(|i| b.input(i, DType::F64));
        let product = b.bin(Prim::Mul, y, s);
        let value = b.bin(Prim::Add, x, product).0;
        let op = ReduceOp::Add;
        let forms = [Form::Store, Form::Reduce { op, axes: 1 }];
        Kernel {
            code: b.finish(),
            inputs: vec![DType::F64; 3],
            outputs: forms.map(|form| Output { value, form }).to_vec(),
            rank: 2,
        }
    }

    #[test]
    fn steps_are_those_of_the_launch_wherever_its_memory_lies() {
        let device = Reference::new();
        let kernel = kernel();
        let order = ReduceOrder {
            axes: [1, 0].as_slice().into(),
            stream: 0,
            piece: 1,
        };
        let initial = None;
        let reduces = [None, Some(ReduceArgs { order, initial })];
        let mut seed = 1u64;
        let mut draw = move |most: u32| {
            let next = seed.wrapping_mul(6_364_136_223_846_793_005);
            seed = next.wrapping_add(1_442_695_040_888_963_407);
            u32::try_from(seed >> 33).unwrap() % most
        };
        for unified in [true, false] {
            let launches = Launches::default();
            let target = Target {
                unified,
                lanes: 64,
                cores: false,
            };
            for _ in 0..3000 {
                let mut view = || {
                    let row = 8 * [6, 7][draw(2) as usize];
                    let step = 8 * [1, 2][draw(2) as usize];
                    let odd = 4 * (draw(20) / 19);
                    Arg::View {
                        buf: Buf(4096 * u64::from(1 + draw(2))),
                        offset: isize::try_from(8 * draw(12) + odd).unwrap(),
                        strides: [row, step].as_slice().into(),
                    }
                };
                let (a, b, c, d) = (view(), view(), view(), view());
                let value = Arg::Scalar(Scalar::from_f64(DType::F64, f64::from(draw(9))));
                let shape = [2 + draw(2) as usize, 3];
                let launch = Launch {
                    shape: &shape,
                    outs: &[c, d],
                    ins: &[a, b, value],
                    reduces: &reduces,
                    flags: None,
                };
                let found = launches.steps(device.caps(), &kernel, &launch, target);
                let fresh = lower(&kernel, &launch, target);
                assert_eq!(
                    format!("{:?}", found.unwrap()),
                    format!("{:?}", fresh.unwrap()),
                    "{launch:?}"
                );
            }
            assert!(launches.known.lock().unwrap().len() < KEPT);
        }
    }

    #[test]
    fn what_moves_or_has_other_values_is_lowered_once() {
        let device = Reference::new();
        let mut b = Builder::new();
        let [x, s] = [0, 1].map(|i| b.input(i, DType::F64));
        let value = b.bin(Prim::Mul, x, s).0;
        let form = Form::Store;
        let kernel = Kernel {
            code: b.finish(),
            inputs: vec![DType::F64; 2],
            outputs: vec![Output { value, form }],
            rank: 1,
        };
        let launches = Launches::default();
        let view = |buf| Arg::View {
            buf: Buf(buf),
            offset: 0,
            strides: [8].as_slice().into(),
        };
        let target = Target {
            unified: true,
            lanes: 64,
            cores: false,
        };
        let steps = |from, to, factor| {
            let launch = Launch {
                shape: &[100],
                outs: &[view(to)],
                ins: &[
                    view(from),
                    Arg::Scalar(Scalar::from_f64(DType::F64, factor)),
                ],
                reduces: &[None],
                flags: None,
            };
            launches
                .steps(device.caps(), &kernel, &launch, target)
                .unwrap()
        };
        let first = steps(4096, 8192, 2.0);
        assert!(Arc::ptr_eq(&first, &steps(16384, 32768, 3.0)));
        // In place, and on a part of it, others.
        let within = steps(4096, 4096, 2.0);
        assert!(!Arc::ptr_eq(&first, &within));
        assert!(Arc::ptr_eq(&within, &steps(8192, 8192, 2.0)));
        assert!(!Arc::ptr_eq(&within, &steps(4096, 4104, 2.0)));
    }
}
