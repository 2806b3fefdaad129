//! Structs and numbers of `sojourn_aqm.h`, in its order and words; what they mean is said there. A test of `sojourn-capi`
//! compiles the header and compares.

use std::ffi::{c_char, c_int, c_void};

/// Version of the interface.
pub const ABI: u32 = 1;

/// The name of what a library exports, as the dynamic linker wants it.
pub const SYMBOL: &std::ffi::CStr = c"sojourn_library";

/// A time or a span in nanoseconds.
pub type Time = i64;

/// What `enqueue` returns: the packet waits.
pub const QUEUED: c_int = 0;
/// It waits, newly marked CE.
pub const MARKED: c_int = 1;
/// It, or another one in its place, was dropped.
pub const DROPPED: c_int = 2;

/// What `dequeue` returns: nothing waits.
pub const EMPTY: c_int = 0;
/// A packet to transmit.
pub const PACKET: c_int = 1;
/// Something waits that may not go before a later time.
pub const NOT_BEFORE: c_int = 2;

/// What else succeeds.
pub const OK: c_int = 0;
/// An argument is null, out of range or too small.
pub const INVALID: c_int = -1;
/// The text names no queue manager, or a parameter is wrong.
pub const REFUSED: c_int = -2;
/// There is no statistic or state of this name.
pub const UNKNOWN: c_int = -3;
/// The queue is being called already.
pub const BUSY: c_int = -4;
/// The queue failed in this call.
pub const PANICKED: c_int = -5;
/// The queue failed in an earlier call.
pub const FAILED: c_int = -6;

/// The reason of what waited when its queue was freed.
pub const FREED: c_int = 255;

/// Packets leave as they came.
pub const FIFO: u32 = 0;
/// As they came within each flow.
pub const PER_FLOW: u32 = 1;
/// As they came within each flow, among those that came with the same ECN field.
pub const PER_FLOW_AND_ECN: u32 = 2;
/// As they came within each flow, among those that came with the same ECN field and the same DSCP.
pub const PER_FLOW_ECN_AND_DSCP: u32 = 3;

/// A packet.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Packet {
    pub size: u32,
    pub length: u32,
    pub segments: u32,
    pub flow: u32,
    pub source: u32,
    pub destination: u32,
    pub dscp: u8,
    pub ecn: u8,
    pub reserved: u16,
    pub header_length: u32,
    pub header: *const c_void,
    pub handle: *mut c_void,
    pub enqueued: Time,
    pub priority: u32,
    pub reserved_2: u32,
}

impl Packet {
    /// Bytes of its first version, which ended before `priority`.
    pub const MIN_SIZE: usize = std::mem::offset_of!(Self, priority);
}

/// Takes back a packet that was dropped.
pub type DropCallback = unsafe extern "C" fn(user: *mut c_void, packet: *const Packet, reason: c_int);
/// Is shown a statistic.
pub type StatisticCallback = unsafe extern "C" fn(user: *mut c_void, name: *const c_char, value: u64);
/// Is shown a variable of state.
pub type StateCallback = unsafe extern "C" fn(user: *mut c_void, name: *const c_char, value: f64);

/// What a queue is built for.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Host {
    pub size: u32,
    pub mtu: u32,
    pub rate: u64,
    pub random: u64,
    pub start: Time,
    pub limit_packets: u32,
    pub reserved: u32,
    pub limit_bytes: u64,
    pub limit_time: Time,
    pub dropped: Option<DropCallback>,
    pub user: *mut c_void,
    pub delay: Time,
}

/// A queue, which only the library that made it can look into.
#[repr(C)]
pub struct Queue {
    opaque: [u8; 0],
}

/// What a library exports.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Discipline {
    pub size: u32,
    pub abi: u32,
    pub order: u32,
    pub reserved: u32,
    pub name: *const c_char,
    pub summary: *const c_char,
    pub source: *const c_char,
    pub create: Option<unsafe extern "C" fn(*const c_char, *const Host, *mut *mut Queue) -> c_int>,
    pub free: Option<unsafe extern "C" fn(*mut Queue)>,
    pub enqueue: Option<unsafe extern "C" fn(*mut Queue, Time, *const Packet) -> c_int>,
    pub dequeue: Option<unsafe extern "C" fn(*mut Queue, Time, *mut Packet, *mut Time) -> c_int>,
    pub backlog: Option<unsafe extern "C" fn(*const Queue, *mut u32, *mut u64) -> c_int>,
    pub settle: Option<unsafe extern "C" fn(*mut Queue, Time) -> c_int>,
    pub statistics: Option<unsafe extern "C" fn(*const Queue, Option<StatisticCallback>, *mut c_void) -> c_int>,
    pub states: Option<unsafe extern "C" fn(*const Queue, Option<StateCallback>, *mut c_void) -> c_int>,
    pub error: Option<unsafe extern "C" fn() -> *const c_char>,
    pub pass: Option<unsafe extern "C" fn(*mut Queue, Time, *const Packet) -> c_int>,
}
