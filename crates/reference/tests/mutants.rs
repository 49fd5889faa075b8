//! The suite must find every device that is wrong in one way.

use arrayloom_device::conform::{Group, Outcome, run_group};
use arrayloom_reference::{Fault, MUTANTS, Mutant, Reference};

/// Where each fault must be found at least.
fn groups(fault: Fault) -> &'static [Group] {
    match fault {
        Fault::IgnoresStride | Fault::StepZeroIsOne | Fault::HidesFallback => &[Group::Map],
        Fault::IgnoresSign | Fault::WrongPromotion => &[Group::Casts],
        Fault::LosesNan => &[Group::Map, Group::Reduce],
        Fault::ShortTail | Fault::Saturates => &[Group::Map, Group::InPlace],
        Fault::PlainSum | Fault::NoPieces | Fault::ForgetsInitial => &[Group::Reduce],
        Fault::WrongArg | Fault::LacksForm => &[Group::ArgScan],
        Fault::FirstWins | Fault::SetsForAdd => &[Group::Scatter],
        Fault::WideHalf | Fault::FusedDiffers => &[Group::Fusion],
        Fault::NoFlags => &[Group::Flags],
        Fault::ShortCopy | Fault::Unaligned | Fault::NeverDone => &[Group::Memory],
        Fault::LeaksOnError => &[Group::Limits],
        Fault::EarlyPoll | Fault::DropsWait | Fault::ReusesEarly | Fault::CopiesLate => {
            &[Group::Order]
        }
    }
}

#[test]
fn every_fault_is_found() {
    for fault in MUTANTS {
        for &group in groups(fault) {
            assert!(group.level() == fault.level() || fault == Fault::LosesNan);
            let device = Mutant::new(fault, 1).unwrap();
            let results = run_group(group, &device, &Reference::new());
            let failed = results
                .iter()
                .any(|c| matches!(c.outcome, Outcome::Fail(_)));
            assert!(failed, "{fault:?} passes {group:?}");
        }
    }
}
