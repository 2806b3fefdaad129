//! `libsojourn_aqm`: the functions of `include/sojourn_aqm.h`, which says what they do.
//!
//! Built as a shared and a static library; `make capi` puts them where a C compiler finds them. Everything happens in
//! `sojourn-library`; here are only the names.
#![allow(unsafe_code, non_upper_case_globals)]
// What a caller has to keep to is in the header.
#![allow(clippy::missing_safety_doc)]

use sojourn_library::abi::{self, Host, Packet, Queue, StateCallback, StatisticCallback, Time};
use sojourn_library::export::{self, Export};
use std::ffi::{CStr, c_char, c_int, c_void};

/// What this library exports to Sojourn.
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

/// The text of this thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_error() -> *const c_char {
    export::error()
}

/// The name of a reason for a drop.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_reason(reason: c_int) -> *const c_char {
    export::reason(reason).as_ptr()
}

/// The start of a random stream of the simulator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_random(seed: u64, kind: *const c_char, index: u64) -> u64 {
    // SAFETY: as in the header.
    unsafe { export::random(seed, kind, index) }
}

/// Makes a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_create(text: *const c_char, host: *const Host, queue: *mut *mut Queue) -> c_int {
    // SAFETY: as in the header.
    unsafe { export::create("", sojourn_library::REGISTERED, text, host, queue) }
}

/// Ends a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_free(queue: *mut Queue) {
    // SAFETY: as in the header.
    unsafe { export::free(queue) }
}

/// Offers a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_enqueue(queue: *mut Queue, now: Time, packet: *const Packet) -> c_int {
    // SAFETY: as in the header.
    unsafe { export::enqueue(queue, now, packet) }
}

/// Asks for the packet to transmit.
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

/// Takes a packet straight through.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_pass(queue: *mut Queue, now: Time, packet: *const Packet) -> c_int {
    // SAFETY: as in the header.
    unsafe { export::pass(queue, now, packet) }
}

/// What waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_backlog(queue: *const Queue, packets: *mut u32, bytes: *mut u64) -> c_int {
    // SAFETY: as in the header.
    unsafe { export::backlog(queue, packets, bytes) }
}

/// Runs the updates that are due.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_settle(queue: *mut Queue, now: Time) -> c_int {
    // SAFETY: as in the header.
    unsafe { export::settle(queue, now) }
}

/// Shows all statistics.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_statistics(
    queue: *const Queue,
    see: Option<StatisticCallback>,
    user: *mut c_void,
) -> c_int {
    // SAFETY: as in the header.
    unsafe { export::statistics(queue, see, user) }
}

/// Shows all variables of state.
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

/// A variable of state by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_queue_state(queue: *const Queue, name: *const c_char, value: *mut f64) -> c_int {
    // SAFETY: as in the header.
    unsafe { export::state(queue, name, value) }
}

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => panic!("a version has no zero byte"),
};
