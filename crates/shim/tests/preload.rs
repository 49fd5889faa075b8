//! System calls on untouchable memory, with the shim preloaded and without.
//!
//! The program has cargo build the library as it is shipped, and starts itself again with it.

#![cfg_attr(target_os = "linux", expect(unsafe_code, reason = "raw system calls"))]
#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::unwrap_used,
        clippy::print_stdout,
        reason = "a test program without the usual harness"
    )
)]

#[cfg(not(target_os = "linux"))]
fn main() {
    // The library is empty on this system.
}

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};

    use arrayloom_guard::{Guard, GuardConfig, Owner, Slot};
    use libc::{c_int, c_void, iovec, msghdr};

    /// More than a pipe takes at once would block; this fits.
    const LEN: usize = 3 * 4096 + 17;

    pub(crate) fn main() {
        let case = std::env::args().nth(1).unwrap_or_default();
        match case.as_str() {
            "plain" => plain_handler(),
            "unpreloaded" => unpreloaded(),
            "guard" => guarded(),
            "masks" => masks(),
            "handlers" => handlers(),
            _ => {
                let library = build();
                run("plain", Some(&library));
                run("unpreloaded", None);
                run("guard", Some(&library));
                run("masks", Some(&library));
                run("handlers", Some(&library));
            }
        }
    }

    fn run(case: &str, preload: Option<&Path>) {
        let mut command = Command::new("timeout");
        command
            .arg("60")
            .arg(std::env::current_exe().unwrap())
            .arg(case);
        if let Some(library) = preload {
            command.env("LD_PRELOAD", library);
        }
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{case}: {}\n{text}", output.status);
        println!("preload::{case} ... ok");
    }

    fn build() -> PathBuf {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--release", "--offline", "-p", "arrayloom-shim"]);
        cargo.arg("--target-dir").arg(folder);
        let output = cargo.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        folder.join("release/libarrayloom_shim.so")
    }

    static PAGE: AtomicUsize = AtomicUsize::new(0);
    static FAULTS: AtomicU32 = AtomicU32::new(0);

    extern "C" fn open_pages(_signal: c_int) {
        FAULTS.fetch_add(1, SeqCst);
        let start = std::ptr::with_exposed_provenance_mut(PAGE.load(SeqCst));
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the pages are the case's own.
        unsafe { libc::mprotect(start, 4 * 4096, access) };
    }

    #[expect(
        clippy::fn_to_numeric_cast_any,
        reason = "the kernel takes a handler by its address"
    )]
    fn install_plain_handler() {
        // SAFETY: all zero is a valid action.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = (open_pages as extern "C" fn(c_int) as *const ()).expose_provenance();
        // SAFETY: the action is complete.
        unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut()) };
    }

    fn untouchable() -> *mut c_void {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let (none, len) = (std::ptr::null_mut(), 4 * 4096);
        // SAFETY: a new mapping.
        let pages = unsafe { libc::mmap(none, len, libc::PROT_NONE, flags, -1, 0) };
        assert_ne!(pages, libc::MAP_FAILED);
        PAGE.store(pages.expose_provenance(), SeqCst);
        pages
    }

    fn pipe() -> [c_int; 2] {
        let mut ends = [0; 2];
        // SAFETY: room for two numbers.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        ends
    }

    fn write(fd: c_int, buffer: *const c_void) -> isize {
        // SAFETY: the buffer has LEN bytes, of which the kernel may say EFAULT.
        unsafe { libc::write(fd, buffer, LEN) }
    }

    fn errno() -> i32 {
        std::io::Error::last_os_error().raw_os_error().unwrap()
    }

    fn cover() -> Option<extern "C" fn(usize, usize)> {
        // SAFETY: the name ends in a zero byte.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"arrayloom_shim_cover".as_ptr()) };
        if found.is_null() {
            return None;
        }
        // SAFETY: this is the function's type.
        Some(unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(usize, usize)>(found) })
    }

    fn plain_handler() {
        install_plain_handler();
        let (ends, pages) = (pipe(), untouchable());
        assert_eq!(write(ends[1], pages), -1, "not covered yet");
        assert_eq!((errno(), FAULTS.load(SeqCst)), (libc::EFAULT, 0));
        cover().unwrap()(pages.expose_provenance(), 4 * 4096);
        assert_eq!(write(ends[1], pages), LEN.cast_signed());
        assert_eq!(FAULTS.load(SeqCst), 1);
        let bad = std::ptr::without_provenance(64);
        assert_eq!(write(ends[1], bad), -1, "an honest EFAULT stays one");
        assert_eq!((errno(), FAULTS.load(SeqCst)), (libc::EFAULT, 1));
    }

    fn unpreloaded() {
        install_plain_handler();
        assert!(cover().is_none(), "this is the world without the shim");
        assert_eq!(write(pipe()[1], untouchable()), -1);
        assert_eq!((errno(), FAULTS.load(SeqCst)), (libc::EFAULT, 0));
    }

    /// An engine whose arrays hold their tag in every byte.
    struct Bytes;

    impl Owner for Bytes {
        fn evaluate(&self, slot: Slot) -> Result<(), ()> {
            let guard = Guard::get().unwrap();
            let block = guard.pool().get(guard.nbytes(slot), false).unwrap();
            let byte = u8::try_from(guard.tag(slot).load(SeqCst)).unwrap();
            // SAFETY: the block is ours.
            unsafe { block.ptr().write_bytes(byte, block.len()) };
            guard.computed(slot, block);
            Ok(())
        }
        fn before_write(&self, _slot: Slot) -> Result<(), ()> {
            Ok(())
        }
        fn failed(&self, _slot: Slot) {}
    }

    fn lazy(byte: u64) -> *mut c_void {
        let guard = Guard::get().unwrap();
        let slot = guard.alloc(LEN).unwrap();
        guard.tag(slot).store(byte, SeqCst);
        guard.addr(slot).cast()
    }

    fn with_vector(buffer: *mut c_void, call: impl FnOnce(*const iovec) -> isize) -> isize {
        let vector = iovec {
            iov_base: buffer,
            iov_len: LEN,
        };
        call(&raw const vector)
    }

    fn with_message(buffer: *mut c_void, call: impl FnOnce(*mut msghdr) -> isize) -> isize {
        // SAFETY: all zero is a valid message.
        let mut message: msghdr = unsafe { std::mem::zeroed() };
        with_vector(buffer, |vector| {
            message.msg_iov = vector.cast_mut();
            message.msg_iovlen = 1;
            call(&raw mut message)
        })
    }

    /// Calls of a kind come in pairs: one gives bytes of a lazy array away, one takes them into
    /// another lazy array.
    type Call = fn(c_int, *mut c_void) -> isize;

    const FILES: [(Call, Call); 4] = [
        (
            // SAFETY: LEN bytes of lazy memory.
            |fd, buffer| unsafe { libc::write(fd, buffer, LEN) },
            // SAFETY: as above.
            |fd, buffer| unsafe { libc::read(fd, buffer, LEN) },
        ),
        (
            // SAFETY: as above.
            |fd, buffer| unsafe { libc::pwrite(fd, buffer, LEN, 0) },
            // SAFETY: as above.
            |fd, buffer| unsafe { libc::pread(fd, buffer, LEN, 0) },
        ),
        (
            // SAFETY: as above.
            |fd, buffer| with_vector(buffer, |one| unsafe { libc::writev(fd, one, 1) }),
            // SAFETY: as above.
            |fd, buffer| with_vector(buffer, |one| unsafe { libc::readv(fd, one, 1) }),
        ),
        (
            // SAFETY: as above.
            |fd, buffer| with_vector(buffer, |one| unsafe { libc::pwritev(fd, one, 1, 0) }),
            // SAFETY: as above.
            |fd, buffer| with_vector(buffer, |one| unsafe { libc::preadv(fd, one, 1, 0) }),
        ),
    ];

    const SOCKETS: [(Call, Call); 3] = [
        (
            // SAFETY: LEN bytes of lazy memory.
            |fd, buffer| unsafe { libc::send(fd, buffer, LEN, 0) },
            // SAFETY: as above.
            |fd, buffer| unsafe { libc::recv(fd, buffer, LEN, 0) },
        ),
        (
            // SAFETY: as above.
            |fd, buffer| unsafe { libc::sendto(fd, buffer, LEN, 0, std::ptr::null(), 0) },
            |fd, buffer| {
                let none = std::ptr::null_mut();
                // SAFETY: as above.
                unsafe { libc::recvfrom(fd, buffer, LEN, 0, none, std::ptr::null_mut()) }
            },
        ),
        (
            // SAFETY: as above.
            |fd, buffer| with_message(buffer, |one| unsafe { libc::sendmsg(fd, one, 0) }),
            // SAFETY: as above.
            |fd, buffer| with_message(buffer, |one| unsafe { libc::recvmsg(fd, one, 0) }),
        ),
    ];

    fn guarded() {
        Guard::install(GuardConfig::default(), Arc::new(Bytes)).unwrap();
        for (byte, (give, take)) in (1..).zip(FILES) {
            // SAFETY: the name ends in a zero byte.
            let file = unsafe { libc::memfd_create(c"lazy".as_ptr(), 0) };
            check(
                byte,
                || give(file, lazy(byte)),
                |to| {
                    // SAFETY: no memory is involved.
                    unsafe { libc::lseek(file, 0, libc::SEEK_SET) };
                    take(file, to)
                },
            );
        }
        for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM] {
            for (byte, (give, take)) in (10..).zip(SOCKETS) {
                let mut ends = [0; 2];
                let place = ends.as_mut_ptr();
                // SAFETY: room for two numbers.
                unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, place) };
                check(byte, || give(ends[0], lazy(byte)), |to| take(ends[1], to));
            }
        }
        // SAFETY: no preconditions.
        let file = unsafe { libc::tmpfile() };
        // SAFETY: LEN bytes of lazy memory and an open file.
        let give = || unsafe { libc::fwrite(lazy(20), 1, LEN, file) }.cast_signed();
        check(20, give, |to| {
            // SAFETY: an open file.
            unsafe { libc::rewind(file) };
            // SAFETY: as above.
            unsafe { libc::fread(to, 1, LEN, file) }.cast_signed()
        });
    }

    fn check(byte: u64, give: impl FnOnce() -> isize, take: impl FnOnce(*mut c_void) -> isize) {
        let to = lazy(99);
        assert_eq!(give(), LEN.cast_signed(), "giving {byte}: {}", errno());
        assert_eq!(take(to), LEN.cast_signed(), "taking {byte}: {}", errno());
        // SAFETY: the array was written just now and nobody writes to it.
        let bytes = unsafe { std::slice::from_raw_parts(to.cast::<u8>(), LEN) };
        assert!(
            bytes.iter().all(|&found| u64::from(found) == byte),
            "{byte}"
        );
    }

    type SetMask = unsafe extern "C" fn(c_int, *const libc::sigset_t, *mut libc::sigset_t) -> c_int;

    /// A thread that blocks every signal still reads lazy memory.
    fn masks() {
        Guard::install(GuardConfig::default(), Arc::new(Bytes)).unwrap();
        for set_mask in [libc::pthread_sigmask as SetMask, libc::sigprocmask] {
            // SAFETY: all zero is a valid set.
            let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
            // SAFETY: the set is valid.
            unsafe { libc::sigfillset(&raw mut all) };
            // SAFETY: the set is valid.
            unsafe { set_mask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut()) };
            let mut now = all;
            // SAFETY: asks only.
            unsafe { set_mask(libc::SIG_BLOCK, std::ptr::null(), &raw mut now) };
            // SAFETY: the set is valid.
            let blocked = [libc::SIGSEGV, libc::SIGTERM]
                .map(|signal| unsafe { libc::sigismember(&raw const now, signal) });
            assert_eq!(blocked, [0, 1]);
            // SAFETY: within a lazy array.
            assert_eq!(unsafe { lazy(42).cast::<u8>().read_volatile() }, 42);
        }
    }

    /// Lazy memory is read after somebody else has set a handler of SIGSEGV, whose turn comes for other memory.
    fn handlers() {
        Guard::install(GuardConfig::default(), Arc::new(Bytes)).unwrap();
        let (first, second) = (lazy(42).cast::<u8>(), lazy(43).cast::<u8>());
        install_plain_handler();
        // SAFETY: within a lazy array.
        assert_eq!(unsafe { first.read_volatile() }, 42);
        let pages = untouchable().cast::<u8>();
        // SAFETY: the handler opens the pages.
        assert_eq!(unsafe { pages.read_volatile() }, 0);
        assert_eq!(FAULTS.load(SeqCst), 1);
        // SAFETY: the default action needs no function.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        // SAFETY: within a lazy array.
        assert_eq!(unsafe { second.read_volatile() }, 43);
        assert_eq!(FAULTS.load(SeqCst), 1);
    }
}
