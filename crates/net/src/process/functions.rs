//! The C library's clock and randomness as `process_clock!` defines them: real, unless a run drives the calling thread.
//!
//! They run before `main`, in signal handlers and while a thread ends, so nothing here allocates, locks, or has a
//! destructor.
#![allow(unsafe_code)]

use libc::{c_int, c_uint, c_void, timespec, timeval};
use std::cell::Cell;

pub use libc::time_t;

thread_local! {
    /// Nanoseconds since the start of the run that drives this thread, or [`REAL`].
    static NOW: Cell<u64> = const { Cell::new(REAL) };
    /// CLOCK_REALTIME at the start of the run, in nanoseconds since 1970.
    static START: Cell<u64> = const { Cell::new(0) };
    /// State of the random numbers of the run (SplitMix64).
    static RANDOM: Cell<u64> = const { Cell::new(0) };
}

/// Drives clock and randomness of this thread until it is dropped.
pub(super) struct Drive(());

impl Drive {
    /// Starts at time 0 of a run, which is `start`, in nanoseconds since 1970.
    pub(super) fn new(start: u64, seed: u64) -> Self {
        START.set(start);
        RANDOM.set(seed);
        NOW.set(0);
        Self(())
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        NOW.set(REAL);
    }
}

/// Moves the clock of this thread to `now`, in nanoseconds since the start of the run, if a run drives it.
pub(super) fn set(now: u64) {
    if NOW.get() != REAL {
        NOW.set(now);
    }
}

/// `clock_gettime(2)`.
///
/// # Safety
///
/// As in C: `time` points to a `timespec`.
pub unsafe fn clock_gettime(clock: c_int, time: *mut c_void) -> c_int {
    let Some(value) = driven(clock) else {
        // SAFETY: the caller's arguments are those of the system call.
        return unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) } as c_int;
    };
    let value = timespec { tv_sec: (value / NANOS) as time_t, tv_nsec: (value % NANOS) as _ };
    // SAFETY: the caller gives the address of a timespec.
    unsafe { time.cast::<timespec>().write(value) };
    0
}

/// `gettimeofday(2)`.
///
/// # Safety
///
/// As in C: `time` points to a `timeval` or is null, and `zone` to a `timezone` or is null.
pub unsafe fn gettimeofday(time: *mut c_void, zone: *mut c_void) -> c_int {
    let Some(value) = driven(libc::CLOCK_REALTIME) else {
        // SAFETY: the caller's arguments are those of the system call.
        return unsafe { libc::syscall(libc::SYS_gettimeofday, time, zone) } as c_int;
    };
    if !time.is_null() {
        let value = timeval { tv_sec: (value / NANOS) as time_t, tv_usec: (value % NANOS / 1_000) as _ };
        // SAFETY: the caller gives the address of a timeval.
        unsafe { time.cast::<timeval>().write(value) };
    }
    0
}

/// `time(2)`.
///
/// # Safety
///
/// As in C: `time` points to a `time_t` or is null.
pub unsafe fn time(time: *mut time_t) -> time_t {
    let mut value = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `value` is a live timespec.
    unsafe { clock_gettime(libc::CLOCK_REALTIME, (&raw mut value).cast()) };
    if !time.is_null() {
        // SAFETY: the caller gives the address of a time_t.
        unsafe { time.write(value.tv_sec) };
    }
    value.tv_sec
}

/// `getrandom(2)`.
///
/// # Safety
///
/// As in C: `into` points to `len` bytes.
pub unsafe fn getrandom(into: *mut c_void, len: usize, flags: c_uint) -> isize {
    if NOW.get() == REAL {
        // SAFETY: the caller's arguments are those of the system call.
        return unsafe { libc::syscall(libc::SYS_getrandom, into, len, flags) } as isize;
    }
    let mut into = into.cast::<u8>();
    let end = into.wrapping_add(len);
    while into != end {
        let bytes = random().to_ne_bytes();
        let count = (end as usize - into as usize).min(bytes.len());
        // SAFETY: `count` bytes are left of those that the caller gives.
        unsafe { into.copy_from_nonoverlapping(bytes.as_ptr(), count) };
        into = into.wrapping_add(count);
    }
    len as isize
}

/// `getentropy(3)`.
///
/// # Safety
///
/// As in C: `into` points to `len` bytes.
pub unsafe fn getentropy(into: *mut c_void, len: usize) -> c_int {
    if len > MAX_ENTROPY {
        // SAFETY: errno is a variable of this thread.
        unsafe { libc::__errno_location().write(libc::EIO) };
        return -1;
    }
    let mut done = 0;
    while done < len {
        // SAFETY: the bytes from `done` on are left of those that the caller gives.
        let count = unsafe { getrandom(into.wrapping_byte_add(done), len - done, 0) };
        // SAFETY: errno is a variable of this thread.
        if count < 0 && unsafe { libc::__errno_location().read() } != libc::EINTR {
            return -1;
        }
        done += count.max(0) as usize;
    }
    0
}

/// Nanoseconds of a clock that follows the run which drives this thread; `None` for real ones, e.g. CPU time.
fn driven(clock: c_int) -> Option<u64> {
    let now = NOW.get();
    if now == REAL {
        return None;
    }
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_REALTIME_ALARM | libc::CLOCK_TAI => {
            Some(START.get() + now)
        }
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_BOOTTIME
        | libc::CLOCK_BOOTTIME_ALARM => Some(UPTIME + now),
        _ => None,
    }
}

/// Next number of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn random() -> u64 {
    let state = RANDOM.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    RANDOM.set(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Sentinel of [`NOW`]: no run drives the thread.
const REAL: u64 = u64::MAX;

const NANOS: u64 = 1_000_000_000;

/// Monotonic clock at the start of a run: smaller than any real one, so that a wait with an absolute deadline, which the
/// kernel compares with its own clock, returns at once instead of never.
const UPTIME: u64 = NANOS;

/// Maximum bytes of a call of `getentropy`.
const MAX_ENTROPY: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    /// Time of `clock_gettime`, in nanoseconds.
    fn read(clock: c_int) -> u64 {
        let mut value = timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `value` is a live timespec.
        assert_eq!(unsafe { clock_gettime(clock, (&raw mut value).cast()) }, 0);
        value.tv_sec as u64 * NANOS + value.tv_nsec as u64
    }

    fn day() -> (timeval, time_t, time_t) {
        let (mut value, mut seconds) = (timeval { tv_sec: 0, tv_usec: 0 }, 0);
        // SAFETY: both are live, and may be null.
        unsafe {
            assert_eq!(gettimeofday((&raw mut value).cast(), std::ptr::null_mut()), 0);
            assert_eq!(gettimeofday(std::ptr::null_mut(), std::ptr::null_mut()), 0);
            assert_eq!(time(&raw mut seconds), seconds);
            (value, seconds, time(std::ptr::null_mut()))
        }
    }

    fn entropy<const LEN: usize>() -> Result<[u8; LEN], c_int> {
        let mut bytes = [0; LEN];
        // SAFETY: the bytes are live.
        let result = unsafe { getentropy(bytes.as_mut_ptr().cast(), LEN) };
        // SAFETY: errno is a variable of this thread.
        if result == 0 { Ok(bytes) } else { Err(unsafe { libc::__errno_location().read() }) }
    }

    #[test]
    fn clocks_are_real_without_a_run() {
        let before = read(libc::CLOCK_MONOTONIC);
        assert!(before > UPTIME && read(libc::CLOCK_MONOTONIC) > before);
        let real = read(libc::CLOCK_REALTIME) / NANOS;
        let (value, first, second) = day();
        for seconds in [value.tv_sec, first, second] {
            assert!((real..real + 60).contains(&(seconds as u64)));
        }
        assert_ne!(entropy::<32>(), entropy::<32>());
        // SAFETY: a clock that does not exist is refused before anything is written.
        assert_eq!(unsafe { clock_gettime(1_000, std::ptr::null_mut()) }, -1);
    }

    #[test]
    fn every_function_follows_a_run() {
        let drive = Drive::new(1_000_000_000 * NANOS, 7);
        set(2_345_678_901);
        for clock in [libc::CLOCK_MONOTONIC, libc::CLOCK_MONOTONIC_COARSE, libc::CLOCK_BOOTTIME] {
            assert_eq!(read(clock), 3_345_678_901);
        }
        for clock in [libc::CLOCK_REALTIME, libc::CLOCK_REALTIME_COARSE, libc::CLOCK_TAI] {
            assert_eq!(read(clock), 1_000_000_002_345_678_901);
        }
        assert!(read(libc::CLOCK_THREAD_CPUTIME_ID) < 2 * NANOS);
        let (value, first, second) = day();
        assert_eq!((value.tv_sec, value.tv_usec), (1_000_000_002, 345_678));
        assert_eq!((first, second), (1_000_000_002, 1_000_000_002));
        drop(drive);
        set(5);
        assert_ne!(read(libc::CLOCK_MONOTONIC), UPTIME + 5);
    }

    #[test]
    fn random_bytes_are_those_of_the_seed() {
        let bytes = |seed| {
            let _drive = Drive::new(0, seed);
            [entropy::<11>(), entropy::<11>()]
        };
        assert_eq!(bytes(7), bytes(7));
        assert_ne!(bytes(7), bytes(8));
        let [first, second] = bytes(7);
        assert_ne!(first, second);
        // The first number of SplitMix64 with the seed 1234567 is 6457827717110365317.
        let _drive = Drive::new(0, 1_234_567);
        assert_eq!(entropy::<8>(), Ok(6_457_827_717_110_365_317_u64.to_ne_bytes()));
        assert_eq!(entropy::<257>(), Err(libc::EIO));
        assert_eq!(entropy::<0>(), Ok([]));
    }
}
