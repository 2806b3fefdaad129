//! Helper processes of a shell.

use crate::sys::process::{self, PidFd};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use sojourn_aqm::Instant;

/// Child processes that are killed when this is dropped.
#[derive(Default)]
pub struct HelperProcesses(Vec<Pid>);

impl HelperProcesses {
    /// Adds a child.
    pub fn add(&mut self, pid: Pid) {
        self.0.push(pid);
    }
}

impl Drop for HelperProcesses {
    fn drop(&mut self) {
        for &pid in &self.0 {
            let _ = kill(pid, Signal::SIGKILL);
            let _ = waitpid(pid, None);
        }
    }
}

/// Processes of the gateway. Without them no host beyond this machine is reachable.
#[derive(Default)]
pub struct GatewayProcesses {
    /// Running processes.
    pub running: Vec<PidFd>,
    /// When the first of them ended; zero if it ended before it was watched.
    pub ended: Option<Instant>,
}

impl GatewayProcesses {
    /// Watches a process. Without effect before Linux 5.3, which has no pidfds.
    pub fn watch(&mut self, pid: Pid) {
        match process::pidfd(pid) {
            Ok(fd) => self.running.push(fd),
            Err(e) if e.raw_os_error() == Some(libc::ESRCH) => self.ended = Some(Instant::ZERO),
            Err(_) => {}
        }
    }

    /// Records that the process of pidfd `fd` has ended; returns the pidfd, which the caller stops polling.
    pub fn on_exit(&mut self, fd: i32, now: Instant) -> Option<PidFd> {
        use std::os::fd::AsRawFd;
        self.ended.get_or_insert(now);
        let i = self.running.iter().position(|pidfd| pidfd.as_raw_fd() == fd)?;
        Some(self.running.swap_remove(i))
    }
}
