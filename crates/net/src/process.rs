//! Clock and randomness of the C library that follow a net, for stacks that ask for them inside. Linux with glibc.
//!
//! A program that invokes [`process_clock!`](crate::process_clock) defines `clock_gettime`, `gettimeofday`, `time`,
//! `getrandom` and `getentropy`. They are the real ones, except in the thread of [`run`]: there they return the net's
//! time and random numbers of its seed. Each run has a thread of its own, because the standard library draws its hash
//! seed once per thread; other threads keep the real clock, so tests may run side by side.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[doc(hidden)]
pub mod functions;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod threads;
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod unsupported;

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
use unsupported::{Drive, Mark, set};
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use {functions::Drive, functions::set, threads::Mark};

use crate::error::Error;
use crate::net::Net;
use crate::seeds::SentenceLog;
use sojourn_aqm::Instant;
use sojourn_sim::endpoint::{Cx, Endpoint, OtherEvent, Received, Standing, Transmit};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

/// Calls `work` with the net in a thread of its own. There, `Instant::now()` is the net's time, `Net::std(Net::now())`,
/// `SystemTime::now()` is 2026-01-01 at the start of the run, and random numbers of the system are drawn from the seed
/// of the net. The clock follows the net by [`Net::next`], [`Net::advance`] and in calls of attached programs; it stops
/// after the end of the run.
///
/// # Errors
///
/// [`Error::Process`] if the program does not invoke [`process_clock!`](crate::process_clock), or if a thread that
/// `work` started is still there when it returns: it would have read the real clock.
///
/// # Panics
///
/// If `work` panics, with its message.
pub fn run<T: Send>(net: Net, work: impl FnOnce(Net) -> T + Send) -> Result<T, Error> {
    run_from(SystemTime::UNIX_EPOCH + Duration::from_secs(START), net, work)
}

/// [`run`] with another time of day at the start of the run, after 1970: certificates must be valid then.
///
/// # Errors
///
/// As [`run`].
///
/// # Panics
///
/// As [`run`].
pub fn run_from<T: Send>(start: SystemTime, net: Net, work: impl FnOnce(Net) -> T + Send) -> Result<T, Error> {
    let start = start.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    let name = thread::current().name().map(str::to_string);
    let sentences = SentenceLog::take();
    thread::scope(|scope| {
        let builder = name.into_iter().fold(thread::Builder::new(), thread::Builder::name);
        let spawned = builder.spawn_scoped(scope, move || {
            sentences.restore();
            let result = catch_unwind(AssertUnwindSafe(|| drive(start, net, work)));
            (result, SentenceLog::take())
        });
        let thread = spawned.map_err(|error| Error::Process(format!("no thread for the run: {error}")))?;
        let (result, sentences) = thread.join().unwrap_or_else(|payload| resume_unwind(payload));
        sentences.restore();
        result.unwrap_or_else(|payload| resume_unwind(payload))
    })
}

fn drive<T>(start: u64, mut net: Net, work: impl FnOnce(Net) -> T) -> Result<T, Error> {
    let mark = Mark::new();
    let _drive = Drive::new(start, net.seed());
    if !is_followed() {
        return Err(Error::Process(MISSING.to_string()));
    }
    net.drive_process_clock();
    let output = work(net);
    match mark.map_or(0, |mark| mark.started()) {
        0 => Ok(output),
        count => Err(Error::Process(format!(
            "{count} threads that the run started are still there, with the real clock; run the stack in one thread"
        ))),
    }
}

/// Whether the clock of the standard library is the one that a run sets.
#[expect(clippy::disallowed_methods, reason = "asks which clock the process has")]
fn is_followed() -> bool {
    let now = |nanos| {
        set(nanos);
        std::time::Instant::now()
    };
    let (before, after) = (now(0), now(PROBE));
    set(0);
    after.checked_duration_since(before) == Some(Duration::from_nanos(PROBE))
}

/// A net's part in the clock: whether its time is that of its thread.
#[derive(Clone, Default)]
pub(crate) struct ProcessClock(Arc<AtomicBool>);

impl ProcessClock {
    /// From now on the clock of the thread follows; returns the time that represents the start of the run.
    #[expect(clippy::disallowed_methods, reason = "the clock is the net's")]
    pub fn drive(&self, now: Instant) -> std::time::Instant {
        self.0.store(true, Ordering::Relaxed);
        set(0);
        let base = std::time::Instant::now();
        self.set(now);
        base
    }

    /// Moves the clock, if the net drives it.
    pub fn set(&self, now: Instant) {
        if self.0.load(Ordering::Relaxed) {
            set(now.as_nanos());
        }
    }
}

/// A program that is called by a run which may drive the clock.
pub(crate) struct Clocked {
    pub clock: ProcessClock,
    pub program: Box<dyn Endpoint>,
}

impl Endpoint for Clocked {
    fn begin(&mut self, cx: &mut Cx<'_>) {
        self.clock.set(cx.now());
        self.program.begin(cx);
    }

    fn on_datagram(&mut self, cx: &mut Cx<'_>, datagram: Received<'_>) {
        self.clock.set(cx.now());
        self.program.on_datagram(cx, datagram);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.clock.set(cx.now());
        self.program.on_wake(cx);
    }

    fn on_other(&mut self, cx: &mut Cx<'_>, event: OtherEvent) {
        self.clock.set(cx.now());
        self.program.on_other(cx, event);
    }

    fn poll_transmit(&mut self, now: Instant, into: &mut Vec<u8>) -> Option<Transmit> {
        self.clock.set(now);
        self.program.poll_transmit(now, into)
    }

    fn wake_at(&mut self) -> Option<Instant> {
        self.program.wake_at()
    }

    fn standing(&self) -> Standing {
        self.program.standing()
    }
}

/// Defines the C library's `clock_gettime`, `gettimeofday`, `time`, `getrandom` and `getentropy` in a program, for
/// [`process::run`](crate::process::run). Invoke it once, in the file of the test or of `main`.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[macro_export]
macro_rules! process_clock {
    () => {
        const _: () = {
            use ::core::ffi::{c_int, c_uint, c_void};
            use $crate::process::functions;

            // SAFETY of all: the declarations are those of libc, and the callers' arguments are passed on.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut c_void) -> c_int {
                unsafe { functions::clock_gettime(clock, time) }
            }
            #[unsafe(no_mangle)]
            unsafe extern "C" fn gettimeofday(time: *mut c_void, zone: *mut c_void) -> c_int {
                unsafe { functions::gettimeofday(time, zone) }
            }
            #[unsafe(no_mangle)]
            unsafe extern "C" fn time(time: *mut functions::time_t) -> functions::time_t {
                unsafe { functions::time(time) }
            }
            #[unsafe(no_mangle)]
            unsafe extern "C" fn getrandom(into: *mut c_void, len: usize, flags: c_uint) -> isize {
                unsafe { functions::getrandom(into, len, flags) }
            }
            #[unsafe(no_mangle)]
            unsafe extern "C" fn getentropy(into: *mut c_void, len: usize) -> c_int {
                unsafe { functions::getentropy(into, len) }
            }
        };
    };
}

/// Defines nothing: only Linux with glibc has a process clock, and [`process::run`](crate::process::run) returns an
/// error.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
#[macro_export]
macro_rules! process_clock {
    () => {};
}

/// 2026-01-01T00:00:00Z in seconds since 1970.
const START: u64 = 1_767_225_600;

/// Nanoseconds that a clock which is ours moves at once.
const PROBE: u64 = 3_600_000_000_007;

const MISSING: &str = "the clock of this program is the system's; write sojourn_net::process_clock!(); once in the file \
                       of the test or of main (Linux with glibc only)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_the_functions_is_refused() {
        let world = "duration = '1 s'\nlink = { rate = '1 Mbit/s' }\nflows = [{ kind = 'tcp' }]";
        let net = Net::parse(world, 1).expect("the world is valid");
        let error = run(net, |_| ()).expect_err("the unit tests do not define the functions");
        assert_eq!(error.to_string(), MISSING);
    }
}
