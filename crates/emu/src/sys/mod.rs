//! Safe wrappers of what the shells ask of Linux. Unsafe code is in this folder only.

pub mod bpf;
pub mod clock;
pub mod diag;
pub mod fds;
pub mod namespace;
pub mod netlink;
pub mod process;
pub mod tun;

use std::io;

/// The result of a system call that gives a negative number on failure.
fn check(result: impl Into<i64>) -> io::Result<i64> {
    let result = result.into();
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
