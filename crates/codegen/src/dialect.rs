//! What differs between the languages.

/// A language of the C family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// OpenCL C 1.2.
    OpenCl,
    /// CUDA C++, without any header.
    Cuda,
    /// HIP, without any header.
    Hip,
    /// The CUDA text for a C++ compiler of the host.
    Host,
}

/// Counts up with every change of the text that kernels become, so that kept programs are built anew.
pub const EMITTER: u32 = 2;

const COMMON: &str = include_str!("c/common.h");
const OPENCL: &str = include_str!("c/opencl.h");
const CUDA: &str = include_str!("c/cuda.h");
const SHIM: &str = include_str!("c/shim.h");

impl Dialect {
    /// Its name in file names and keys.
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::OpenCl => "opencl",
            Dialect::Cuda => "cuda",
            Dialect::Hip => "hip",
            Dialect::Host => "host",
        }
    }

    /// What stands before everything else.
    pub(crate) fn prelude(self) -> String {
        match self {
            Dialect::OpenCl => format!("{OPENCL}{COMMON}"),
            Dialect::Cuda | Dialect::Hip => format!("{CUDA}{COMMON}"),
            Dialect::Host => format!("{SHIM}{CUDA}{COMMON}"),
        }
    }

    /// Options of the compiler without which results have other bits than the CPU's.
    pub const fn options(self) -> &'static [&'static str] {
        match self {
            Dialect::OpenCl => &["-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt"],
            Dialect::Cuda => &["--fmad=false", "--std=c++17", "-default-device"],
            Dialect::Hip => &["-ffp-contract=off", "-O3"],
            Dialect::Host => &["-std=c++17", "-O2", "-ffp-contract=off", "-shared", "-fPIC"],
        }
    }
}
