//! The C library's own functions, found by name behind this library.

use core::ffi::CStr;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// One function of the C library; `F` is its type.
pub(crate) struct Real<F> {
    name: &'static CStr,
    address: AtomicUsize,
    kind: PhantomData<fn() -> F>,
}

impl<F: Copy> Real<F> {
    /// # Safety
    /// `F` is the type of the C function of this name.
    pub(crate) const unsafe fn new(name: &'static CStr) -> Real<F> {
        assert!(size_of::<F>() == size_of::<usize>());
        Real {
            name,
            address: AtomicUsize::new(0),
            kind: PhantomData,
        }
    }

    /// The function, or none (with `errno` set) if the C library lacks it.
    pub(crate) fn get(&self) -> Option<F> {
        let mut address = self.address.load(Relaxed);
        if address == 0 {
            // SAFETY: the name ends in a zero byte.
            let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            if found.is_null() {
                set_errno(libc::ENOSYS);
                return None;
            }
            address = found.expose_provenance();
            self.address.store(address, Relaxed);
        }
        let function = core::ptr::with_exposed_provenance::<()>(address);
        // SAFETY: a function pointer of the type that `new` was promised; sizes were compared.
        Some(unsafe { core::mem::transmute_copy::<*const (), F>(&function) })
    }
}

/// The calling thread's `errno`.
pub(crate) fn errno() -> i32 {
    // SAFETY: the C library gives every thread an errno.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the place is valid for the life of the calling thread.
    unsafe { *place }
}

/// Sets the calling thread's `errno`.
pub(crate) fn set_errno(value: i32) {
    // SAFETY: the C library gives every thread an errno.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the place is valid for the life of the calling thread.
    unsafe { *place = value };
}
