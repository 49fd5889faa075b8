//! Products of matrices by `CLBlast`, which is opened when the first is wanted.
//!
//! Products of `float32` and `float64` only: complex factors are passed by value, in a way that depends on the
//! processor. Sums have the precision of their numbers, in the library's own order.

#![expect(unsafe_code, reason = "the library is a C library")]

use crate::bound::Bound;
use crate::device::failed;
use crate::driver::{CommandQueue, Mem};
use arrayloom_codegen::{Factor, Gemm};
use arrayloom_device::DeviceError;
use arrayloom_types::DType;
use cl3::types::{cl_command_queue, cl_event, cl_mem};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::error::Error as _;
use std::ffi::c_int;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// The library, as the system names it.
const NAME: &str = "libclblast.so.1";
/// Columns lie one behind the other.
const COLUMNS: c_int = 102;
/// A matrix as it is, and turned.
const TURNED: [c_int; 2] = [111, 112];

/// The function for numbers of one type.
type Multiply<T> = unsafe extern "C" fn(
    layout: c_int,
    turned_a: c_int,
    turned_b: c_int,
    m: usize,
    n: usize,
    k: usize,
    alpha: T,
    a: cl_mem,
    start_a: usize,
    pitch_a: usize,
    step_a: usize,
    b: cl_mem,
    start_b: usize,
    pitch_b: usize,
    step_b: usize,
    beta: T,
    c: cl_mem,
    start_c: usize,
    pitch_c: usize,
    step_c: usize,
    count: usize,
    queue: *mut cl_command_queue,
    event: *mut cl_event,
) -> c_int;

/// The functions of the library that are used.
pub(crate) struct ClBlast {
    single: Multiply<f32>,
    double: Multiply<f64>,
    /// Why the last product was left to others.
    refused: Mutex<Option<String>>,
}

/// A matrix as the library takes it.
struct Place<'a> {
    mem: &'a Mem,
    start: usize,
    pitch: usize,
    step: usize,
    turned: c_int,
}

impl ClBlast {
    /// Opens it.
    pub(crate) fn open() -> Result<ClBlast, String> {
        // SAFETY: the library's constructors are made to run at any time.
        let opened = unsafe { Library::open(Some(NAME), RTLD_NOW | RTLD_LOCAL) };
        let library = opened.map_err(|error| {
            let reason = error.source().map(ToString::to_string);
            reason.unwrap_or_else(|| error.to_string())
        })?;
        let lacks = |_absent| format!("{NAME} is too old: it multiplies no stacks");
        // SAFETY: the type is that of the library's header.
        let single = unsafe { library.get(b"CLBlastSgemmStridedBatched\0") }.map_err(lacks)?;
        // SAFETY: as above.
        let double = unsafe { library.get(b"CLBlastDgemmStridedBatched\0") }.map_err(lacks)?;
        let functions = ClBlast {
            single: *single,
            double: *double,
            refused: Mutex::default(),
        };
        // It is never closed: drivers still have its kernels.
        let _forever = library.into_raw();
        Ok(functions)
    }

    /// True for the numbers that it multiplies for us.
    pub(crate) fn has(dtype: DType) -> bool {
        matches!(dtype, DType::F32 | DType::F64)
    }

    /// What it is, and why it refused the last product that it did.
    pub(crate) fn words(&self) -> Vec<String> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = refused.iter().map(|why| format!("last refused: {why}"));
        std::iter::once(format!("CLBlast ({NAME})"))
            .chain(refused)
            .collect()
    }

    /// Puts a product of such numbers into a queue. False if the library refuses it, perhaps halfway.
    pub(crate) fn multiply(&self, gemm: &Gemm, queue: &CommandQueue, bound: &Bound) -> bool {
        let done = self.put(gemm, queue, bound);
        if let Err(why) = &done {
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            *refused = Some(why.to_string());
        }
        done.is_ok()
    }

    fn put(&self, gemm: &Gemm, queue: &CommandQueue, bound: &Bound) -> Result<(), DeviceError> {
        let size = gemm.dtype.size().cast_signed();
        for number in 0..gemm.calls {
            let place = |factor: &Factor| {
                let bytes = bound.offset(factor.memory) + factor.next * number.cast_signed();
                Ok::<_, DeviceError>(Place {
                    mem: bound.mem(factor.memory)?,
                    start: (bytes / size).unsigned_abs(),
                    pitch: factor.pitch,
                    step: factor.step,
                    turned: TURNED[usize::from(factor.turned)],
                })
            };
            let [a, b, c] = &gemm.factors;
            let places = [place(a)?, place(b)?, place(c)?];
            let code = match gemm.dtype {
                DType::F32 => call(self.single, [1.0, 0.0], gemm, places, queue),
                _ => call(self.double, [1.0, 0.0], gemm, places, queue),
            };
            if code != 0 {
                return Err(failed(format!("CLBlast gave error {code}")));
            }
        }
        Ok(())
    }
}

/// One call, for numbers of one type.
fn call<T>(
    multiply: Multiply<T>,
    [one, zero]: [T; 2],
    gemm: &Gemm,
    [a, b, c]: [Place<'_>; 3],
    queue: &CommandQueue,
) -> c_int {
    let [m, n, k] = gemm.sizes;
    let mut queue = queue.raw();
    // SAFETY: handles are those of live objects of ours, which the driver keeps while commands use them; the
    // library checks sizes against blocks, and whoever calls `Device::ext` vouches for what lies in them.
    unsafe {
        multiply(
            COLUMNS,
            a.turned,
            b.turned,
            m,
            n,
            k,
            one,
            a.mem.raw(),
            a.start,
            a.pitch,
            a.step,
            b.mem.raw(),
            b.start,
            b.pitch,
            b.step,
            zero,
            c.mem.raw(),
            c.start,
            c.pitch,
            c.step,
            gemm.count,
            &raw mut queue,
            ptr::null_mut(),
        )
    }
}
