//! Safe wrappers of the Linux system calls that shells use. Unsafe code is in this folder only.

pub mod bpf;
pub mod clock;
pub mod diag;
pub mod fds;
pub mod namespace;
pub mod netlink;
pub mod process;
pub mod tun;

use std::io;

/// Converts the result of a system call: negative means `errno`.
fn check(result: impl Into<i64>) -> io::Result<i64> {
    let result = result.into();
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
