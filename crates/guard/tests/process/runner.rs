//! Runs each case in a process of its own and compares how it ended.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode, Stdio};

use crate::{crash, fork, limits};

/// How a case ends.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Returns,
    Signal(i32),
}

const CASES: &[(&str, fn(), End)] = &[
    (
        "null_dereference",
        crash::null_dereference,
        End::Signal(libc::SIGSEGV),
    ),
    (
        "touch_freed",
        crash::touch_freed,
        End::Signal(libc::SIGSEGV),
    ),
    (
        "touch_past_the_end",
        crash::touch_past_the_end,
        End::Signal(libc::SIGSEGV),
    ),
    (
        "execute_data",
        crash::execute_data,
        End::Signal(libc::SIGSEGV),
    ),
    (
        "raised_signal",
        crash::raised_signal,
        End::Signal(libc::SIGSEGV),
    ),
    (
        "stack_overflow",
        crash::stack_overflow,
        End::Signal(libc::SIGABRT),
    ),
    (
        "previous_handler_recovers",
        crash::previous_handler_recovers,
        End::Returns,
    ),
    (
        "cycle_ends_in_death",
        crash::cycle_ends_in_death,
        End::Signal(libc::SIGSEGV),
    ),
    (
        "reraiser_on_top_ends_in_death",
        crash::reraiser_on_top_ends_in_death,
        End::Signal(libc::SIGSEGV),
    ),
    (
        "reinstalled_on_top_still_serves",
        crash::reinstalled_on_top_still_serves,
        End::Returns,
    ),
    (
        "replaced_without_a_word_still_serves",
        crash::replaced_without_a_word_still_serves,
        End::Returns,
    ),
    (
        "errno_survives_a_fault",
        limits::errno_survives_a_fault,
        End::Returns,
    ),
    (
        "fork_with_pending_slots",
        fork::fork_with_pending_slots,
        End::Returns,
    ),
    ("fork_amid_faults", fork::fork_amid_faults, End::Returns),
    (
        "fork_amid_warm_slots",
        fork::fork_amid_warm_slots,
        End::Returns,
    ),
    (
        "fork_behind_our_back",
        fork::fork_behind_our_back,
        End::Returns,
    ),
    (
        "small_address_space",
        limits::small_address_space,
        End::Returns,
    ),
    ("no_address_space", limits::no_address_space, End::Returns),
    ("slots_run_out", limits::slots_run_out, End::Returns),
    (
        "service_thread_faults",
        limits::service_thread_faults,
        End::Returns,
    ),
    (
        "a_small_signal_stack_suffices",
        limits::a_small_signal_stack_suffices,
        End::Returns,
    ),
];

pub(crate) fn main() -> ExitCode {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    if let Some((_, case, _)) = CASES.iter().find(|(name, ..)| *name == wanted) {
        case();
        return ExitCode::SUCCESS;
    }
    if wanted == "--list" {
        return ExitCode::SUCCESS;
    }
    let mut failures = 0;
    for (name, _, expected) in CASES {
        if wanted.starts_with('-') || name.contains(&wanted) {
            failures += usize::from(!passes(name, expected));
        }
    }
    if failures == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn passes(name: &str, expected: &End) -> bool {
    let this = std::env::current_exe().unwrap();
    // A case that hangs is killed by `timeout`, which then exits by itself.
    let mut run = Command::new("timeout");
    run.args(["--foreground", "60"])
        .arg(this)
        .arg(name)
        .stdin(Stdio::null());
    let output = run.output().unwrap();
    // `timeout` passes on a signal by killing itself with it, or as 128 + n.
    let signal = output.status.signal().or(output
        .status
        .code()
        .filter(|code| *code > 128)
        .map(|code| code - 128));
    let fits = match expected {
        End::Returns => output.status.success(),
        End::Signal(number) => signal == Some(*number),
    };
    println!("process::{name} ... {}", if fits { "ok" } else { "FAILED" });
    if !fits {
        let text = String::from_utf8_lossy(&output.stderr);
        println!("  expected {expected:?}, got {}\n{text}", output.status);
    }
    fits
}
