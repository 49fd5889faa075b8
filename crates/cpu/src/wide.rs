//! Running any loop with the widest vectors that the processor has.
#![expect(
    unsafe_code,
    reason = "calls functions compiled for features that were detected"
)]

use crate::Isa;
use std::sync::OnceLock;

/// Work that is compiled once for each instruction set. Mark `run` as `#[inline(always)]`, and whatever
/// it calls in its loops: only inlined code is compiled with the wider vectors.
pub trait Wide {
    /// What the work returns.
    type Out;

    /// Does the work. Its bits must not depend on the instruction set.
    fn run(self) -> Self::Out;
}

/// The best instruction set of this processor.
pub(crate) fn isa() -> Isa {
    static ISA: OnceLock<Isa> = OnceLock::new();
    *ISA.get_or_init(Isa::detect)
}

/// Runs `work` with the widest vectors of this processor.
pub fn wide<T: Wide>(work: T) -> T::Out {
    match isa() {
        // SAFETY: these features were detected.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512(work) },
        // SAFETY: these features were detected.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { avx2(work) },
        _ => work.run(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi2")]
fn avx512<T: Wide>(work: T) -> T::Out {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn avx2<T: Wide>(work: T) -> T::Out {
    work.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sum<'a>(&'a [f32]);

    impl Wide for Sum<'_> {
        type Out = f32;

        #[expect(
            clippy::inline_always,
            reason = "compiled with the features of its caller"
        )]
        #[inline(always)]
        fn run(self) -> f32 {
            self.0.iter().fold(0.0, |a, &b| b.mul_add(2.0, a))
        }
    }

    #[test]
    fn wide_work_gives_the_bits_of_plain_work() {
        let data: Vec<f32> = (1u16..99).map(|i| 1.0 / f32::from(i)).collect();
        assert_eq!(wide(Sum(&data)).to_bits(), Sum(&data).run().to_bits());
    }
}
