//! Backends in shared libraries: one symbol, `arrayloom_backend_v1`, that returns a table of C functions.
//!
//! [`export_backend!`](crate::export_backend) makes the table of a [`Device`](crate::Device) written in
//! Rust; C and others fill it by hand with the header `include/arrayloom_backend.h`. [`load`] opens a
//! library and makes its table a `Device` again, so that nobody above can tell the difference. Numbers
//! that come from the other side are checked, never transmuted, and no panic crosses.

mod export;
mod export_options;
mod load;
mod load_options;
mod receive;
mod send;
mod table;

pub use export::{Open, table_of};
pub use load::{LoadError, Loaded, load};
pub use table::{
    ARG_SCALAR, ARG_VIEW, CAPS_FLAGS, CAPS_FUSED, CAPS_NUMPY_ORDER, CAPS_UNALIGNED, CAPS_UNIFIED,
    CArg, CCaps, CExt, CFold, CForeign, CIns, CKernel, CLaunch, COutput, CTable, CTensor, CText,
    DEVICE_LOST, FAILED, FOREIGN_CONTEXT, FOREIGN_MEMORY, FOREIGN_QUEUE, FORM_ARG, FORM_REDUCE,
    FORM_SCAN, FORM_SCATTER, FORM_STORE, MAJOR, MINOR, OK, OUT_OF_MEMORY, UNSUPPORTED,
};

/// The name of the symbol.
pub const SYMBOL: &str = "arrayloom_backend_v1";

/// Makes a library of crate type `cdylib` a backend: `export_backend!(open)`, where `open` takes the
/// number of a device and returns `Result<Arc<dyn Device>, DeviceError>`.
#[macro_export]
macro_rules! export_backend {
    ($open:expr) => {
        /// The table of this backend.
        #[expect(unsafe_code, reason = "the loader looks this symbol up by name")]
        // SAFETY: no other symbol of a backend has this name.
        #[unsafe(no_mangle)]
        pub extern "C" fn arrayloom_backend_v1() -> *const $crate::abi::CTable {
            struct Opener;
            impl $crate::abi::Open for Opener {
                fn open(
                    index: u32,
                ) -> Result<std::sync::Arc<dyn $crate::Device>, $crate::DeviceError> {
                    let opened: Result<_, $crate::DeviceError> = ($open)(index);
                    Ok(opened? as std::sync::Arc<dyn $crate::Device>)
                }
            }
            static TABLE: $crate::abi::CTable = $crate::abi::table_of::<Opener>();
            &raw const TABLE
        }
    };
}
