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
        take_x87();
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

/// Brings conditions of the old floating-point unit into the register: the C library raises overflow
/// and underflow there, and NumPy's loops ask it to.
pub(crate) fn join_x87() {
    let met = take_x87();
    if met != 0 {
        write(read() | met);
    }
}

/// The conditions of the old unit, whose bits are those of the register; clears them.
#[cfg(target_arch = "x86_64")]
fn take_x87() -> u32 {
    let status: u16;
    // SAFETY: reads the status word of the unit and nothing else.
    unsafe { std::arch::asm!("fnstsw ax", out("ax") status, options(nomem, nostack)) };
    let met = u32::from(status) & CONDITIONS;
    if met != 0 {
        // SAFETY: clears the conditions of the unit; its stack and its control word stay.
        unsafe { std::arch::asm!("fnclex", options(nomem, nostack)) };
    }
    met
}

#[cfg(not(target_arch = "x86_64"))]
fn take_x87() -> u32 {
    0
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

    #[test]
    fn conditions_of_the_old_unit_count() {
        let saved = Saved::new();
        let huge = black_box(f64::MAX);
        let place = &raw const huge;
        // SAFETY: loads a live number, squares it twice beyond the range, and drops it.
        unsafe {
            std::arch::asm!(
                "fld qword ptr [{0}]", "fmul st(0), st(0)", "fmul st(0), st(0)",
                "fmul st(0), st(0)", "fmul st(0), st(0)", "fmul st(0), st(0)", "fstp st(0)",
                in(reg) place, out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack, readonly)
            );
        }
        assert_eq!(take(), 0);
        join_x87();
        assert_eq!(take() & FpFlags::OVERFLOW.0, FpFlags::OVERFLOW.0);
        join_x87();
        assert_eq!(take(), 0);
        drop(saved);
    }
}
