//! Systems without a fault handler.

use crate::error::GuardError;
use crate::guard::Guard;

/// Always an error: run eagerly.
pub(crate) fn check_support() -> Result<(), GuardError> {
    Err(GuardError::Unsupported {
        os: std::env::consts::OS,
    })
}

/// Never reached: `check_support` refused before.
pub(crate) fn install(_guard: &'static Guard) -> Result<(), GuardError> {
    check_support()
}

/// Nothing to reinstall.
pub(crate) fn reinstall() {}

/// Nothing to keep.
pub(crate) fn keep_on_top() {}

/// No handler is ours.
pub(crate) fn is_ours() -> bool {
    false
}
