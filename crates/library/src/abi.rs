//! Structs and constants of `sojourn_aqm.h`, in its order and with its names; the header documents them. A test of
//! `sojourn-capi` compiles the header and compares.
//!
//! Structs begin with their size and grow only at the end, so programs compiled against an older header keep working
//! when a field is added.

use std::ffi::{c_char, c_int, c_void};

/// Version of the interface.
pub const ABI: u32 = 1;

/// Symbol that a library exports.
pub const SYMBOL: &std::ffi::CStr = c"sojourn_library";

/// A time or a duration in nanoseconds.
pub type Time = i64;

/// Result of `enqueue`: the packet is queued.
pub const QUEUED: c_int = 0;
/// Result of `enqueue`: the packet is queued and newly marked CE.
pub const MARKED: c_int = 1;
/// Result of `enqueue`: the packet, or another packet in its place, was dropped.
pub const DROPPED: c_int = 2;

/// Result of `dequeue`: the queue is empty.
pub const EMPTY: c_int = 0;
/// Result of `dequeue`: a packet to transmit.
pub const PACKET: c_int = 1;
/// Result of `dequeue`: packets are queued, but none may leave before a later time.
pub const NOT_BEFORE: c_int = 2;

/// Success of every other function.
pub const OK: c_int = 0;
/// An argument is null, out of range or too small.
pub const INVALID: c_int = -1;
/// The text names no AQM, or a parameter is wrong.
pub const REFUSED: c_int = -2;
/// There is no statistic or state variable of this name.
pub const UNKNOWN: c_int = -3;
/// Another call of this queue is in progress.
pub const BUSY: c_int = -4;
/// The queue failed in this call.
pub const PANICKED: c_int = -5;
/// The queue failed in an earlier call.
pub const FAILED: c_int = -6;

/// Drop reason of packets that were queued when their queue was freed.
pub const FREED: c_int = 255;

/// Packets leave in order of arrival.
pub const FIFO: u32 = 0;
/// Packets of a flow leave in order of arrival.
pub const PER_FLOW: u32 = 1;
/// Packets of a flow that arrived with the same ECN field leave in order of arrival.
pub const PER_FLOW_AND_ECN: u32 = 2;
/// Packets of a flow that arrived with the same ECN field and DSCP leave in order of arrival.
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
    /// Size of the struct's first version, which ended before `priority`.
    pub const MIN_SIZE: usize = std::mem::offset_of!(Self, priority);
}

/// Called for each dropped packet, which returns to the host.
pub type DropCallback = unsafe extern "C" fn(user: *mut c_void, packet: *const Packet, reason: c_int);
/// Called for each statistic.
pub type StatisticCallback = unsafe extern "C" fn(user: *mut c_void, name: *const c_char, value: u64);
/// Called for each state variable.
pub type StateCallback = unsafe extern "C" fn(user: *mut c_void, name: *const c_char, value: f64);

/// Environment of a queue: link, limits, random stream and drop callback.
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

/// A queue, opaque except to the library that created it.
#[repr(C)]
pub struct Queue {
    opaque: [u8; 0],
}

/// A qdisc that a library exports.
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
