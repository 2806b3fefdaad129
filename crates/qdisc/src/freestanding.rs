//! Memory and panics in a kernel, which provides both.
#![allow(unsafe_code)]

use alloc::string::ToString;
use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;

unsafe extern "C" {
    fn sojourn_qdisc_alloc(bytes: usize, align: usize) -> *mut u8;
    fn sojourn_qdisc_release(at: *mut u8, bytes: usize);
    fn sojourn_qdisc_panic(text: *const u8, len: usize) -> !;
}

struct KernelMemory;

// SAFETY: the kernel's functions keep the contract; they return null if there is no memory.
unsafe impl GlobalAlloc for KernelMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: integers.
        unsafe { sojourn_qdisc_alloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: `at` is of `alloc`, by the trait's contract.
        unsafe { sojourn_qdisc_release(at, layout.size()) };
    }
}

#[global_allocator]
static MEMORY: KernelMemory = KernelMemory;

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let text = info.to_string();
    // SAFETY: the text lives until the call, which does not return.
    unsafe { sojourn_qdisc_panic(text.as_ptr(), text.len()) }
}
