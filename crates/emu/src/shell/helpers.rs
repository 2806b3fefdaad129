//! Processes that a shell needs and that end with it.

use crate::sys::process::{self, PidFd};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use sojourn_aqm::Instant;

/// Processes that are ended with the shell.
#[derive(Default)]
pub struct HelperProcesses(Vec<Pid>);

impl HelperProcesses {
    /// Takes a child over.
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

/// The processes without which nothing beyond the machine is reached.
#[derive(Default)]
pub struct GatewayProcesses {
    /// Those that run.
    pub running: Vec<PidFd>,
    /// When the first of them ended, or that there was no telling one that ran from one that had ended.
    pub ended: Option<Instant>,
}

impl GatewayProcesses {
    /// Watches a process; on a kernel before 5.3 nobody can.
    pub fn watch(&mut self, pid: Pid) {
        match process::pidfd(pid) {
            Ok(fd) => self.running.push(fd),
            Err(e) if e.raw_os_error() == Some(libc::ESRCH) => self.ended = Some(Instant::ZERO),
            Err(_) => {}
        }
    }

    /// The process with that descriptor ended; the descriptor, which is to be watched no more.
    pub fn gone(&mut self, fd: i32, now: Instant) -> Option<PidFd> {
        use std::os::fd::AsRawFd;
        self.ended.get_or_insert(now);
        let i = self.running.iter().position(|one| one.as_raw_fd() == fd)?;
        Some(self.running.swap_remove(i))
    }
}
