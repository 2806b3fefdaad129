//! `libsojourn_aqm`: the functions of `include/sojourn_aqm.h` and `include/sojourn_net.h`, which document them.
//!
//! Built as a shared and a static library; `make capi` installs them for a C compiler. This crate only exports the
//! symbols; `sojourn-library` implements them.
#![allow(unsafe_code, non_upper_case_globals)]
// The header states the caller's obligations.
#![allow(clippy::missing_safety_doc)]

#[cfg(all(feature = "net", target_os = "linux"))]
pub mod net;

use sojourn_library::abi::{self, Host, Packet, Queue, StateCallback, StatisticCallback, Time};
use sojourn_library::export::{self, Export};
use std::ffi::{CStr, c_char, c_int, c_void};

/// This library's own export, so that Sojourn can load its AQMs through the C interface.
#[unsafe(no_mangle)]
pub static sojourn_library: Export = Export(export::discipline(
    [c"sojourn", c"The queue managers of Sojourn through the C interface: codel target 5ms ecn", c"their own"],
    abi::PER_FLOW_ECN_AND_DSCP,
    sojourn_queue_create,
));

/// Version of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_aqm_abi() -> u32 {
    abi::ABI
}

/// Version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_aqm_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Text of this thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_error() -> *const c_char {
    export::error()
}

/// Name of a drop reason.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_reason(reason: c_int) -> *const c_char {
    export::reason(reason).as_ptr()
}

/// Initial state of a random stream of the simulator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_random(seed: u64, kind: *const c_char, index: u64) -> u64 {
    // SAFETY: as in the header.
    unsafe { export::random(seed, kind, index) }
}

/// Creates a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_create(text: *const c_char, host: *const Host, queue: *mut *mut Queue) -> c_int {
    // SAFETY: as in the header.
    unsafe { export::create("", sojourn_library::REGISTERED, text, host, queue) }
}

/// Frees a queue; its queued packets return to the host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_free(queue: *mut Queue) {
    // SAFETY: as in the header.
    unsafe { export::free(queue) }
}

/// Enqueues a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_enqueue(queue: *mut Queue, now: Time, packet: *const Packet) -> c_int {
    // SAFETY: as in the header.
    unsafe { export::enqueue(queue, now, packet) }
}

/// Dequeues the next packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_dequeue(
    queue: *mut Queue,
    now: Time,
    packet: *mut Packet,
    not_before: *mut Time,
) -> c_int {
    // SAFETY: as in the header.
    unsafe { export::dequeue(queue, now, packet, not_before) }
}

/// Passes a packet through an empty queue in one call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_pass(queue: *mut Queue, now: Time, packet: *const Packet) -> c_int {
    // SAFETY: as in the header.
    unsafe { export::pass(queue, now, packet) }
}

/// Writes the number of queued packets and bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_backlog(queue: *const Queue, packets: *mut u32, bytes: *mut u64) -> c_int {
    // SAFETY: as in the header.
    unsafe { export::backlog(queue, packets, bytes) }
}

/// Runs all due periodic updates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_settle(queue: *mut Queue, now: Time) -> c_int {
    // SAFETY: as in the header.
    unsafe { export::settle(queue, now) }
}

/// Calls `see` for each statistic.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_statistics(
    queue: *const Queue,
    see: Option<StatisticCallback>,
    user: *mut c_void,
) -> c_int {
    // SAFETY: as in the header.
    unsafe { export::statistics(queue, see, user) }
}

/// Calls `see` for each state variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_states(
    queue: *const Queue,
    see: Option<StateCallback>,
    user: *mut c_void,
) -> c_int {
    // SAFETY: as in the header.
    unsafe { export::states(queue, see, user) }
}

/// A statistic by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_statistic(queue: *const Queue, name: *const c_char, value: *mut u64) -> c_int {
    // SAFETY: as in the header.
    unsafe { export::statistic(queue, name, value) }
}

/// A state variable by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_state(queue: *const Queue, name: *const c_char, value: *mut f64) -> c_int {
    // SAFETY: as in the header.
    unsafe { export::state(queue, name, value) }
}

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => panic!("a version has no zero byte"),
};
