//! Numbers for places of the program, given again after a while.
//!
//! A node bears the number of the place that recorded it. The numbers lie in two halves. One is being
//! given out; when it is used up, everything recorded so far runs, and the other half starts anew. So
//! a program may make code without end, and a number that is still needed is never given twice.

use arrayloom_ir::FpFlags;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// All four conditions warn.
pub(crate) const ALL_WARN: u8 =
    FpFlags::DIVIDE.0 | FpFlags::OVERFLOW.0 | FpFlags::UNDERFLOW.0 | FpFlags::INVALID.0;
/// The first numbers are nowhere in the program: one for each set of conditions that warn.
const NOWHERE: usize = ALL_WARN as usize + 1;
/// Numbers in a half.
const HALF: usize = 1 << 15;
const CACHE: usize = 1024;

/// A place in the program and which conditions warn there.
pub(crate) struct Place {
    /// The code object; none outside of all code.
    pub(crate) code: Option<Py<PyAny>>,
    /// The instruction.
    pub(crate) at: c_int,
    /// The conditions that warn, as bits.
    pub(crate) warn: u8,
    /// The name of the module, as its variables have it.
    pub(crate) module: Option<Py<PyAny>>,
}

/// What a number is given for.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// The address of the code object.
    pub(crate) code: usize,
    /// The instruction.
    pub(crate) at: c_int,
    /// The conditions that warn, as bits.
    pub(crate) warn: u8,
    /// The number of the place that called a function of ours, which this place is in; zero elsewhere.
    pub(crate) caller: u32,
}

/// A place that has a number.
struct Given {
    place: Place,
    /// Keeps the code object of the key alive, so that its address stays its name.
    _code: Py<PyAny>,
}

struct Places {
    halves: [Vec<Given>; 2],
    /// The half that is being given out.
    current: usize,
    /// Numbers of the current half, for what the cache has lost.
    numbers: BTreeMap<Key, u32>,
    cache: Box<[(Key, u32)]>,
}

fn places() -> MutexGuard<'static, Places> {
    static PLACES: OnceLock<Mutex<Places>> = OnceLock::new();
    let places = PLACES.get_or_init(|| {
        Mutex::new(Places {
            halves: [Vec::new(), Vec::new()],
            current: 0,
            numbers: BTreeMap::new(),
            cache: vec![<(Key, u32)>::default(); CACHE].into(),
        })
    });
    places.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of no place in particular, where these conditions warn.
pub(crate) fn nowhere(warn: u8) -> u32 {
    u32::from(warn & ALL_WARN)
}

/// The number of a place in this code; none if the current half is used up and does not know it. A new place is what
/// `describe` says.
pub(crate) fn number_of(
    code: &Bound<'_, PyAny>,
    key: Key,
    describe: impl FnOnce() -> Place,
) -> Option<u32> {
    let mixed = (key.at.cast_unsigned() as usize).wrapping_mul(31);
    let spread = (key.code >> 4) ^ mixed ^ usize::from(key.warn) ^ key.caller as usize;
    let (known, number) = places().cache[spread % CACHE];
    if known == key {
        return Some(number);
    }
    let place = describe();
    let mut places = places();
    let number = places.give(code, key, place)?;
    places.cache[spread % CACHE] = (key, number);
    Some(number)
}

impl Places {
    /// The number of a place, given now if it is new.
    fn give(&mut self, code: &Bound<'_, PyAny>, key: Key, place: Place) -> Option<u32> {
        if let Some(&number) = self.numbers.get(&key) {
            return Some(number);
        }
        let half = &mut self.halves[self.current];
        if half.len() == HALF {
            return None;
        }
        let number = u32::try_from(NOWHERE + self.current * HALF + half.len()).ok()?;
        half.push(Given {
            place,
            _code: code.clone().unbind(),
        });
        self.numbers.insert(key, number);
        Some(number)
    }
}

/// Starts the other half anew, if the current one is used up. The caller has had everything run that
/// was recorded before; it drops the old places, without our lock, as that may run Python code.
pub(crate) fn turn() -> impl Sized {
    let mut places = places();
    if places.halves[places.current].len() < HALF {
        return Vec::new();
    }
    places.current = 1 - places.current;
    places.numbers.clear();
    places.cache.fill(Default::default());
    let current = places.current;
    std::mem::take(&mut places.halves[current])
}

/// The place of a number.
pub(crate) fn place(py: Python<'_>, number: u32) -> Place {
    let number = number as usize;
    let nowhere = Place {
        code: None,
        at: 0,
        warn: u8::try_from(number).unwrap_or(ALL_WARN),
        module: None,
    };
    let Some(index) = number.checked_sub(NOWHERE) else {
        return nowhere;
    };
    let places = places();
    let half = places.halves.get(index / HALF);
    match half.and_then(|half| half.get(index % HALF)) {
        Some(Given { place, .. }) => Place {
            code: place.code.as_ref().map(|code| code.clone_ref(py)),
            module: place.module.as_ref().map(|name| name.clone_ref(py)),
            ..*place
        },
        None => nowhere,
    }
}
