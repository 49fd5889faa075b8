//! Serving a fault on the thread that made it.
//!
//! The handler and all it calls use only: atomics; `mremap`, `mprotect`, `mmap` with `MAP_FIXED`,
//! `futex`, `gettid`, `getpid`, `sigaction`, `tgkill`, `sigfillset`, `sigdelset`,
//! `sigemptyset`. All are async-signal-safe; none allocates or takes a lock that a
//! faulting thread could hold. One exception: a fault *on the service thread* is evaluated right there;
//! anything else would be a deadlock.
//!
//! A fault is ours if it is SIGSEGV with `SEGV_ACCERR` on data, within a slot in use. What happens
//! follows from the slot's state alone; the loop ends when the access can be repeated.

#![expect(unsafe_code, reason = "signal handling")]

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicPtr};

use super::chain;
use crate::error::GuardError;
use crate::guard::Guard;
use crate::publish::Attempt;
use crate::slot::{DOOMED, Request, Slot, State};
use crate::sys;

/// `si_code` of an access that the page's protection forbids.
const SEGV_ACCERR: c_int = 2;

static SERVED: AtomicPtr<Guard> = AtomicPtr::new(core::ptr::null_mut());
/// True if the shim tells of every change of handlers.
static TOLD: AtomicBool = AtomicBool::new(false);

type Action = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// What the faulting instruction wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Read,
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "other machines do not tell")
    )]
    Write,
    Execute,
    /// The machine does not tell; on a readable page it can only be a write.
    Unknown,
}

/// Supported on Linux.
#[expect(
    clippy::unnecessary_wraps,
    reason = "other systems answer with an error"
)]
pub(crate) fn check_support() -> Result<(), GuardError> {
    Ok(())
}

/// Puts the handler in place for the first time.
pub(crate) fn install(guard: &'static Guard) -> Result<(), GuardError> {
    SERVED.store(core::ptr::from_ref(guard).cast_mut(), SeqCst);
    let before = chain::current();
    chain::set_first(&before);
    TOLD.store(sys::told_by_shim(replaced), Relaxed);
    put_on_top().map_err(|errno| GuardError::System {
        call: "sigaction",
        errno,
        bytes: 0,
    })
}

/// Puts the handler back on top of whoever replaced it.
pub(crate) fn reinstall() {
    static BUSY: AtomicBool = AtomicBool::new(false);
    if SERVED.load(SeqCst).is_null() || BUSY.swap(true, SeqCst) {
        return;
    }
    let now = chain::current();
    if !is_handler(&now) {
        chain::set_previous(&now);
        // Only an invalid signal number is refused.
        let _refused = put_on_top();
    }
    BUSY.store(false, SeqCst);
}

/// Puts the handler back on top, if it may have been replaced: libraries do that without a word to us, such as those
/// that give worker processes handlers of their own.
pub(crate) fn keep_on_top() {
    if !TOLD.load(Relaxed) {
        reinstall();
    }
}

/// The shim calls this after each change of who handles SIGSEGV.
extern "C" fn replaced() {
    // A handler that gets a fault from us may want to end the process by the default action.
    if !chain::is_passing() {
        reinstall();
    }
}

/// Whether the process's handler is this one.
pub(crate) fn is_ours() -> bool {
    is_handler(&chain::current())
}

fn is_handler(action: &libc::sigaction) -> bool {
    action.sa_sigaction == address()
}

#[expect(
    clippy::fn_to_numeric_cast_any,
    reason = "the kernel takes a handler by its address"
)]
fn address() -> usize {
    (on_fault as Action as *const ()).expose_provenance()
}

fn put_on_top() -> Result<(), i32> {
    let action = libc::sigaction {
        sa_sigaction: address(),
        sa_mask: sys::all_but_synchronous(),
        // NODEFER: a chained handler may raise SIGSEGV again, and that must arrive at once.
        sa_flags: libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER,
        sa_restorer: None,
    };
    // SAFETY: the action is complete and its handler has the signature SA_SIGINFO asks for.
    let status =
        unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, core::ptr::null_mut()) };
    if status == 0 {
        Ok(())
    } else {
        Err(sys::errno())
    }
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let errno = sys::errno();
    let guard = SERVED.load(SeqCst);
    // SAFETY: null, or the guard that `install` stored, which lives as long as the process.
    let guard = unsafe { guard.as_ref() };
    let served = guard.is_some_and(|guard| try_serve(guard, info, context));
    if served {
        if let Some(guard) = guard
            && !guard.service.is_current()
        {
            guard.owner.served();
        }
    } else {
        if let Some(guard) = guard {
            guard.tallies.chained.fetch_add(1, Relaxed);
        }
        sys::set_errno(errno);
        chain::pass_on(signal, info, context);
    }
    sys::set_errno(errno);
}

/// Serves the fault if it is ours. True: repeat the access.
fn try_serve(guard: &Guard, info: *mut libc::siginfo_t, context: *mut c_void) -> bool {
    // SAFETY: the kernel passes a valid siginfo.
    let info = unsafe { &*info };
    if info.si_code != SEGV_ACCERR {
        return false;
    }
    // SAFETY: SIGSEGV with a positive code carries an address.
    let addr = unsafe { info.si_addr() }.addr();
    let Some(slot) = guard.slot_at(addr) else {
        return false;
    };
    if addr - guard.addr(slot).addr() >= guard.reach(slot) {
        return false;
    }
    let wish = wish_of(context, addr);
    if wish == Wish::Execute {
        return false;
    }
    guard.tallies.faults.fetch_add(1, Relaxed);
    bring_about(guard, slot, wish)
}

/// Waits for, or does, what the access needs. False: it can never succeed.
fn bring_about(guard: &Guard, slot: Slot, wish: Wish) -> bool {
    let record = guard.arena.record(slot);
    let life = record.life();
    let mut published_here = false;
    loop {
        let word = record.load();
        if word.has(DOOMED) {
            return false;
        }
        if word.is_locked() {
            record.wait(word);
            continue;
        }
        let request = match word.state() {
            State::Free => return false,
            State::Ready => return true,
            State::ReadOnly | State::BusyWrite if wish == Wish::Read => return true,
            // Without knowing better, repeat the access on what was published just now: if it
            // was a write, it comes back.
            State::ReadOnly if wish == Wish::Unknown && published_here => return true,
            State::Busy | State::BusyWrite if guard.service.is_current() => return false,
            State::Busy | State::BusyWrite => {
                record.wait(word);
                continue;
            }
            State::Computed if word.pins() > 0 => {
                record.wait(word);
                continue;
            }
            State::Computed => match guard.try_publish(slot, None) {
                Attempt::Published => {
                    guard.tallies.handler_publishes.fetch_add(1, Relaxed);
                    published_here = true;
                    continue;
                }
                Attempt::Again(_) => continue,
                Attempt::Refused(_) => Request::value(life),
            },
            State::Lazy => Request::value(life),
            State::ReadOnly => Request::write(life),
        };
        if !ask_service(guard, slot, request) {
            return false;
        }
        if !guard.service.is_current() {
            record.wait_served();
        }
    }
}

/// Hands the slot to the service thread. False: there is none.
fn ask_service(guard: &Guard, slot: Slot, request: Request) -> bool {
    if !guard.service.is_running() {
        return false;
    }
    if guard.service.is_current() {
        guard.serve(slot, request);
    } else {
        guard.request(slot, request);
    }
    true
}

#[cfg(target_arch = "x86_64")]
fn wish_of(context: *mut c_void, _addr: usize) -> Wish {
    const WRITE: i64 = 1 << 1;
    const FETCH: i64 = 1 << 4;
    const ERROR_CODE: usize = libc::REG_ERR as usize;
    // SAFETY: the kernel passes a valid context to an SA_SIGINFO handler.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    let code = context.uc_mcontext.gregs[ERROR_CODE];
    if code & FETCH != 0 {
        Wish::Execute
    } else if code & WRITE != 0 {
        Wish::Write
    } else {
        Wish::Read
    }
}

#[cfg(target_arch = "aarch64")]
fn wish_of(context: *mut c_void, addr: usize) -> Wish {
    // SAFETY: the kernel passes a valid context to an SA_SIGINFO handler.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    if usize::try_from(context.uc_mcontext.pc) == Ok(addr) {
        Wish::Execute
    } else {
        Wish::Unknown
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn wish_of(_context: *mut c_void, _addr: usize) -> Wish {
    Wish::Unknown
}
