//! Products of matrices by cuBLAS.
//!
//! Floats are multiplied and added with at least their own precision: numbers of 32 bits are never rounded to
//! TF32. The order of sums is the library's, for which ours holds as well: a result differs from the exact one by at
//! most `n * 2^-24` (`float32`) or `n * 2^-53` (`float64`) times the sum of the products' sizes, for `n` products.

use crate::api::{Address, Code, Cublas, Moved};
use crate::context::{Context, Stream};
use crate::fft::address;
use crate::libraries::{self, Places};
use arrayloom_codegen::{Factor, Gemm, Memory};
use arrayloom_device::ExtCall;
use arrayloom_types::DType;
use libloading::os::unix::Library;
use std::ffi::c_int;
use std::path::Path;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// The oldest version that is used: CUDA 11's.
const OLDEST: c_int = 11_000;
/// Precision at least that of the operands.
const DEFAULT_MATH: c_int = 0;
/// The library chooses how it multiplies.
const DEFAULT_WAY: c_int = -1;
/// The numbers of dtypes, and of what sums are computed in: 32 bits and 64 bits.
const KINDS: [(DType, c_int, c_int); 4] = [
    (DType::F32, 0, 68),
    (DType::F64, 1, 70),
    (DType::C64, 4, 68),
    (DType::C128, 5, 70),
];

/// A number as the library takes it.
fn number(n: usize) -> Option<c_int> {
    c_int::try_from(n).ok()
}

/// A matrix as the library takes it, or the first of several.
struct Place {
    address: Address,
    turned: c_int,
    pitch: c_int,
    step: i64,
    next: i64,
}

/// A product as the library takes it.
pub(crate) struct Order {
    kind: c_int,
    compute: c_int,
    one: u64,
    sizes: [c_int; 3],
    places: [Place; 3],
    count: c_int,
    calls: i64,
}

impl Order {
    /// The product that is called, if it is one for the library.
    pub(crate) fn of(call: &ExtCall<'_>) -> Option<Order> {
        let gemm = Gemm::of(call)?;
        let of_dtype = |(dtype, ..): &&(DType, c_int, c_int)| *dtype == gemm.dtype;
        let &(dtype, kind, compute) = KINDS.iter().find(of_dtype)?;
        let place = |factor: Factor| {
            let tensor = match factor.memory {
                Memory::In(i) => call.ins.get(i),
                Memory::Out(i) => call.outs.get(i),
                Memory::Scratch(_) => None,
            };
            Some(Place {
                address: address(tensor?),
                turned: c_int::from(factor.turned),
                pitch: number(factor.pitch)?,
                step: i64::try_from(factor.step).ok()?,
                next: factor.next as i64,
            })
        };
        let ([m, n, k], [left, right, out]) = (gemm.sizes, gemm.factors);
        Some(Order {
            kind,
            compute,
            one: match dtype.real() {
                DType::F32 => u64::from(1f32.to_bits()),
                _ => 1f64.to_bits(),
            },
            sizes: [number(m)?, number(n)?, number(k)?],
            places: [place(left)?, place(right)?, place(out)?],
            count: number(gemm.count)?,
            calls: i64::try_from(gemm.calls).ok()?,
        })
    }
}

/// The library, and its handle.
pub(crate) struct Blas {
    api: Cublas,
    handle: Mutex<Moved>,
    /// What it is and where it was found.
    pub(crate) words: String,
    context: Arc<Context>,
}

impl Blas {
    /// Opens the first that can be used. The context is current.
    pub(crate) fn open(context: &Arc<Context>, places: &Places) -> Result<Blas, String> {
        libraries::PRODUCTS.first(places, |library, path| Blas::of(context, library, path))
    }

    fn of(context: &Arc<Context>, library: Library, path: &Path) -> Result<Blas, String> {
        let at = path.display();
        let api = Cublas::load(&library)
            .map_err(|name| format!("{at} has no {}", name.to_string_lossy()))?;
        libraries::keep(library);
        let failed = |code: Code| format!("{at}: {code}");
        let mut handle = ptr::null_mut();
        api.create(&mut handle).map_err(failed)?;
        let mut blas = Blas {
            api,
            handle: Mutex::new(Moved(handle)),
            words: String::new(),
            context: Arc::clone(context),
        };
        let mut version = 0;
        blas.api.version(handle, &mut version).map_err(failed)?;
        if version < OLDEST {
            return Err(format!("{at} is too old: version {version}"));
        }
        blas.api.math(handle, DEFAULT_MATH).map_err(failed)?;
        blas.words = format!("cuBLAS {version} ({at})");
        Ok(blas)
    }

    /// Puts a product into a stream, with memory to work in.
    pub(crate) fn multiply(
        &self,
        order: &Order,
        stream: &Stream,
        (place, bytes): (Address, usize),
    ) -> Result<(), Code> {
        let (one, zero) = ([order.one, 0], [0u64; 2]);
        let (kind, [m, n, k], [left, right, out]) = (order.kind, order.sizes, &order.places);
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        // The stream comes first: a new one has the library's own memory.
        self.api.stream(handle.0, stream.raw)?;
        self.api.workspace(handle.0, place, bytes)?;
        for number in 0..order.calls {
            let at = |place: &Place| place.address.wrapping_add_signed(place.next * number);
            self.api.multiply(
                handle.0,
                left.turned,
                right.turned,
                m,
                n,
                k,
                one.as_ptr().cast(),
                at(left),
                kind,
                left.pitch,
                left.step,
                at(right),
                kind,
                right.pitch,
                right.step,
                zero.as_ptr().cast(),
                at(out),
                kind,
                out.pitch,
                out.step,
                order.count,
                order.compute,
                DEFAULT_WAY,
            )?;
        }
        Ok(())
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // Products may still run; what failed is told to whoever waits for it.
            drop(self.context.finish());
            let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
            drop(self.api.destroy(handle.0));
        }
    }
}
