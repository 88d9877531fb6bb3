//! How much memory the program has needed at most, as the system counted it.

/// Largest resident set of this process so far in bytes, where the system tells.
///
/// Read from `VmHWM` in `/proc/self/status`; `None` on systems without it.
pub fn peak_rss_bytes() -> Option<u64> {
    line(
        "VmHWM:",
        &std::fs::read_to_string("/proc/self/status").ok()?,
    )
}

/// Resident set of this process now in bytes, where the system tells (`VmRSS`).
pub fn rss_bytes() -> Option<u64> {
    line(
        "VmRSS:",
        &std::fs::read_to_string("/proc/self/status").ok()?,
    )
}

/// Memory that programs can still get without anybody being sent to the disk, bytes, where the system tells.
pub fn available_bytes() -> Option<u64> {
    line(
        "MemAvailable:",
        &std::fs::read_to_string("/proc/meminfo").ok()?,
    )
}

/// A line of a `/proc/PID/status` text, which is in KiB.
fn line(name: &str, status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_in_kibibytes() {
        let status = "Name:\tsmolpilot\nVmPeak:\t  900 kB\nVmHWM:\t  1234 kB\nVmRSS:\t 7 kB\n";
        assert_eq!(line("VmHWM:", status), Some(1234 * 1024));
        assert_eq!(line("VmRSS:", status), Some(7 * 1024));
        assert_eq!(line("VmHWM:", "Name:\tx\n"), None);
    }
}
