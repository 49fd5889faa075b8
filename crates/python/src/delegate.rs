//! Calls that are left to NumPy: operands become plain arrays whose values have been computed.

use crate::lift::lift;
use crate::np::{self, Arr};
use crate::numbers::stranger;
use crate::operand::Reason;
use crate::{fallback, state, sync};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// A call prepared for NumPy.
struct Plain<'py> {
    /// What the user passed, and the plain view that NumPy gets: it returns some of its arguments.
    views: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    /// Bytes of the largest array.
    largest: usize,
}

impl<'py> Plain<'py> {
    fn new() -> Plain<'py> {
        Plain {
            views: Vec::new(),
            largest: 0,
        }
    }

    /// The operand as NumPy shall get it. Lists and tuples are looked through once.
    fn input(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(array) = Arr::of(object) {
            self.largest = self.largest.max(array.nbytes());
            sync::read(object.py(), array)?;
            return self.view(object);
        }
        if let Ok(list) = object.cast_exact::<PyList>()
            && list.iter().any(|item| Arr::of(&item).is_some())
        {
            let items = list.iter().map(|item| self.item(&item));
            let items = items.collect::<PyResult<Vec<_>>>()?;
            return Ok(PyList::new(object.py(), items)?.into_any());
        }
        if let Ok(tuple) = object.cast_exact::<PyTuple>()
            && tuple.iter().any(|item| Arr::of(&item).is_some())
        {
            let items = tuple.iter().map(|item| self.item(&item));
            let items = items.collect::<PyResult<Vec<_>>>()?;
            return Ok(PyTuple::new(object.py(), items)?.into_any());
        }
        Ok(object.clone())
    }

    fn item(&mut self, item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match Arr::of(item) {
            Some(_) => self.input(item),
            None => Ok(item.clone()),
        }
    }

    fn output(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Some(array) = Arr::of(object) else {
            return Ok(object.clone());
        };
        self.largest = self.largest.max(array.nbytes());
        if array.writeable() {
            sync::write(object.py(), array)?;
        } else {
            sync::read(object.py(), array)?;
        }
        self.view(object)
    }

    /// The array as NumPy gets it, remembered if that is another object.
    fn view(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let view = plain(object)?;
        if !view.is(object) {
            self.views.push((object.clone(), view.clone()));
        }
        Ok(view)
    }

    fn keyword(
        &mut self,
        name: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if !name.eq("out")? {
            return self.input(value);
        }
        let Ok(tuple) = value.cast_exact::<PyTuple>() else {
            return self.output(value);
        };
        let items = tuple.iter().map(|item| self.output(&item));
        let items = items.collect::<PyResult<Vec<_>>>()?;
        Ok(PyTuple::new(value.py(), items)?.into_any())
    }

    /// The result with the user's own output objects in place of their plain views.
    fn restore(&self, result: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let swap = |item: &Bound<'py, PyAny>| {
            let found = self.views.iter().find(|(_, view)| view.is(item));
            found.map(|(user, _)| user.clone())
        };
        if self.views.is_empty() {
            return Ok(result);
        }
        if let Some(user) = swap(&result) {
            return Ok(user);
        }
        if let Some(array) = Arr::of(&result)
            && let Some(base) = array.base(result.py())
            && let Some(user) = swap(&base)
        {
            // A view of an argument: its base is what the program knows.
            let whole = Arr::of(&user).and_then(|user| user.base(result.py()));
            let whole = whole.filter(|base| !stranger(base));
            array.rebase(whole.unwrap_or(user));
        }
        if let Ok(tuple) = result.cast_exact::<PyTuple>() {
            let items = tuple.iter().map(|item| swap(&item).unwrap_or(item));
            return Ok(PyTuple::new(result.py(), items)?.into_any());
        }
        Ok(result)
    }
}

/// The array without our subclass; other subclasses stay what they are.
pub(crate) fn plain<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if object.get_type_ptr() == state::lazy_type() {
        np::plain_view(object)
    } else {
        Ok(object.clone())
    }
}

/// Calls `function` in NumPy with plain arrays. `writes` of the positional arguments, counted from
/// the first, are written to; so is `out=`.
pub(crate) fn call<'py>(
    function: &Bound<'py, PyAny>,
    args: &[Bound<'py, PyAny>],
    kwargs: Option<&Bound<'py, PyDict>>,
    writes: std::ops::Range<usize>,
    why: (&str, Reason),
) -> PyResult<Bound<'py, PyAny>> {
    let py = function.py();
    let mut plain = Plain::new();
    let mut ready = Vec::with_capacity(args.len());
    for (i, arg) in args.iter().enumerate() {
        ready.push(if writes.contains(&i) {
            plain.output(arg)?
        } else {
            plain.input(arg)?
        });
    }
    let words = PyDict::new(py);
    for (name, value) in kwargs.into_iter().flat_map(PyDictMethods::iter) {
        words.set_item(&name, plain.keyword(&name, &value)?)?;
    }
    let ready = PyTuple::new(py, ready)?;
    let (name, reason) = why;
    if plain.largest < state::min_bytes() {
        return plain.restore(function.call(ready, Some(&words))?);
    }
    if reason.counts() {
        fallback::count(py, name, reason, args)?;
    }
    let result = in_arena(py, || function.call(ready, Some(&words)))?;
    lift(&result);
    plain.restore(result)
}

/// Runs `work` with our memory handler, so that large results of NumPy lie in the arena.
pub(crate) fn in_arena<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let before = np::set_handler(state::state().handler.bind(py))?;
    let result = work();
    np::set_handler(&before)?;
    result
}
