//! Clocks, epoll with nanosecond timeouts, and the scheduling policy of the waiting thread.
#![allow(unsafe_code)]

use super::check;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// CLOCK_MONOTONIC in nanoseconds.
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds since 1970 (CLOCK_REALTIME).
pub fn epoch_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// CPU time of this process in nanoseconds.
pub fn cpu_ns() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live timespec; every Linux has these clocks.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * NANOS + time.tv_nsec as u64
}

/// An epoll instance; the caller identifies each descriptor by a token.
#[derive(Debug)]
pub struct Poll {
    epoll: nix::sys::epoll::Epoll,
}

impl Poll {
    /// Creates an empty epoll instance.
    pub fn new() -> io::Result<Self> {
        use nix::sys::epoll::{Epoll, EpollCreateFlags};
        Ok(Self { epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)? })
    }

    /// Registers `fd`; [`wait`](Self::wait) returns `token` when it is ready.
    pub fn add(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        Ok(self.epoll.add(fd, nix::sys::epoll::EpollEvent::new(interest.flags(), token))?)
    }

    /// Changes the interest in `fd`.
    pub fn change(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        let mut event = nix::sys::epoll::EpollEvent::new(interest.flags(), token);
        Ok(self.epoll.modify(fd, &mut event)?)
    }

    /// Unregisters `fd`.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(self.epoll.delete(fd)?)
    }

    /// Waits for at most `ns` nanoseconds, or indefinitely, and stores the tokens of ready descriptors in `ready`. A
    /// signal ends the wait early.
    pub fn wait(&self, ns: Option<u64>, ready: &mut Vec<u64>) -> io::Result<()> {
        let timeout = ns.map(|ns| libc::timespec { tv_sec: (ns / NANOS) as i64, tv_nsec: (ns % NANOS) as i64 });
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
        // epoll_pwait2 (Linux 5.11), because the timeout of epoll_wait is in milliseconds.
        // SAFETY: the array has the given length, the timeout is null or points to a live timespec, and the signal mask
        // is null, so the kernel ignores its size.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.0.as_raw_fd(),
                events.as_mut_ptr(),
                events.len() as libc::c_int,
                timeout,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        ready.clear();
        match check(count) {
            Ok(count) => ready.extend(events[..count as usize].iter().map(|event| event.u64)),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }
}

/// Readiness to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest {
    /// Readable, or closed by the peer.
    pub read: bool,
    /// Writable.
    pub write: bool,
}

impl Interest {
    /// Read readiness only.
    pub const READ: Self = Self { read: true, write: false };

    fn flags(self) -> nix::sys::epoll::EpollFlags {
        use nix::sys::epoll::EpollFlags;
        let mut flags = EpollFlags::empty();
        flags.set(EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP, self.read);
        flags.set(EpollFlags::EPOLLOUT, self.write);
        flags
    }
}

/// Sets the timer slack of this thread to 1 ns; the default is 50 µs.
pub fn minimize_timer_slack() -> io::Result<()> {
    Ok(nix::sys::prctl::set_timerslack(1)?)
}

/// Schedules this thread before all ordinary ones (SCHED_FIFO); children return to SCHED_OTHER. Requires CAP_SYS_NICE
/// or RLIMIT_RTPRIO.
pub fn set_realtime() -> io::Result<()> {
    let param = libc::sched_param { sched_priority: 10 };
    // SAFETY: `param` is a live sched_param; 0 is the calling thread.
    let set = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &param) };
    check(set).map(|_| ())
}

/// Returns this thread to SCHED_OTHER.
pub fn unset_realtime() -> io::Result<()> {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: as above.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &param) }).map(|_| ())
}

const NANOS: u64 = 1_000_000_000;
