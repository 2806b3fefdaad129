//! Structs and constants of `sojourn_cc.h` that are not in [`sojourn_tcp::cc::foreign`], in its order and with its
//! names; the header documents them. A test of `sojourn-capi` compiles the header and compares.

use sojourn_tcp::cc::Needs;
use sojourn_tcp::cc::foreign::{AckView, FlightView, LossView, SampleView};
use std::ffi::{c_char, c_int, c_void};

/// Version of the interface.
pub const ABI: u32 = 1;

/// Symbol that a library exports.
pub const SYMBOL: &std::ffi::CStr = c"sojourn_cc";

/// Face of a control that grows and reduces the window.
pub const WINDOW: u32 = 0;
/// Face of a control that sets window and pacing rate itself.
pub const STEER: u32 = 1;

/// Sets or reads a need.
type NeedField = fn(&mut Needs) -> &mut bool;

/// Needs by name, in the order of their bits from bit 0 on; `None` is `CAUSES`, which is not a need of the sender.
pub const NEEDS: [(&str, Option<NeedField>); 16] = [
    ("SAMPLES", Some(|needs| &mut needs.samples)),
    ("REPORTS", Some(|needs| &mut needs.reports)),
    ("LOSSES", Some(|needs| &mut needs.losses)),
    ("PACES", Some(|needs| &mut needs.paces)),
    ("ECN", Some(|needs| &mut needs.ecn)),
    ("ECT1", Some(|needs| &mut needs.ect1)),
    ("ACCURATE_ECN", Some(|needs| &mut needs.accurate_ecn)),
    ("ECHO_PER_PACKET", Some(|needs| &mut needs.echo_per_packet)),
    ("SENT", Some(|needs| &mut needs.sent)),
    ("FLIGHT", Some(|needs| &mut needs.flight)),
    ("CAUSES", None),
    ("GROWS_UNLIMITED", Some(|needs| &mut needs.grows_unlimited)),
    ("PARTIAL_ACK_ENDS", Some(|needs| &mut needs.partial_ack_ends_recovery)),
    ("ECT_ON_CONTROL", Some(|needs| &mut needs.ect_on_control)),
    ("WIDE_BUFFER", Some(|needs| &mut needs.wide_buffer)),
    ("LONG_RECOVERY", Some(|needs| &mut needs.long_recovery)),
];

/// Bit of the need for separate thresholds after losses and time-outs.
pub const CAUSES: u32 = 1 << 10;

/// The needs of a library with `face` and the bits `needs`.
pub fn needs_of(face: u32, needs: u32) -> Needs {
    let mut found = Needs { steers: face == STEER, ..Needs::NONE };
    for (bit, (_, field)) in NEEDS.iter().enumerate() {
        if let (Some(field), 1) = (field, needs >> bit & 1) {
            *field(&mut found) = true;
        }
    }
    found
}

/// Inverse of [`needs_of`].
pub const fn bits_of(needs: &Needs) -> u32 {
    needs.samples as u32
        | (needs.reports as u32) << 1
        | (needs.losses as u32) << 2
        | (needs.paces as u32) << 3
        | (needs.ecn as u32) << 4
        | (needs.ect1 as u32) << 5
        | (needs.accurate_ecn as u32) << 6
        | (needs.echo_per_packet as u32) << 7
        | (needs.sent as u32) << 8
        | (needs.flight as u32) << 9
        | (needs.grows_unlimited as u32) << 11
        | (needs.partial_ack_ends_recovery as u32) << 12
        | (needs.ect_on_control as u32) << 13
        | (needs.wide_buffer as u32) << 14
        | (needs.long_recovery as u32) << 15
}

/// Environment of a connection.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Host {
    pub size: u32,
    pub abi: u32,
    pub random: u64,
    pub stack: *const c_char,
    pub ticks_per_second: u32,
    pub is_quic: u32,
    pub is_paced: u32,
    pub ecn: u32,
}

type Plain = unsafe extern "C" fn(*mut c_void, *mut FlightView);
type WithAck = unsafe extern "C" fn(*mut c_void, *mut FlightView, *const AckView);
type WithNumber = unsafe extern "C" fn(*mut c_void, *mut FlightView, c_int);
type Value = unsafe extern "C" fn(*mut c_void, *mut FlightView) -> u32;

/// A congestion control that a library exports.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ControlLibrary {
    pub size: u32,
    pub abi: u32,
    pub face: u32,
    pub needs: u32,
    pub name: *const c_char,
    pub summary: *const c_char,
    pub source: *const c_char,
    pub create: Option<unsafe extern "C" fn(*const c_char, *const Host, *mut *mut c_void) -> c_int>,
    pub free: Option<unsafe extern "C" fn(*mut c_void)>,
    pub clone: Option<unsafe extern "C" fn(*const c_void, *mut *mut c_void) -> c_int>,
    pub error: Option<unsafe extern "C" fn() -> *const c_char>,
    pub ssthresh: Option<unsafe extern "C" fn(*mut c_void, *mut FlightView, c_int) -> u32>,
    pub grow: Option<WithAck>,
    pub acked: Option<WithAck>,
    pub report: Option<WithAck>,
    pub reduced: Option<Plain>,
    pub timed_out: Option<Plain>,
    pub min_cwnd: Option<Value>,
    pub state: Option<WithNumber>,
    pub delivered: Option<unsafe extern "C" fn(*mut c_void, *mut FlightView, u32, u32)>,
    pub idle: Option<unsafe extern "C" fn(*mut c_void, *mut FlightView, i64)>,
    pub undo: Option<Value>,
    pub start: Option<Plain>,
    pub sent: Option<unsafe extern "C" fn(*mut c_void, *mut FlightView, u32)>,
    pub ack: Option<unsafe extern "C" fn(*mut c_void, *mut FlightView, *const SampleView)>,
    pub lost: Option<unsafe extern "C" fn(*mut c_void, *mut FlightView, *const LossView)>,
    pub repaired: Option<WithNumber>,
    pub congestion: Option<WithNumber>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_needs_are_those_of_their_order() {
        for (bit, (name, _)) in NEEDS.iter().enumerate() {
            let back = bits_of(&needs_of(WINDOW, 1 << bit));
            assert_eq!(back, if 1 << bit == CAUSES { 0 } else { 1 << bit }, "{name}");
        }
    }
}
