//! Element-wise calls: from the operands of a ufunc to a recorded node.

use crate::assign::copy_row;
use crate::birth;
use crate::elision::Placed;
use crate::np::{self, Arr};
use crate::operand::{Input, Reason, View, classify};
use crate::ops::OpEntry;
use crate::record::{self, Draft};
use crate::{caller, long_long, ops, picked, power, site, state, sync};
use arrayloom_ir::{Action, LoopSig, SlotId};
use arrayloom_types::{DType, Kind, Operand, Scalar, Shape, broadcast_many, can_cast_safely};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a page, and of a line of the caches.
const PAGE: usize = 4096;
const LINE: usize = 64;
/// From here on the C library moves bytes by `rep movsb`.
const STRING_MOVE: usize = 2048;
/// That crawls on this processor where the target lies a few bytes further in its page, and is in use.
static CRAWLS: AtomicBool = AtomicBool::new(false);

/// Whether the C library's moves by a few bytes are ten times as slow as others.
#[pyfunction]
pub(crate) fn short_moves_crawl(crawls: bool) {
    CRAWLS.store(crawls, Ordering::Relaxed);
}

/// True where the C library crawls: it moves rows of so many bytes to a place that lies so many bytes further.
pub(crate) fn crawls(ahead: usize, row: usize) -> bool {
    CRAWLS.load(Ordering::Relaxed) && (1..LINE).contains(&(ahead % PAGE)) && row >= STRING_MOVE
}

/// A result, or the reason why NumPy must give it.
pub(crate) enum Outcome<'py> {
    /// Recorded.
    Done(Bound<'py, PyAny>),
    /// To be left to NumPy.
    Numpy(Reason),
}

/// What a call may say beside its operands.
#[derive(Default)]
pub(crate) struct Options<'a, 'py> {
    /// `out=`: one array.
    pub(crate) out: Option<&'a Bound<'py, PyAny>>,
    /// `where=`.
    pub(crate) mask: Option<&'a Bound<'py, PyAny>>,
    /// `dtype=`.
    pub(crate) dtype: Option<DType>,
    /// True where results are cast without a check, as assignments do.
    pub(crate) unsafe_cast: bool,
    /// The strides of a new result of this dtype, where they are not the usual ones.
    pub(crate) placed: Option<Placed>,
    /// Which of the first operands only the interpreter's stack holds.
    pub(crate) temporary: [bool; 2],
}

/// Leaves the call to NumPy.
macro_rules! leave {
    ($reason:ident) => {
        return Ok($crate::map::Outcome::Numpy(
            $crate::operand::Reason::$reason,
        ))
    };
}
pub(crate) use leave;

/// Records one element-wise call.
pub(crate) fn call<'py>(
    py: Python<'py>,
    entry: &OpEntry,
    args: &[&Bound<'py, PyAny>],
    options: &Options<'_, 'py>,
) -> PyResult<Outcome<'py>> {
    let mut inputs: SmallVec<[Input; 3]> = SmallVec::new();
    for (number, arg) in args.iter().enumerate() {
        match classify(py, arg)? {
            Some(input) => inputs.push(input),
            None if long_long::is_one(arg) => return long_long::call(py, entry, args, options),
            None => match np::listed(arg)? {
                Some(array) => {
                    let mut args: SmallVec<[_; 3]> = args.iter().copied().collect();
                    args[number] = &array;
                    return call(py, entry, &args, options);
                }
                None => leave!(Operand),
            },
        }
    }
    with_inputs(py, entry, inputs, options)
}

/// Records `entry` of one value into `options.out`.
pub(crate) fn fill<'py>(
    py: Python<'py>,
    entry: &OpEntry,
    value: Scalar,
    options: &Options<'_, 'py>,
) -> PyResult<Outcome<'py>> {
    with_inputs(
        py,
        entry,
        std::iter::once(Input::Scalar(value)).collect(),
        options,
    )
}

/// Records one element-wise call of known operands.
pub(crate) fn with_inputs<'py>(
    py: Python<'py>,
    entry: &OpEntry,
    inputs: SmallVec<[Input; 3]>,
    options: &Options<'_, 'py>,
) -> PyResult<Outcome<'py>> {
    if !state::lazy() {
        leave!(Off)
    }
    if picked::any()
        && let Some(outcome) = picked::call(py, entry, &inputs, options)?
    {
        return Ok(outcome);
    }
    let Ok(shape) = broadcast_many(inputs.iter().map(Input::shape)) else {
        leave!(Mismatch)
    };
    let pending = inputs.iter().any(Input::pending);
    let operands: SmallVec<[Operand; 3]> = inputs.iter().map(Input::promotes_as).collect();
    let sig = match options.dtype {
        None => entry.resolve(&operands),
        Some(dtype) => entry.resolve_to(dtype).filter(|sig| casts(&operands, sig)),
    };
    let Some(sig) = sig else { leave!(Loop) };
    if !power::allowed(entry, &inputs, &sig) {
        leave!(Operation)
    }
    let (mut entry, mut sig, mut inputs) = (clipping(entry, &sig, &inputs), sig, inputs);
    if let Some(row) = power::by_number(entry, &inputs, &sig) {
        entry = row;
        sig.ins.truncate(1);
        inputs.truncate(1);
    }
    let call = Call {
        entry,
        inputs,
        shape,
        sig,
        pending,
    };
    match options.out {
        None => call.into_new(py, options),
        Some(out) => call.into_old(py, out, options),
    }
}

/// The row of `clip` for such bounds, and every other row itself: NumPy has a loop of floats for two single numbers, and one
/// for bounds of which one at least has several elements. Of columns beside long rows it takes the former, we do not.
fn clipping<'a>(entry: &'a OpEntry, sig: &LoopSig, inputs: &[Input]) -> &'a OpEntry {
    let three = inputs.len() == 3 && entry.def.name == "clip";
    if !three || !matches!(sig.ins[0], DType::F32 | DType::F64) {
        return entry;
    }
    let several = |view: &View| {
        let mut axes = view.layout.shape.iter().zip(&view.layout.strides);
        axes.any(|(&extent, &step)| extent > 1 && step != 0)
    };
    let by_arrays = inputs.iter().skip(1).filter_map(Input::view).any(several);
    ops::by_name("_clip_by_arrays")
        .filter(|_| by_arrays)
        .unwrap_or(entry)
}

/// True if all operands may be cast to what the loop takes.
fn casts(operands: &[Operand], sig: &LoopSig) -> bool {
    operands
        .iter()
        .zip(&sig.ins)
        .all(|(operand, &to)| match operand {
            Operand::Strong(from) => same_kind(*from, to),
            Operand::WeakInt => to.kind() != Kind::Bool,
            Operand::WeakFloat => matches!(to.kind(), Kind::Float | Kind::Complex),
            Operand::WeakComplex => to.kind() == Kind::Complex,
        })
}

/// `np.can_cast(from, to, 'same_kind')`.
pub(crate) fn same_kind(from: DType, to: DType) -> bool {
    let rank = |d: DType| match d.kind() {
        Kind::Bool => 0,
        Kind::Unsigned => 1,
        Kind::Signed => 2,
        Kind::Float => 3,
        Kind::Complex => 4,
    };
    can_cast_safely(from, to) || rank(from) <= rank(to)
}

/// Who does an operation that does not wait.
enum Now {
    NumPy,
    Engine,
}

/// An element-wise call whose operands and loop are known.
struct Call<'a> {
    entry: &'a OpEntry,
    inputs: SmallVec<[Input; 3]>,
    shape: Shape,
    sig: LoopSig,
    pending: bool,
}

impl Call<'_> {
    /// The result is a new array.
    fn into_new<'py>(self, py: Python<'py>, options: &Options<'_, 'py>) -> PyResult<Outcome<'py>> {
        if options.mask.is_some() {
            leave!(Keyword)
        }
        let worth = birth::worth_it(self.sig.outs[0], &self.shape);
        if self.shape.is_empty() || self.shape.contains(&0) || !(worth || self.pending) {
            leave!(Small)
        }
        let Some(site) = site::capture(py)? else {
            leave!(ErrState)
        };
        let bytes = birth::nbytes(self.sig.outs[0], &self.shape).unwrap_or(usize::MAX);
        let at_once = record::at_once(self.pending, bytes, site);
        // Within a function of ours NumPy would warn of our files.
        if at_once && options.placed.is_none() && !site::is_called() && self.is_numpys() {
            leave!(Small)
        }
        let Some(mut draft) = self.draft(py)? else {
            leave!(Mismatch)
        };
        if !at_once {
            draft.lets_go(self.temporary(py, options.temporary));
        }
        let (birth, run) = if self.pending {
            record::way_of_pending(&self.inputs, options.temporary, site)
        } else {
            record::way(at_once)
        };
        let op = (self.entry, &self.sig);
        let placed = options.placed.as_ref();
        let Some(born) = record::results(py, op, (&self.shape, placed), &self.inputs, birth)?
        else {
            leave!(Off)
        };
        let outs = born.iter().map(|b| (b.slot, b.layout.clone())).collect();
        run(draft, py, Action::Map(self.entry.def), self.sig, outs, site)?;
        let mut arrays = born.into_iter().map(|b| b.array);
        match (arrays.next(), arrays.len()) {
            (Some(only), 0) => Ok(Outcome::Done(only)),
            (first, _) => {
                let all: Vec<_> = first.into_iter().chain(arrays).collect();
                Ok(Outcome::Done(PyTuple::new(py, all)?.into_any()))
            }
        }
    }

    /// The result goes to an array that is there already.
    fn into_old<'py>(
        self,
        py: Python<'py>,
        out: &Bound<'py, PyAny>,
        options: &Options<'_, 'py>,
    ) -> PyResult<Outcome<'py>> {
        let Some(Input::View(target)) = classify(py, out)? else {
            leave!(Operand)
        };
        // Nobody tells when the program reads memory that is not ours.
        let Some(slot) = target.slot else {
            leave!(Delegated)
        };
        let [result] = self.sig.outs.as_slice() else {
            leave!(Keyword)
        };
        if !target.array.writeable() || target.layout.shape.is_empty() {
            leave!(Mismatch)
        }
        if !(options.unsafe_cast || same_kind(*result, target.layout.dtype)) {
            leave!(Mismatch)
        }
        // NumPy warns of imaginary parts that are lost.
        if result.is_complex() && !target.layout.dtype.is_complex() {
            leave!(Mismatch)
        }
        // Beside a mask NumPy reads the array in the dtype of the loop, and warns of values that it lacks.
        let reads = options.mask.is_some() && !self.is_copy();
        if reads && !can_cast_safely(target.layout.dtype, *result) {
            leave!(Delegated)
        }
        let fits = broadcast_many([self.shape.as_slice(), target.layout.shape.as_slice()]);
        if fits.ok().as_ref() != Some(&target.layout.shape) {
            leave!(Mismatch)
        }
        if target.layout.is_empty() {
            if options.mask.is_some() || !self.numbers_fit() {
                leave!(Mismatch)
            }
            return Ok(Outcome::Done(out.clone()));
        }
        let whole = options.mask.is_none();
        let may =
            whole || self.is_copy() && options.mask.and_then(Arr::of).is_some_and(sync::is_there);
        let now = if may {
            self.now(py, &target, whole)?
        } else {
            None
        };
        match now {
            Some(Now::NumPy) => leave!(Small),
            Some(Now::Engine) => sync::write(py, target.array)?,
            None => {}
        }
        let call = Call {
            shape: target.layout.shape.clone(),
            ..self
        };
        let Some(mut draft) = call.draft(py)? else {
            leave!(Mismatch)
        };
        if let Some(mask) = options.mask {
            match classify(py, mask)? {
                Some(Input::View(mask)) if fits_as_mask(&mask, &call.shape) => {
                    draft.mask(py, &mask, &call.shape)?;
                }
                _ => leave!(Keyword),
            }
        }
        let Some(site) = site::capture(py)? else {
            leave!(ErrState)
        };
        let outs = std::iter::once((slot.0, target.layout)).collect();
        if now.is_none() {
            draft.lets_go(call.temporary(py, options.temporary));
        }
        let (_, run) = record::way(now.is_some());
        run(draft, py, Action::Map(call.entry.def), call.sig, outs, site)?;
        Ok(Outcome::Done(out.clone()))
    }

    /// Who does at once a write into memory that the program uses itself, of values that it has: recorded, it would
    /// run at once, alone. A quick operation on what a cache holds is not worth other threads either.
    fn now(&self, py: Python<'_>, target: &View, whole: bool) -> PyResult<Option<Now>> {
        if self.pending {
            return Ok(None);
        }
        let bytes = target.array.nbytes();
        let small = bytes < state::min_bytes();
        let quick = small || birth::is_in_shared_cache(bytes) && self.is_plain_into(target);
        let alone = whole && state::engine().is_idle();
        let by = if alone && (!quick || self.moves_by_few(target)) {
            Now::Engine
        } else {
            Now::NumPy
        };
        let slot = target.slot.map(|(slot, _)| slot);
        let fresh = slot.is_some_and(|slot| state::engine().is_fresh(slot));
        let waits = quick && (small || !fresh);
        if waits && sync::is_settled(target.array) && self.values_come(py)? {
            return Ok(Some(by));
        }
        if !fresh || !(quick || alone) {
            return Ok(None);
        }
        // Others may join a write to new memory, unless this line is known for its haste.
        let site = site::capture(py)?;
        let at_once = site.is_some_and(|site| record::at_once(false, bytes, site));
        Ok(at_once.then_some(by))
    }

    /// True for a copy to a place a few bytes further in its page than the original, such as `b[1:] = a[:-1]` of arrays
    /// that begin with a page, where the C library takes ten times as long as for others; our kernels do not.
    fn moves_by_few(&self, target: &View) -> bool {
        let [Input::View(from)] = self.inputs.as_slice() else {
            return false;
        };
        let ahead = target.array.addr().wrapping_sub(from.array.addr());
        let size = target.layout.dtype.size();
        let row = target.layout.shape.last().map_or(0, |extent| extent * size);
        let apart = target.slot != from.slot;
        apart && crawls(ahead, row) && self.is_copy()
    }

    /// True for an assignment.
    fn is_copy(&self) -> bool {
        std::ptr::eq(self.entry, copy_row())
    }

    /// True where NumPy is done before we begin: a quick operation on a few values that are there, of a line that
    /// wants each result at once.
    fn is_numpys(&self) -> bool {
        let few = |input: &Input| match input {
            Input::View(view) => birth::is_done_soon(view.array.nbytes()),
            Input::Scalar(_) | Input::Weak(_) => true,
        };
        birth::nbytes(self.sig.outs[0], &self.shape).is_some_and(birth::is_done_soon)
            && self.inputs.iter().all(few)
            && self.is_plain()
    }

    /// The slots of computed operands that nobody can reach after the call.
    fn temporary(&self, py: Python<'_>, temporary: [bool; 2]) -> SmallVec<[SlotId; 2]> {
        let gone = self.inputs.iter().zip(temporary).filter(|(_, gone)| *gone);
        let views = gone.filter_map(|(input, _)| input.view());
        let computed = views.filter(|view| !view.pending);
        let slots: SmallVec<_> = computed.filter_map(|view| Some(view.slot?.0)).collect();
        if slots.is_empty() || caller::lets_go(py, self.inputs.len()) {
            slots
        } else {
            SmallVec::new()
        }
    }

    /// True if all values are computed. Those that wait in blocks come to their addresses: who needs one at once does
    /// so again.
    fn values_come(&self, py: Python<'_>) -> PyResult<bool> {
        let views = || self.inputs.iter().filter_map(Input::view);
        if !views().all(|view| sync::is_computed(view.array)) {
            return Ok(false);
        }
        for view in views().filter(|view| !sync::is_there(view.array)) {
            sync::read(py, view.array)?;
        }
        Ok(true)
    }

    /// True for a quick operation that casts nothing, its result neither.
    fn is_plain_into(&self, target: &View) -> bool {
        self.sig.outs[0] == target.layout.dtype && self.is_plain()
    }

    /// True for an operation that casts nothing, and for which NumPy takes a few instructions too.
    fn is_plain(&self) -> bool {
        let alike = |(input, &dtype): (&Input, &DType)| match input {
            Input::View(view) => view.layout.dtype == dtype,
            Input::Scalar(_) | Input::Weak(_) => true,
        };
        let sig = &self.sig;
        self.inputs.iter().zip(&sig.ins).all(alike) && self.entry.def.is_quick_in_numpy(sig)
    }

    /// True if every Python number is in the range of the loop's dtype.
    fn numbers_fit(&self) -> bool {
        let fits = |(input, &dtype): (&Input, &DType)| match input {
            Input::Weak(weak) => weak.to_scalar(dtype).is_some(),
            Input::View(_) | Input::Scalar(_) => true,
        };
        self.inputs.iter().zip(&self.sig.ins).all(fits)
    }

    /// The operands of the node; none if a Python number is out of range.
    fn draft(&self, py: Python<'_>) -> PyResult<Option<Draft>> {
        let mut draft = Draft::new();
        for (input, &dtype) in self.inputs.iter().zip(&self.sig.ins) {
            match input {
                Input::View(view) => draft.view(py, view, &self.shape)?,
                Input::Scalar(scalar) => draft.scalar(*scalar),
                Input::Weak(weak) => match weak.to_scalar(dtype) {
                    Some(scalar) => draft.scalar(scalar),
                    None => return Ok(None),
                },
            }
        }
        Ok(Some(draft))
    }
}

fn fits_as_mask(mask: &View, shape: &Shape) -> bool {
    let joined = broadcast_many([mask.layout.shape.as_slice(), shape.as_slice()]);
    mask.layout.dtype == DType::Bool && joined.ok().as_ref() == Some(shape)
}
