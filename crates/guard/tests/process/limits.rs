//! Little address space, few slots, a small signal stack, a service thread that faults.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use arrayloom_guard::{Guard, GuardConfig, GuardError, Slot};

use crate::world::{Bytes, install, lazy, read, write};

pub(crate) fn errno_survives_a_fault() {
    let (guard, _owner) = install();
    let slot = lazy(guard, 5000, 7);
    // SAFETY: the calling thread's errno.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { errno.write(4321) };
    read(guard, slot, 0);
    // SAFETY: as above.
    assert_eq!(unsafe { errno.read() }, 4321);
}

fn limit_address_space(bytes: u64) {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: the argument is valid, and outlives what the call makes of it.
    let status = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    assert_eq!(status, 0);
}

pub(crate) fn small_address_space() {
    limit_address_space(8 << 30);
    let (guard, _owner) = install();
    let slots: Vec<Slot> = (0..20).map(|k| lazy(guard, 1 << 20, k)).collect();
    for (k, slot) in slots.iter().enumerate() {
        assert_eq!(usize::from(read(guard, *slot, 1 << 19)), k);
    }
    assert!(guard.alloc(16 << 30).is_none());
    let room = vec![1_u8; 1 << 30];
    assert_eq!(
        room.iter().map(|&byte| usize::from(byte)).sum::<usize>(),
        1 << 30
    );
}

pub(crate) fn no_address_space() {
    limit_address_space(150 << 20);
    let owner = Arc::new(Bytes::default());
    let refused = Guard::install(GuardConfig::default(), owner).err().unwrap();
    assert!(
        matches!(refused, GuardError::NoAddressSpace { .. }),
        "{refused}"
    );
    assert!(Guard::get().is_none());
}

pub(crate) fn slots_run_out() {
    let config = GuardConfig {
        max_slots: 3,
        ..GuardConfig::default()
    };
    let guard = Guard::install(config, Arc::new(Bytes::default())).unwrap();
    let slots = [0; 3].map(|_| guard.alloc(4096).unwrap());
    assert!(guard.alloc(4096).is_none());
    assert_eq!(guard.counters().live_slots, 3);
    guard.free(slots[1]);
    assert_eq!(
        guard.alloc(4096),
        Some(slots[1]),
        "the address is used again"
    );
}

/// An evaluation that touches another lazy slot is served on the service thread itself.
pub(crate) fn service_thread_faults() {
    let (guard, owner) = install();
    let (first, second) = (lazy(guard, 5000, 9), lazy(guard, 5000, 8));
    let bits = usize::try_from(first.to_bits()).unwrap();
    owner.read_first.store(bits + 1, SeqCst);
    assert_eq!(read(guard, second, 0), 8);
    assert_eq!(read(guard, first, 0), 9);
    assert_eq!(guard.counters().service_calls, 2);
}

/// faulthandler's alternate stack has 16 KiB.
pub(crate) fn a_small_signal_stack_suffices() {
    let (guard, _owner) = install();
    let mut room = vec![0_u8; 16 << 10];
    let stack = libc::stack_t {
        ss_sp: room.as_mut_ptr().cast(),
        ss_flags: 0,
        ss_size: room.len(),
    };
    // SAFETY: the argument is valid, and outlives what the call makes of it.
    let status = unsafe { libc::sigaltstack(&raw const stack, std::ptr::null_mut()) };
    assert_eq!(status, 0);
    let slot = lazy(guard, 5000, 7);
    assert_eq!(read(guard, slot, 0), 7);
    write(guard, slot, 0, 1);
    let untouched = room.iter().take_while(|&&byte| byte == 0).count();
    assert!(
        untouched > 4096,
        "only {untouched} bytes of the stack were left"
    );
    let none = libc::stack_t {
        ss_sp: std::ptr::null_mut(),
        ss_flags: libc::SS_DISABLE,
        ss_size: 0,
    };
    // SAFETY: the argument is valid, and outlives what the call makes of it.
    let status = unsafe { libc::sigaltstack(&raw const none, std::ptr::null_mut()) };
    assert_eq!(status, 0);
}
