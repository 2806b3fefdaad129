//! `sojourn_cc.h` and Rust agree in sizes, offsets and constants.
#![cfg(target_os = "linux")]

use crate::common::{assert_values_in_c, constants, header_text};
use sojourn_library::control::abi::{self, ControlLibrary, Host, NEEDS};
use sojourn_tcp::CaState;
use sojourn_tcp::cc::Window;
use sojourn_tcp::cc::foreign::{AckView, CallKind, CongestionCause, FlightView, LossView, SampleView, SsthreshCause};
use std::mem::offset_of;

/// C expressions for sizes and offsets, and their values in Rust.
fn layout() -> Vec<(String, i64)> {
    let mut facts = Vec::new();
    macro_rules! layout {
        ($c:literal, $type:ty, $($field:ident),+) => {
            facts.push((format!("sizeof({})", $c), size_of::<$type>() as i64));
            $( facts.push((format!("offsetof({}, {})", $c, stringify!($field)), offset_of!($type, $field) as i64)); )+
        };
    }
    layout!("sojourn_cc_flight", FlightView, size, mss, now, srtt, min_rtt, cwnd, ssthresh, cwnd_cnt, in_flight, burst);
    layout!("sojourn_cc_flight", FlightView, state, pacing_rate, delivered, delivered_ce, lost, una, nxt, bytes_acked);
    layout!("sojourn_cc_flight", FlightView, delivered_at, next_departure, packets_out, flags, counting, prior_cwnd);
    layout!("sojourn_cc_ack", AckView, size, packets, rtt, one_way, flags, reserved);
    layout!("sojourn_cc_sample", SampleView, size, flags, delivered, interval, send_interval, ack_interval);
    layout!("sojourn_cc_sample", SampleView, prior_delivered, rtt, acked_sacked, ce, losses, prior_in_flight);
    layout!("sojourn_cc_sample", SampleView, tx_in_flight, lost, delivered_ce, reserved);
    layout!("sojourn_cc_loss", LossView, size, tx_in_flight, lost, flags);
    layout!("sojourn_cc_host", Host, size, abi, random, stack, ticks_per_second, is_quic, is_paced, ecn);
    layout!("sojourn_cc_library", ControlLibrary, size, abi, face, needs, name, summary, source, create, free, clone);
    layout!("sojourn_cc_library", ControlLibrary, error, ssthresh, grow, acked, report, reduced, timed_out, min_cwnd);
    layout!("sojourn_cc_library", ControlLibrary, state, delivered, idle, undo, start, sent, ack, lost, repaired);
    layout!("sojourn_cc_library", ControlLibrary, congestion);
    facts
}

/// Constants without their prefix, and their values in Rust.
fn numbers() -> Vec<(String, i64)> {
    let fixed = [
        ("ABI", abi::ABI),
        ("WINDOW", abi::WINDOW),
        ("STEER", abi::STEER),
        ("OPEN", CaState::Open as u32),
        ("DISORDER", CaState::Disorder as u32),
        ("CWR", CaState::Cwr as u32),
        ("RECOVERY", CaState::Recovery as u32),
        ("LOSS", CaState::Loss as u32),
        ("CWND_LIMITED", FlightView::CWND_LIMITED),
        ("APP_LIMITED", FlightView::APP_LIMITED),
        ("EXACT_BURST", FlightView::EXACT_BURST),
        ("MARK_APP_LIMITED", FlightView::MARK_APP_LIMITED),
        ("INFINITE", Window::INFINITE_SSTHRESH),
        ("SLOW_PATH", AckView::SLOW_PATH),
        ("LIMITED", AckView::LIMITED),
        ("SAMPLE_APP_LIMITED", SampleView::APP_LIMITED),
        ("RETRANSMITTED", SampleView::RETRANSMITTED),
        ("ACK_DELAYED", SampleView::ACK_DELAYED),
        ("ACKS_PROBE", SampleView::ACKS_PROBE),
        ("LOSS_APP_LIMITED", LossView::APP_LIMITED),
        ("LOSS_CONTINUES", LossView::CONTINUES),
        ("REDUCTION", SsthreshCause::Reduction as u32),
        ("LOSS_REDUCTION", SsthreshCause::Loss as u32),
        ("TIMEOUT_REDUCTION", SsthreshCause::TimeOut as u32),
        ("EVENT_LOSS", CongestionCause::Loss as u32),
        ("EVENT_ECN", CongestionCause::Ecn as u32),
        ("EVENT_TIMEOUT", CongestionCause::TimeOut as u32),
        ("EVENT_PERSISTENT", CongestionCause::Persistent as u32),
        ("PACKETS", 0),
        ("PACKETS_IN_SLOW_START", 1),
        ("ACKNOWLEDGMENTS", 2),
        ("FRACTIONS", 3),
        ("BYTES", 4),
    ];
    let fixed = fixed.map(|(name, value)| (name.to_string(), i64::from(value)));
    let needs = NEEDS.iter().enumerate().map(|(bit, (name, _))| (name.to_string(), 1 << bit));
    // Printed as a signed number, it is −1.
    fixed.into_iter().chain(needs).chain([("UNPACED".to_string(), FlightView::UNPACED as i64)]).collect()
}

#[test]
fn sizes_offsets_and_numbers_are_those_of_the_compiled_header() {
    let numbers = numbers().into_iter().map(|(name, value)| (format!("SOJOURN_CC_{name}"), value));
    let expected: Vec<(String, i64)> = layout().into_iter().chain(numbers).collect();
    assert_values_in_c("sojourn_cc.h", &expected);
}

#[test]
fn every_constant_of_the_header_is_compared() {
    let compared = numbers();
    let header = header_text("sojourn_cc.h");
    for name in constants(&header, "SOJOURN_CC_").filter(|&name| name != "H") {
        assert!(compared.iter().any(|(known, _)| known == name), "SOJOURN_CC_{name} is not compared");
    }
}

#[test]
fn every_call_has_a_function_of_its_name() {
    let header = header_text("sojourn_cc.h");
    for kind in CallKind::ALL {
        assert!(header.contains(&format!("(*{})(void *state", kind.name())), "{} is in no struct", kind.name());
    }
}
