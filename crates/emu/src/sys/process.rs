//! Processes: fork and exec, parent-death signals, subreapers, signals and capabilities.
#![allow(unsafe_code)]

use super::check;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, kill, sigaction, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, getpid};
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Forks and runs `child` in the new process, which exits with the returned code.
///
/// Requires a single-threaded process. The child never returns to the caller's code.
pub fn spawn(child: impl FnOnce() -> i32) -> io::Result<Pid> {
    // SAFETY: the process has a single thread, so no lock can be held by a thread that the child lacks.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            let code = catch_unwind(AssertUnwindSafe(child)).unwrap_or(70);
            // SAFETY: exits without running the atexit handlers inherited from the parent.
            unsafe { libc::_exit(code) }
        }
    }
}

/// Requests `signal` for this process when its parent dies (PR_SET_PDEATHSIG). Returns false if the parent, with PID
/// `parent`, is dead already.
pub fn follow_parent(parent: Pid, signal: Signal) -> io::Result<bool> {
    nix::sys::prctl::set_pdeathsig(signal)?;
    Ok(nix::unistd::getppid() == parent)
}

/// Makes this process the parent of orphaned descendants (PR_SET_CHILD_SUBREAPER) or not. Returns the former setting.
///
/// A PID namespace would end descendants too, but it hides the machine's processes from the command and needs another
/// `/proc`.
pub fn set_subreaper(adopt: bool) -> io::Result<bool> {
    let before = nix::sys::prctl::get_child_subreaper()?;
    nix::sys::prctl::set_child_subreaper(adopt)?;
    Ok(before)
}

/// Children forked by the main thread of this process.
pub fn children() -> Vec<Pid> {
    let path = format!("/proc/self/task/{}/children", getpid());
    let numbers = fs::read_to_string(path).unwrap_or_default();
    numbers.split_whitespace().filter_map(|number| number.parse().ok().map(Pid::from_raw)).collect()
}

/// Kills all descendants except the children in `but` and their descendants. Requires [`set_subreaper`]: the orphans of
/// killed children become children of this process and are killed in the next round.
pub fn kill_descendants(spared: &[Pid]) {
    loop {
        let mut ended = false;
        for pid in children().into_iter().filter(|pid| !spared.contains(pid)) {
            if kill(pid, Signal::SIGKILL).is_ok() {
                let _ = waitpid(pid, None);
                ended = true;
            }
        }
        if !ended {
            return;
        }
    }
}

/// A pidfd: readable after the process has ended.
pub type PidFd = OwnedFd;

/// Opens a pidfd (Linux 5.3).
pub fn pidfd(pid: Pid) -> io::Result<PidFd> {
    // SAFETY: pidfd_open takes integers only.
    let fd = check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) })?;
    // SAFETY: the kernel has just created this descriptor for this process; it is close-on-exec.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Blocks `signals` and returns a nonblocking signalfd for them.
pub fn signal_fd(signals: &[Signal]) -> io::Result<SignalFd> {
    let set: SigSet = signals.iter().copied().collect();
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&set), None)?;
    Ok(SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?)
}

/// Drains a signalfd. Each signal comes with whether the terminal sent it: then the whole foreground process group
/// received it.
pub fn drain_signals(signals: &SignalFd) -> impl Iterator<Item = (Signal, bool)> {
    std::iter::from_fn(|| signals.read_signal().ok().flatten()).filter_map(|info| {
        let signal = Signal::try_from(info.ssi_signo as i32).ok()?;
        Some((signal, info.ssi_code == libc::SI_KERNEL))
    })
}

/// Sets the action for a signal; returns the former action.
pub fn set_signal_action(signal: Signal, handler: SigHandler) -> io::Result<SigAction> {
    let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler is SIG_DFL or SIG_IGN, or was in place before.
    Ok(unsafe { sigaction(signal, &action) }?)
}

/// Prepares signals for exec: unblocks all and resets those that Python ignores to the default action.
pub fn reset_signals() -> io::Result<()> {
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
    for signal in [Signal::SIGPIPE, Signal::SIGXFSZ] {
        set_signal_action(signal, SigHandler::SigDfl)?;
    }
    Ok(())
}

/// Executes the program `words[0]`, searched in PATH; returns only on failure.
pub fn exec(words: &[CString]) -> io::Error {
    let Err(error) = nix::unistd::execvp(&words[0], words);
    error.into()
}

/// Rows and columns of the terminal on standard error.
pub fn terminal_size() -> Option<(u16, u16)> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one winsize.
    check(unsafe { libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, &mut size) }).ok()?;
    (size.ws_row > 1).then_some((size.ws_row, size.ws_col))
}

/// Sets an environment variable. Requires a single-threaded process.
pub fn set_variable(name: &str, value: &str) {
    // SAFETY: there is no other thread that could read the environment.
    unsafe { std::env::set_var(name, value) };
}

/// Keeps capabilities across `exec` for a user that is not root in this user namespace, as ambient capabilities.
pub fn keep_capabilities() -> io::Result<()> {
    let mut header = CapHeader { version: CAPABILITY_VERSION_3, pid: 0 };
    let mut sets = [CapData::default(); 2];
    // SAFETY: header and data have the layout of linux/capability.h, version 3: one header, two triples.
    check(unsafe { libc::syscall(libc::SYS_capget, &mut header, sets.as_mut_ptr()) })?;
    for set in &mut sets {
        set.inheritable = set.permitted;
    }
    // SAFETY: as above.
    check(unsafe { libc::syscall(libc::SYS_capset, &mut header, sets.as_ptr()) })?;
    for capability in KEPT {
        // SAFETY: PR_CAP_AMBIENT takes numbers only.
        check(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE, capability, 0, 0) })?;
    }
    Ok(())
}

/// Whether this process has a capability in its user namespace.
pub fn is_capable(capability: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let sets = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    sets.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).is_some_and(|set| set >> capability & 1 == 1)
}

/// CAP_NET_ADMIN.
pub const NET_ADMIN: u32 = 12;

#[repr(C)]
struct CapHeader {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const CAPABILITY_VERSION_3: u32 = 0x2008_0522;

/// CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_NET_RAW and CAP_SYS_ADMIN, needed by a shell inside a shell.
const KEPT: [libc::c_ulong; 4] = [10, 12, 13, 21];
