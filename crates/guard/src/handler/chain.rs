//! Passing faults on that are not ours, to whoever was there before.
//!
//! `previous` is who to pass on to now; `first` is who was there when the guard was installed. They
//! differ once somebody (such as `faulthandler.enable()`) replaced us and `reinstall` put us back on
//! top. Then a cycle exists: ours -> X -> ours, because X remembers us as its previous handler.
//! It is broken by noticing that this thread is passing a fault on already, further up the same
//! stack, and that this one is the same (same siginfo) or was raised by software (`si_code` <= 0):
//! then `first` gets it.
//!
//! Async-signal-safe but for `set_first` and `set_previous`.

#![expect(unsafe_code, reason = "signal handling")]

use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize};

use crate::sys;

static FIRST: AtomicPtr<libc::sigaction> = AtomicPtr::new(ptr::null_mut());
static PREVIOUS: AtomicPtr<libc::sigaction> = AtomicPtr::new(ptr::null_mut());

/// A thread that is passing a fault on.
struct Passing {
    thread: AtomicI32,
    info: AtomicUsize,
    frame: AtomicUsize,
}

static PASSING: [Passing; 32] = [const {
    Passing {
        thread: AtomicI32::new(0),
        info: AtomicUsize::new(0),
        frame: AtomicUsize::new(0),
    }
}; 32];

/// Who handles SIGSEGV now.
pub(super) fn current() -> libc::sigaction {
    let mut action = default_action();
    // SAFETY: asks only; `action` is a valid place for the answer.
    unsafe { libc::sigaction(libc::SIGSEGV, ptr::null(), &raw mut action) };
    action
}

fn default_action() -> libc::sigaction {
    libc::sigaction {
        sa_sigaction: libc::SIG_DFL,
        sa_mask: sys::no_signals(),
        sa_flags: 0,
        sa_restorer: None,
    }
}

/// Remembers who was there before the guard.
pub(super) fn set_first(action: &libc::sigaction) {
    FIRST.store(Box::into_raw(Box::new(*action)), SeqCst);
    set_previous(action);
}

/// Remembers whom to pass on to. The old one is leaked: a handler may be reading it.
pub(super) fn set_previous(action: &libc::sigaction) {
    PREVIOUS.store(Box::into_raw(Box::new(*action)), SeqCst);
}

/// True if the calling thread is passing a fault on, further up the same stack: who handles the signal is then the
/// business of those who come after us.
pub(super) fn is_passing() -> bool {
    let here = 0_u8;
    let frame = ptr::from_ref(&here).addr();
    let thread = sys::thread_id();
    let mut entries = PASSING.iter();
    entries.any(|entry| entry.thread.load(SeqCst) == thread && frame < entry.frame.load(SeqCst))
}

/// Passes a fault on that is not ours.
pub(super) fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let here = 0_u8;
    let frame = ptr::from_ref(&here).addr();
    let thread = sys::thread_id();
    // SAFETY: the kernel (or the handler that passed this on to us) gives a valid siginfo.
    let raised = unsafe { (*info).si_code } <= 0;
    let entry = PASSING
        .iter()
        .find(|entry| entry.thread.load(SeqCst) == thread);
    if let Some(entry) = entry {
        // A handler that left by longjmp leaves its entry behind; then we are not below it.
        let nested = frame < entry.frame.load(SeqCst);
        if nested && (raised || entry.info.load(SeqCst) == info.addr()) {
            deliver(&FIRST, signal, info, context);
            return;
        }
    }
    let free = || {
        PASSING.iter().find(|entry| {
            let claim = entry.thread.compare_exchange(0, thread, SeqCst, SeqCst);
            claim.is_ok()
        })
    };
    let Some(entry) = entry.or_else(free) else {
        deliver(&FIRST, signal, info, context);
        return;
    };
    let outer = (
        entry.info.swap(info.addr(), SeqCst),
        entry.frame.swap(frame, SeqCst),
    );
    deliver(&PREVIOUS, signal, info, context);
    entry.info.store(outer.0, SeqCst);
    entry.frame.store(outer.1, SeqCst);
    if outer.1 <= frame {
        entry.thread.store(0, SeqCst);
    }
}

fn deliver(
    to: &AtomicPtr<libc::sigaction>,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: null before installation; else a leaked box, valid for ever.
    let action = unsafe { to.load(SeqCst).as_ref() };
    // SAFETY: as in `pass_on`.
    let raised = unsafe { (*info).si_code } <= 0;
    match action {
        Some(action) if action.sa_sigaction == libc::SIG_IGN && raised => {}
        Some(action)
            if action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN =>
        {
            call(action, signal, info, context);
        }
        _ => die(signal, raised),
    }
}

fn call(action: &libc::sigaction, signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let function = ptr::with_exposed_provenance::<c_void>(action.sa_sigaction);
    if action.sa_flags & libc::SA_SIGINFO != 0 {
        type WithInfo = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
        // SAFETY: whoever set SA_SIGINFO promised the kernel a function of this type.
        let function = unsafe { core::mem::transmute::<*const c_void, WithInfo>(function) };
        function(signal, info, context);
    } else {
        type Plain = extern "C" fn(c_int);
        // SAFETY: whoever did not set SA_SIGINFO promised the kernel a function of this type.
        let function = unsafe { core::mem::transmute::<*const c_void, Plain>(function) };
        function(signal);
    }
}

/// Lets the default action happen: at once for a raised signal, else when the access is repeated.
fn die(signal: c_int, raised: bool) {
    let default = default_action();
    // SAFETY: the action is complete.
    unsafe { libc::sigaction(signal, &raw const default, ptr::null_mut()) };
    if raised {
        // SAFETY: sends a signal to the calling thread; no memory is involved.
        unsafe {
            libc::syscall(
                libc::SYS_tgkill,
                sys::process_id(),
                sys::thread_id(),
                signal,
            )
        };
    }
}
