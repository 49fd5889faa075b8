//! The driver without a GPU, and the way to steer it.

#![expect(unsafe_code, reason = "the driver is a C library")]

use arrayloom_cuda::{Config, Cuda};
use arrayloom_device::DeviceError;
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_long};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/device/driver.cpp");
const VENDOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/device/vendor.cpp");
const SHIM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../codegen/src/c/shim.h");

/// Where packages of Python's bring libraries.
pub(crate) const COMPILER: &str = "nvidia/cuda_nvrtc/lib/libnvrtc.so.12";
pub(crate) const PRODUCTS: &str = "nvidia/cublas/lib/libcublas.so.12";
pub(crate) const TRANSFORMS: &str = "nvidia/cufft/lib/libcufft.so.11";

/// A driver of its own for one test, with two GPUs.
pub(crate) struct Fake {
    library: Library,
    folder: PathBuf,
}

/// What decides about machine code of the fake.
fn digest() -> u64 {
    let mut hasher = DefaultHasher::new();
    for file in [SOURCE, VENDOR, SHIM] {
        fs::read(file).unwrap().hash(&mut hasher);
    }
    hasher.finish()
}

/// The driver, compiled once.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let tests = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let library = tests.join(format!("fake-cuda-{:x}.so", digest()));
        if !library.exists() {
            let made = library.with_extension(format!("{}", std::process::id()));
            let mut compiler = Command::new("g++");
            compiler
                .args([
                    "-std=c++17",
                    "-O1",
                    "-shared",
                    "-fPIC",
                    "-fvisibility=hidden",
                ])
                .arg(format!("-DSHIM=\"{SHIM}\""))
                .arg("-o")
                .args([&made, Path::new(SOURCE)]);
            assert!(compiler.status().unwrap().success());
            fs::rename(made, &library).unwrap();
        }
        library
    })
}

impl Fake {
    /// For the test with this name.
    pub(crate) fn new(test: &str) -> Fake {
        // A library is known by its path and by its file: a copy of another name has a state of its own, and
        // two names of one file share it.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("cuda")
            .join(format!("{test}-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let driver = folder.join("libcuda.so.1");
        fs::copy(built(), &driver).unwrap();
        for library in [COMPILER, PRODUCTS, TRANSFORMS] {
            let library = folder.join(library);
            fs::create_dir_all(library.parent().unwrap()).unwrap();
            fs::hard_link(&driver, library).unwrap();
        }
        // SAFETY: the library has no constructors that matter.
        let library = unsafe { Library::new(&driver) }.unwrap();
        Fake { library, folder }
    }

    /// How to open its first GPU. Programs are kept for the next run of the tests.
    pub(crate) fn config(&self) -> Config {
        let kept = format!("cuda-kernels-{:x}", digest());
        Config {
            driver: Some(self.folder.join("libcuda.so.1")),
            packages: vec![self.folder.clone()],
            libraries: true,
            cache: Some((Path::new(env!("CARGO_TARGET_TMPDIR")).join(kept), 1 << 30)),
            ..Config::default()
        }
    }

    /// Its first GPU.
    pub(crate) fn open(&self) -> Result<Cuda, DeviceError> {
        Cuda::open(self.config())
    }

    /// Where its libraries lie.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Changes a setting, and gives what it was.
    pub(crate) fn set(&self, name: &str, value: i64) -> i64 {
        type Set = unsafe extern "C" fn(*const c_char, c_long) -> c_long;
        // SAFETY: this is the function's type.
        let set = unsafe { self.library.get::<Set>(b"fake\0") }.unwrap();
        let name = CString::new(name).unwrap();
        // SAFETY: the text is alive.
        unsafe { set(name.as_ptr(), value) }
    }

    /// A setting or a count.
    pub(crate) fn get(&self, name: &str) -> i64 {
        self.set(name, -1)
    }

    /// A stream that another library made on the first GPU.
    pub(crate) fn stream(&self) -> u64 {
        type Make = unsafe extern "C" fn() -> u64;
        // SAFETY: this is the function's type.
        let make = unsafe { self.library.get::<Make>(b"fake_stream\0") }.unwrap();
        // SAFETY: it takes nothing.
        unsafe { make() }
    }

    /// The call of this function, counted from one for the next, gives an error; none if 0.
    pub(crate) fn fail(&self, name: &str, call: i64, code: i32) {
        type Fail = unsafe extern "C" fn(*const c_char, c_long, c_int);
        // SAFETY: this is the function's type.
        let fail = unsafe { self.library.get::<Fail>(b"fake_fail\0") }.unwrap();
        let name = CString::new(name).unwrap();
        // SAFETY: the text is alive.
        unsafe { fail(name.as_ptr(), call, code) };
    }

    /// The names of all calls so far.
    pub(crate) fn called(&self) -> Vec<String> {
        type Called = unsafe extern "C" fn(c_long) -> *const c_char;
        // SAFETY: this is the function's type.
        let called = unsafe { self.library.get::<Called>(b"fake_called\0") }.unwrap();
        let name = |number| {
            // SAFETY: any number will do.
            let name = unsafe { called(number) };
            (!name.is_null()).then(|| {
                // SAFETY: the driver keeps the text until the next call.
                let name = unsafe { CStr::from_ptr(name) };
                name.to_str().unwrap().to_owned()
            })
        };
        (0..).map_while(name).collect()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}
