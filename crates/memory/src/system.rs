//! Facts of the machine.

#![cfg_attr(unix, expect(unsafe_code, reason = "asks the C library"))]

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

/// Bytes of swap space; none if the system does not tell.
pub fn swap_memory() -> u64 {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("SwapTotal:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0).saturating_mul(1024)
}

/// Address space that the limit of the process still leaves, if there is a limit.
pub fn address_space_left() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: `limit` is a valid place for the answer.
        let status = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
        if status != 0 || limit.rlim_cur == libc::RLIM_INFINITY {
            return None;
        }
        let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages = text
            .split(' ')
            .next()
            .and_then(|word| word.parse::<u64>().ok());
        Some(
            limit
                .rlim_cur
                .saturating_sub(pages.unwrap_or(0).saturating_mul(4096)),
        )
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_machine_has_memory() {
        assert!(super::physical_memory() > 1 << 20);
    }
}
