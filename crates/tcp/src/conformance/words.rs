//! Calls in words.

use super::recording::{CallRecord, RESULTS};
use crate::cc::Window;
use crate::cc::foreign::{AckView, Call, CongestionCause, FlightView, LossView, SampleView, SsthreshCause};

/// A call with its arguments: `grow(packets 2, rtt 40.125 ms, limited)`.
pub(super) fn call(call: &Call) -> String {
    let arguments = match *call {
        Call::Ssthresh(SsthreshCause::Reduction) => "reduction".to_string(),
        Call::Ssthresh(SsthreshCause::Loss) => "loss".to_string(),
        Call::Ssthresh(SsthreshCause::TimeOut) => "time-out".to_string(),
        Call::Grow(ack) | Call::Acked(ack) | Call::Report(ack) => acknowledgment(&ack),
        Call::Delivered(counts) => format!("packets {}, ce {}", counts.packets, counts.ce),
        Call::State(state) => format!("{state:?}").to_lowercase(),
        Call::Idle(last_sent) => format!("last_sent {}", seconds(last_sent)),
        Call::Ack(sample) => rate_sample(&sample),
        Call::Lost(loss) => {
            let flags = flags(
                loss.flags,
                &[(LossView::APP_LIMITED, "application-limited"), (LossView::CONTINUES, "continues")],
            );
            format!("tx_in_flight {}, lost {}{flags}", loss.tx_in_flight, loss.lost)
        }
        Call::Repaired(is_app_limited) => format!("app_limited {is_app_limited}"),
        Call::Sent(bytes) => format!("bytes {bytes}"),
        Call::Congestion(CongestionCause::Loss) => "loss".to_string(),
        Call::Congestion(CongestionCause::Ecn) => "ecn".to_string(),
        Call::Congestion(CongestionCause::TimeOut) => "time-out".to_string(),
        Call::Congestion(CongestionCause::Persistent) => "persistent".to_string(),
        Call::Reduced | Call::TimedOut | Call::Undo | Call::MinCwnd | Call::Start => String::new(),
    };
    format!("{}({arguments})", call.kind().name())
}

/// A call, its time, the connection before it and what it changed.
pub(super) fn record(record: &CallRecord) -> String {
    let CallRecord { call: made, before, after, value } = record;
    let mut text = format!("{} {}: {}", seconds(before.now), call(made), view(before));
    for (name, of) in RESULTS {
        if of(after) != of(before) {
            text += &format!(", {name} -> {}", field(name, of(after)));
        }
    }
    if matches!(made, Call::Ssthresh(_) | Call::Undo | Call::MinCwnd) {
        text += &format!(", value {value}");
    }
    text
}

/// A field that a control may set.
pub(super) fn field(name: &str, value: u64) -> String {
    match (name, value) {
        ("pacing_rate", FlightView::UNPACED) => "unpaced".to_string(),
        ("pacing_rate", rate) => format!("{rate} bit/s"),
        ("ssthresh", INFINITE) => "infinite".to_string(),
        (_, value) => value.to_string(),
    }
}

/// A time in seconds, as in `12.000345678 s`.
pub(super) fn seconds(nanos: i64) -> String {
    format!("{}.{:09} s", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

fn view(view: &FlightView) -> String {
    let ssthresh = field("ssthresh", view.ssthresh.into());
    format!("cwnd {}, ssthresh {ssthresh}, in_flight {}", view.cwnd, view.in_flight)
}

fn acknowledgment(ack: &AckView) -> String {
    let mut text = format!("packets {}", ack.packets);
    text += &match ack.rtt {
        -1 => ", no rtt".to_string(),
        rtt => format!(", rtt {}", millis(rtt)),
    };
    if ack.one_way >= 0 {
        text += &format!(", one_way {}", millis(ack.one_way));
    }
    text + &flags(ack.flags, &[(AckView::SLOW_PATH, "slow path"), (AckView::LIMITED, "limited")])
}

fn rate_sample(sample: &SampleView) -> String {
    let span = |name: &str, span: i64| if span < 0 { format!("no {name}") } else { format!("{name} {}", millis(span)) };
    let counts = [
        ("acked_sacked", sample.acked_sacked),
        ("ce", sample.ce),
        ("losses", sample.losses),
        ("prior_in_flight", sample.prior_in_flight),
        ("tx_in_flight", sample.tx_in_flight),
        ("lost", sample.lost),
    ];
    let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let flags = flags(
        sample.flags,
        &[
            (SampleView::APP_LIMITED, "application-limited"),
            (SampleView::RETRANSMITTED, "retransmitted"),
            (SampleView::ACK_DELAYED, "delayed"),
            (SampleView::ACKS_PROBE, "of a probe"),
        ],
    );
    format!(
        "delivered {}, {}, {}, {}{flags}",
        sample.delivered,
        span("interval", sample.interval),
        span("rtt", sample.rtt),
        counts.join(", ")
    )
}

fn flags(set: u32, names: &[(u32, &str)]) -> String {
    names.iter().filter(|(bit, _)| set & bit != 0).map(|(_, name)| format!(", {name}")).collect()
}

fn millis(nanos: i64) -> String {
    format!("{} ms", nanos as f64 / 1e6)
}

const INFINITE: u64 = Window::INFINITE_SSTHRESH as u64;
