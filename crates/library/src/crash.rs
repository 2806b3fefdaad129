//! Names a library that ends the program (by a segmentation fault, stack overflow, abort or `exit`) or leaves a call by
//! `longjmp`, in one line with exit code 2. Signals are caught only for this line: the program still ends. `_exit` and
//! direct system calls are not noticed.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::OnceLock;

thread_local! {
    /// Alternate signal stack of this thread; a handler cannot run on a stack that has overflowed.
    static ALT_STACK: AltStack = AltStack::new();
    /// Library call that this thread is in, as pointers and lengths: plain data, so that a signal handler can read it.
    static CALL: Cell<Option<Call>> = const { Cell::new(None) };
    /// Number of calls that this thread has started.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

#[derive(Clone, Copy)]
struct Call {
    path: (*const u8, usize),
    name: (*const u8, usize),
    /// Number of the call on this thread.
    number: u64,
    /// Simulated time in nanoseconds; negative if the call has none.
    now: i64,
}

/// Runs `call`, the function `name` of the library at `path`.
pub(crate) fn within<R>(path: &Path, name: &'static str, call: impl FnOnce() -> R) -> R {
    within_at(path, name, -1, call)
}

/// [`within`] at the simulated time `now` in nanoseconds.
pub(crate) fn within_at<R>(path: &Path, name: &'static str, now: i64, call: impl FnOnce() -> R) -> R {
    ALT_STACK.with(|_| ());
    let path = path.as_os_str().as_bytes();
    let name = (name.as_ptr(), name.len());
    let outer = CALL.get();
    let number = CALLS.get().wrapping_add(1);
    CALLS.set(number);
    CALL.set(Some(Call { path: (path.as_ptr(), path.len()), name, number, now }));
    // Calls do not nest: an outer call that is still set never returned.
    if let Some(outer) = outer {
        outer.abort("longjmp out of the call");
    }
    let result = call();
    // Another call's number: that call jumped here.
    match CALL.replace(None) {
        Some(call) if call.number != number => call.abort("longjmp out of the call"),
        _ => result,
    }
}

impl Call {
    /// Names the library and the call, and ends the program. Async-signal-safe.
    fn abort(self, how: &'static str) -> ! {
        let text = |text: &'static str| (text.as_ptr(), text.len());
        let mut digits = [b' '; TIME.len()];
        let time = if self.now < 0 { &[][..] } else { write_seconds(self.now, &mut digits) };
        let time = (time.as_ptr(), time.len());
        let line = [text("Error: "), self.path, text(": "), self.name, text(MESSAGE), text(how), time, text("\n")];
        for (bytes, length) in line {
            // SAFETY: constants, and a path that lives as long as its library, which is until the program ends.
            unsafe { libc::write(2, bytes.cast(), length) };
        }
        // SAFETY: it does not return.
        unsafe { libc::_exit(2) }
    }
}

/// Writes ` (at 1.5 s)` for a time in nanoseconds. Async-signal-safe, unlike formatting.
fn write_seconds(now: i64, into: &mut [u8; TIME.len()]) -> &[u8] {
    into.copy_from_slice(TIME);
    let mut rest = now;
    for place in (START..TIME.len() - END).rev().filter(|&place| TIME[place] == b'0') {
        into[place] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // Leading zeros give way, up to the digit before the point.
    let point = TIME.len() - END - 10;
    let first = (START..point - 1).find(|&place| into[place] != b'0').unwrap_or(point - 1);
    into.copy_within(..START, first - START);
    &into[first - START..]
}

/// Alternate signal stack of a thread, unless it had one, and the lowest address of the thread's own stack.
struct AltStack {
    memory: Option<Box<[u8]>>,
    lowest: usize,
}

impl AltStack {
    fn new() -> Self {
        let mut memory = vec![0; ALT_STACK_BYTES].into_boxed_slice();
        let spare = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: ALT_STACK_BYTES };
        // SAFETY: all zero is a value of a stack_t; the memory lives until `drop` takes it back.
        let is_new = unsafe {
            let mut before: libc::stack_t = std::mem::zeroed();
            let has_none =
                libc::sigaltstack(std::ptr::null(), &mut before) == 0 && before.ss_flags & libc::SS_DISABLE != 0;
            has_none && libc::sigaltstack(&spare, null_mut()) == 0
        };
        Self { memory: is_new.then_some(memory), lowest: stack_bottom() }
    }
}

impl Drop for AltStack {
    fn drop(&mut self) {
        if self.memory.is_some() {
            let none = libc::stack_t { ss_sp: null_mut(), ss_flags: libc::SS_DISABLE, ss_size: ALT_STACK_BYTES };
            // SAFETY: afterwards the thread handles signals on its own stack, so the memory can be freed.
            unsafe { libc::sigaltstack(&none, null_mut()) };
        }
    }
}

/// Lowest address of this thread's stack; 0 if unknown.
fn stack_bottom() -> usize {
    #[cfg(target_os = "linux")]
    // SAFETY: the attributes are filled before they are read, and destroyed.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) == 0 {
            let (mut lowest, mut size) = (null_mut(), 0);
            libc::pthread_attr_getstack(&attributes, &mut lowest, &mut size);
            libc::pthread_attr_destroy(&mut attributes);
            return lowest as usize;
        }
    }
    0
}

/// Whether a fault at `address` is an overflow of this thread's stack.
fn is_stack_overflow(address: usize) -> bool {
    let lowest = ALT_STACK.try_with(|spare| spare.lowest).unwrap_or(0);
    lowest > 0 && (lowest.saturating_sub(OVERFLOW_RANGE)..lowest + PAGE).contains(&address)
}

/// Previous actions of [`SIGNALS`].
static PREVIOUS_ACTIONS: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();

/// Installs the exit and signal handlers, once.
pub(crate) fn install_handlers() {
    PREVIOUS_ACTIONS.get_or_init(|| {
        // SAFETY: the handler is async-signal-safe and does not unwind.
        unsafe { libc::atexit(on_exit) };
        SIGNALS.map(|(signal, _)| {
            // SAFETY: all zero is a value of a sigaction; the handler is async-signal-safe.
            unsafe {
                let (mut action, mut before): (libc::sigaction, libc::sigaction) = std::mem::zeroed();
                action.sa_sigaction = on_signal as *const () as usize;
                action.sa_flags = libc::SA_ONSTACK | libc::SA_SIGINFO;
                libc::sigaction(signal, &action, &mut before);
                before
            }
        })
    });
}

/// Runs at `exit`, and reports it if a library called it.
extern "C" fn on_exit() {
    if let Some(call) = CALL.get() {
        call.abort("exit");
    }
}

/// Names the library whose call this thread is in, and ends the program. Outside a library call, the previous action
/// runs.
extern "C" fn on_signal(signal: libc::c_int, about: *const libc::siginfo_t, _context: *const libc::c_void) {
    let index = SIGNALS.iter().position(|(number, _)| *number == signal).unwrap_or(0);
    if let Some(call) = CALL.get() {
        // SAFETY: the kernel passes a valid siginfo to an SA_SIGINFO handler.
        let is_full = signal == libc::SIGSEGV && is_stack_overflow(unsafe { (*about).si_addr() } as usize);
        call.abort(if is_full { "stack overflow, as of endless recursion" } else { SIGNALS[index].1 });
    }
    if let Some(before) = PREVIOUS_ACTIONS.get() {
        // SAFETY: a previous, valid action. The signal is blocked until this handler returns, and is delivered then.
        unsafe {
            libc::sigaction(signal, &before[index], null_mut());
            libc::raise(signal);
        }
    }
}

const SIGNALS: [(libc::c_int, &str); 5] = [
    (libc::SIGSEGV, "segmentation fault"),
    (libc::SIGBUS, "bus error"),
    (libc::SIGFPE, "arithmetic fault, such as a division by zero"),
    (libc::SIGILL, "illegal instruction"),
    (libc::SIGABRT, "abort, as by a panic or a failed assertion"),
];
/// Text between the call and the way it ended.
const MESSAGE: &str = " ended the program: ";
/// Form of the time in a message, with nanoseconds, and the lengths of the parts around its digits.
const TIME: &[u8] = b" (at 0000000000.000000000 s)";
const START: usize = 5;
const END: usize = 3;
/// Size of the alternate stack; the handler needs little.
const ALT_STACK_BYTES: usize = 64 << 10;
const PAGE: usize = 4096;
/// Maximum distance of an overflow's fault below the stack: guard pages, and a large frame.
const OVERFLOW_RANGE: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_without_leading_zeros() {
        for (now, text) in [
            (0, " (at 0.000000000 s)"),
            (1_500_000_000, " (at 1.500000000 s)"),
            (12_000_000_034, " (at 12.000000034 s)"),
            (i64::MAX, " (at 9223372036.854775807 s)"),
        ] {
            let mut digits = [0; TIME.len()];
            assert_eq!(String::from_utf8_lossy(write_seconds(now, &mut digits)), text);
        }
    }
}
