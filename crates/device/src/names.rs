//! Names that come from outside and live as long as the process.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The one copy of this name. There are as many as there are different devices.
pub fn intern(name: &str) -> &'static str {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.get(name) {
        return found;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    known.insert(kept);
    kept
}
