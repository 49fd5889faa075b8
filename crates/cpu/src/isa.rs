//! Instruction sets: what the processor has, and one compiled version of every kernel for each.

use std::fmt;

/// An instruction set that the kernels are compiled for, from low to high.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// What every processor of this architecture has.
    Baseline,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ and VL.
    Avx512,
}

impl Isa {
    /// The best set that this processor has.
    pub fn detect() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c");
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("bmi2");
            if avx2 && avx512 {
                return Isa::Avx512;
            }
            if avx2 {
                return Isa::Avx2;
            }
        }
        Isa::Baseline
    }

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Baseline => "baseline",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Bytes from what a fold reads to the lines that it asks for ahead of time: one core alone waits for memory otherwise. None
/// on AMD's processors, where tiles are not asked for ahead either: they follow straight reads by themselves, and what they
/// are asked for besides makes them slower (docs/decisions/0017-sums-in-the-order-of-memory.md).
pub(crate) fn ahead() -> usize {
    if is_amd() { 0 } else { 4096 }
}

/// True for AMD's processors: others do not have these instructions.
#[cfg(target_arch = "x86_64")]
fn is_amd() -> bool {
    is_x86_feature_detected!("sse4a")
}

#[cfg(not(target_arch = "x86_64"))]
fn is_amd() -> bool {
    false
}
