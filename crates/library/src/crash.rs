//! A library that ends the program (a segmentation fault, an abort) is named before it does: one line, exit code 2.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::OnceLock;

thread_local! {
    /// The library and the call of it that this thread is in: bytes and their number. Plain data, so that a signal
    /// handler may read it.
    static CALL: Cell<Option<Call>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
struct Call {
    path: (*const u8, usize),
    name: (*const u8, usize),
}

/// Does `call`, the function `name` of the library at `path`.
pub(crate) fn within<R>(path: &Path, name: &'static str, call: impl FnOnce() -> R) -> R {
    let path = path.as_os_str().as_bytes();
    let outer = CALL.replace(Some(Call { path: (path.as_ptr(), path.len()), name: (name.as_ptr(), name.len()) }));
    let result = call();
    CALL.set(outer);
    result
}

/// What was done about each of [`SIGNALS`] before.
static BEFORE: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();

/// From now on, looks out for libraries that end the program.
pub(crate) fn watch() {
    BEFORE.get_or_init(|| {
        SIGNALS.map(|(signal, _)| {
            // SAFETY: all zero is a value of a sigaction; the handler does only what a signal handler may.
            unsafe {
                let (mut action, mut before): (libc::sigaction, libc::sigaction) = std::mem::zeroed();
                action.sa_sigaction = caught as *const () as usize;
                action.sa_flags = libc::SA_ONSTACK;
                libc::sigaction(signal, &action, &mut before);
                before
            }
        })
    });
}

/// Names the library whose call this thread is in, and ends the program. Outside such a call the signal does what it did
/// without us.
extern "C" fn caught(signal: libc::c_int) {
    let place = SIGNALS.iter().position(|(number, _)| *number == signal).unwrap_or(0);
    if let Some(Call { path, name }) = CALL.get() {
        let text = |text: &'static str| (text.as_ptr(), text.len());
        let end = [text(" ended the program: "), text(SIGNALS[place].1), text("\n")];
        for (bytes, length) in [text("Error: "), path, text(": "), name].into_iter().chain(end) {
            // SAFETY: constants, and a path that lives as long as its library, which is until the program ends.
            unsafe { libc::write(2, bytes.cast(), length) };
        }
        // SAFETY: it does not return.
        unsafe { libc::_exit(2) }
    }
    if let Some(before) = BEFORE.get() {
        // SAFETY: it was in force before; the signal, which is blocked until this returns, comes again then.
        unsafe {
            libc::sigaction(signal, &before[place], null_mut());
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
