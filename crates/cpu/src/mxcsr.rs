//! The processor's register of floating-point conditions.

#![expect(unsafe_code, reason = "the register has no safe door")]

use arrayloom_ir::FpFlags;

/// Saves the register of this thread and gives it back when dropped: the caller of a kernel must not
/// see conditions that it did not cause.
#[derive(Debug)]
pub(crate) struct Saved(u32);

impl Saved {
    /// Saves the register and clears the conditions.
    pub(crate) fn new() -> Saved {
        let now = read();
        write(now & !CONDITIONS);
        Saved(now)
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        write(self.0);
    }
}

/// Bits of the register: invalid, denormal, divide, overflow, underflow, inexact.
const CONDITIONS: u32 = 0b11_1111;
const INVALID: u32 = 1;
const DIVIDE: u32 = 4;
const OVERFLOW: u32 = 8;
const UNDERFLOW: u32 = 16;

/// The conditions met since the last call, as `FpFlags` bits; clears them.
pub(crate) fn take() -> u8 {
    let now = read();
    if now & (INVALID | DIVIDE | OVERFLOW | UNDERFLOW) == 0 {
        return 0;
    }
    write(now & !CONDITIONS);
    let bit = |mask: u32, flag: FpFlags| if now & mask == 0 { 0 } else { flag.0 };
    bit(INVALID, FpFlags::INVALID)
        | bit(DIVIDE, FpFlags::DIVIDE)
        | bit(OVERFLOW, FpFlags::OVERFLOW)
        | bit(UNDERFLOW, FpFlags::UNDERFLOW)
}

#[cfg(target_arch = "x86_64")]
fn read() -> u32 {
    let mut now = 0u32;
    let place = &raw mut now;
    // SAFETY: stores four bytes at `place`, a live local variable.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) place, options(nostack)) };
    now
}

#[cfg(target_arch = "x86_64")]
fn write(value: u32) {
    let place = &raw const value;
    // SAFETY: loads four bytes from `place`; the value is one that was read, with condition bits
    // cleared or as they were, so rounding and masks do not change.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) place, options(nostack, readonly)) };
}

#[cfg(not(target_arch = "x86_64"))]
fn read() -> u32 {
    0
}

#[cfg(not(target_arch = "x86_64"))]
fn write(_: u32) {}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn conditions_are_taken_once_and_given_back() {
        let saved = Saved::new();
        assert_eq!(take(), 0);
        black_box(black_box(1.0f64) / black_box(0.0));
        assert_eq!(take(), FpFlags::DIVIDE.0);
        assert_eq!(take(), 0);
        black_box(black_box(1e300f64) * black_box(1e300));
        black_box(black_box(0.0f64) / black_box(0.0));
        assert_eq!(take(), FpFlags::OVERFLOW.0 | FpFlags::INVALID.0);
        drop(saved);
    }
}
