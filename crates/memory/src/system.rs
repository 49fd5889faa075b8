//! Facts of the machine.

#![expect(unsafe_code, reason = "asks the C library")]

/// Bytes of main memory; `u64::MAX` if the system does not tell.
pub fn physical_memory() -> u64 {
    #[cfg(unix)]
    {
        // SAFETY: sysconf reads no memory of ours.
        let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
        // SAFETY: as above.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        match (u64::try_from(pages), u64::try_from(size)) {
            (Ok(pages), Ok(size)) if pages > 0 => pages.saturating_mul(size),
            _ => u64::MAX,
        }
    }
    #[cfg(not(unix))]
    u64::MAX
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_machine_has_memory() {
        assert!(super::physical_memory() > 1 << 20);
    }
}
