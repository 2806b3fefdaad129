//! BoringSSL's random numbers from the C library, which the net seeds: BoringSSL itself asks the kernel and the
//! processor. The linker gives these functions to all callers of the names without `__wrap_` (build.rs).

use std::ffi::{c_int, c_uint, c_void};

unsafe extern "C" {
    fn getrandom(into: *mut c_void, len: usize, flags: c_uint) -> isize;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_RAND_bytes(into: *mut u8, len: usize) -> c_int {
    // SAFETY: the caller gives `len` bytes.
    unsafe { getrandom(into.cast(), len, 0) };
    1
}
