//! Fourier transforms by cuFFT: lines with one step within a line and one from line to line.
//!
//! What the library knows of such lines is a plan. A few of them are kept; the memory that they work in is
//! lent to them for each transform.

use crate::api::{Address, Code, Cufft};
use crate::context::{Context, Stream};
use crate::libraries::{self, Places};
use crate::memory::Spare;
use arrayloom_codegen::{Fourier, Spectrum};
use arrayloom_device::Tensor;
use arrayloom_types::{DType, Layout};
use libloading::os::unix::Library;
use std::ffi::c_int;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The oldest version that is used: CUDA 11's.
const OLDEST: c_int = 10_200;
/// Plans that are kept.
const PLANS: usize = 16;
/// Directions.
const FORTH: c_int = -1;
const BACK: c_int = 1;

/// What a transform is from and to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// Complex numbers.
    Complex,
    /// Real numbers, to the first half of a spectrum.
    FromReal,
    /// The first half of a spectrum, to real numbers. The operand may be written.
    ToReal,
}

/// Lines that are transformed in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lines {
    pub(crate) values: Values,
    /// In double precision.
    pub(crate) wide: bool,
    pub(crate) length: i64,
    pub(crate) count: i64,
    /// Elements from one value of the operand to the next, and from one line to the next.
    pub(crate) from: [i64; 2],
    /// The same of the result.
    pub(crate) to: [i64; 2],
}

/// Where an operand or a result starts.
pub(crate) fn address(tensor: &Tensor) -> Address {
    let offset = tensor.layout.offset as i64;
    tensor.buf.0.wrapping_add_signed(offset)
}

/// Elements from one value of a line to the next, and from one line to the next, if the axes of lines can be walked
/// as one, forward.
fn steps(tensor: &Tensor, axis: usize, aligned: usize) -> Option<[i64; 2]> {
    let Layout {
        dtype,
        shape,
        strides,
        ..
    } = &tensor.layout;
    let size = dtype.size().cast_signed();
    let mut line: Option<(isize, isize)> = None;
    let others = (0..shape.len()).rev().filter(|&a| a != axis);
    for a in others.filter(|&a| shape[a] > 1) {
        let (first, end) = line.unwrap_or((strides[a], strides[a]));
        if strides[a] != end {
            return None;
        }
        line = Some((first, end * shape[a].cast_signed()));
    }
    let one = |step: isize| (step % size == 0 && step > 0).then_some((step / size) as i64);
    let within = if shape[axis] > 1 {
        one(strides[axis])?
    } else {
        1
    };
    let next = match line {
        Some((step, _)) => one(step)?,
        None => 1,
    };
    address(tensor)
        .is_multiple_of(aligned as u64)
        .then_some([within, next])
}

impl Lines {
    /// The lines of a transform from its operand, or from halves of lines in scratch, straight to its result; none
    /// where they do not lie so, or where the result lies on the operand.
    pub(crate) fn straight(wish: &Fourier, [from, to]: [&Tensor; 2]) -> Option<Lines> {
        let values = match (wish.from, wish.to, wish.inverse) {
            (Spectrum::Full, Spectrum::Full, _) => Values::Complex,
            (Spectrum::Real, Spectrum::Half, false) => Values::FromReal,
            (Spectrum::Half, Spectrum::Real, true) => Values::ToReal,
            _ => return None,
        };
        let whole = Lines::whole(wish);
        let size = wish.dtype.size();
        let read = if values == Values::ToReal {
            [1, whole.length / 2 + 1]
        } else {
            let given = from.layout.shape[wish.axis];
            (given >= wish.length).then_some(steps(from, wish.axis, size)?)?
        };
        let (read_range, written) = (from.range()?, to.range()?);
        let apart = read_range.1 <= written.0 || written.1 <= read_range.0;
        Some(Lines {
            values,
            from: read,
            to: steps(to, wish.axis, size)?,
            ..whole
        })
        .filter(|_| apart)
    }

    /// Whole lines of complex numbers, one behind the other, in place.
    pub(crate) fn whole(wish: &Fourier) -> Lines {
        let [length, count] = [wish.length, wish.lines].map(|n| n.cast_signed() as i64);
        Lines {
            values: Values::Complex,
            wide: wish.dtype == DType::C128,
            length,
            count,
            from: [1, length],
            to: [1, length],
        }
    }

    /// The library's number for the kind of transform.
    fn kind(&self) -> c_int {
        let single = match self.values {
            Values::FromReal => 0x2a,
            Values::ToReal => 0x2c,
            Values::Complex => 0x29,
        };
        if self.wide { single + 0x40 } else { single }
    }
}

/// What the library made for lines.
struct Plan {
    lines: Lines,
    number: c_int,
    /// Bytes that it works in.
    work: usize,
}

/// The library, and plans, the last that was used at the end.
pub(crate) struct Fft {
    api: Cufft,
    plans: Mutex<Vec<Plan>>,
    /// What it is and where it was found.
    pub(crate) words: String,
    context: Arc<Context>,
}

impl Fft {
    /// Opens the first that can be used. The context is current.
    pub(crate) fn open(context: &Arc<Context>, places: &Places) -> Result<Fft, String> {
        libraries::TRANSFORMS.first(places, |library, path| Fft::of(context, library, path))
    }

    fn of(context: &Arc<Context>, library: Library, path: &Path) -> Result<Fft, String> {
        let at = path.display();
        let api = Cufft::load(&library)
            .map_err(|name| format!("{at} has no {}", name.to_string_lossy()))?;
        libraries::keep(library);
        let mut version = 0;
        api.version(&mut version)
            .map_err(|code| format!("{at}: {code}"))?;
        if version < OLDEST {
            return Err(format!("{at} is too old: version {version}"));
        }
        Ok(Fft {
            api,
            plans: Mutex::default(),
            words: format!("cuFFT {version} ({at})"),
            context: Arc::clone(context),
        })
    }

    /// Bytes that a transform of these lines works in.
    pub(crate) fn work(&self, lines: &Lines) -> Result<usize, Code> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        self.plan(&mut plans, lines).map(|plan| plan.work)
    }

    /// Puts a transform into a stream, with memory to work in, from one place to another.
    pub(crate) fn transform(
        &self,
        lines: &Lines,
        inverse: bool,
        [from, to]: [Address; 2],
        stream: &Stream,
        work: Address,
    ) -> Result<(), Code> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = self.plan(&mut plans, lines)?.number;
        self.api.stream(plan, stream.raw)?;
        self.api.work_area(plan, work)?;
        let direction = if inverse { BACK } else { FORTH };
        match (lines.values, lines.wide) {
            (Values::Complex, false) => self.api.c2c(plan, from, to, direction),
            (Values::Complex, true) => self.api.z2z(plan, from, to, direction),
            (Values::FromReal, false) => self.api.r2c(plan, from, to),
            (Values::FromReal, true) => self.api.d2z(plan, from, to),
            (Values::ToReal, false) => self.api.c2r(plan, from, to),
            (Values::ToReal, true) => self.api.z2d(plan, from, to),
        }
    }

    /// The plan for these lines, which is the last from now on.
    fn plan<'a>(&self, plans: &'a mut Vec<Plan>, lines: &Lines) -> Result<&'a Plan, Code> {
        if let Some(at) = plans.iter().position(|plan| plan.lines == *lines) {
            plans[at..].rotate_left(1);
        } else {
            if plans.len() == PLANS {
                self.drop_plans(plans.drain(..1));
            }
            plans.push(self.make(lines)?);
        }
        Ok(&plans[plans.len() - 1])
    }

    fn make(&self, lines: &Lines) -> Result<Plan, Code> {
        let mut number = 0;
        self.api.create(&mut number)?;
        let mut work = 0;
        let (mut length, mut from, mut to) = (lines.length, lines.length, lines.length);
        let made = self.api.own_work_area(number, 0).and_then(|()| {
            self.api.make(
                number,
                1,
                &mut length,
                &mut from,
                lines.from[0],
                lines.from[1],
                &mut to,
                lines.to[0],
                lines.to[1],
                lines.kind(),
                lines.count,
                &mut work,
            )
        });
        if let Err(code) = made {
            drop(self.api.destroy(number));
            return Err(code);
        }
        Ok(Plan {
            lines: *lines,
            number,
            work,
        })
    }

    /// Gives plans back.
    fn drop_plans(&self, plans: impl Iterator<Item = Plan>) {
        // Transforms may still run; what failed is told to whoever waits for it.
        drop(self.context.finish());
        for plan in plans {
            drop(self.api.destroy(plan.number));
        }
    }
}

impl Spare for Fft {
    fn bytes(&self) -> u64 {
        0
    }

    fn give_up(&self) -> bool {
        let (Ok(mut plans), Ok(_current)) = (self.plans.try_lock(), self.context.enter()) else {
            return false;
        };
        let any = !plans.is_empty();
        self.drop_plans(plans.drain(..));
        any
    }
}

impl Drop for Fft {
    fn drop(&mut self) {
        self.give_up();
    }
}
