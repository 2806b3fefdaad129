//! A control that sets window and pacing rate itself, under scripts: its callbacks and their order, its effect, and the
//! parts of the state that the stack leaves alone.

use super::*;
use crate::cc::{AnyCc, CongestionControl, DeliveryControl, Flight, LostSegment, Needs, SteeringControl, Window};
use sojourn_aqm::{Duration, Rate};
use std::sync::{Arc, Mutex};

/// Callbacks of the control.
#[derive(Clone, Debug, PartialEq)]
enum Call {
    Resumed { limited: bool },
    Delivered { packets: u32, ce: u32, total: u64 },
    Steer(RateSample),
    Entered(CaState),
    Lost(LostSegment),
    Repaired { limited: bool },
    Reduction,
    Undone,
}

/// Control with a window and a rate set by the test; records its callbacks.
#[derive(Clone, Debug)]
struct CallRecorder {
    cwnd: u32,
    rate: Option<Rate>,
    losses: bool,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl CallRecorder {
    fn write(&self, call: Call) {
        self.calls.lock().expect("one thread").push(call);
    }
}

impl CongestionControl for CallRecorder {
    fn needs(&self) -> Needs {
        Needs { samples: true, steers: true, paces: true, losses: self.losses, ..Needs::default() }
    }
    fn steering(&mut self) -> Option<&mut dyn SteeringControl> {
        Some(self)
    }
    fn deliveries(&mut self) -> Option<&mut dyn DeliveryControl> {
        Some(self)
    }
}

impl DeliveryControl for CallRecorder {
    fn on_delivered(&mut self, flight: &mut Flight, packets: u32, ce: u32) {
        self.write(Call::Delivered { packets, ce, total: flight.delivered });
    }
}

impl SteeringControl for CallRecorder {
    fn before_reduction(&mut self, _: &Window) {
        self.write(Call::Reduction);
    }
    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        self.write(Call::Undone);
        window.cwnd
    }
    fn on_state(&mut self, _: &mut Flight, state: CaState) {
        self.write(Call::Entered(state));
    }
    fn on_loss(&mut self, _: &mut Flight, loss: &LostSegment) {
        self.write(Call::Lost(*loss));
    }
    fn probe_repaired(&mut self, _: &mut Flight, limited: bool) {
        self.write(Call::Repaired { limited });
    }
    fn steer(&mut self, flight: &mut Flight, sample: &RateSample) {
        self.write(Call::Steer(*sample));
        flight.window.cwnd = self.cwnd;
        flight.pacing_rate = self.rate;
    }
    fn on_restart(&mut self, flight: &mut Flight) {
        self.write(Call::Resumed { limited: flight.is_app_limited });
        flight.pacing_rate = self.rate;
    }
}

/// Connection with a control that keeps a window of `cwnd` and a rate.
fn steered(cwnd: u32, rate: Option<Rate>, setup: Setup) -> (SenderHarness, Arc<Mutex<Vec<Call>>>) {
    recorded(CallRecorder { cwnd, rate, losses: false, calls: Arc::default() }, setup)
}

/// The same with a control that is notified of each loss.
fn notified_of_losses(cwnd: u32, setup: Setup) -> (SenderHarness, Arc<Mutex<Vec<Call>>>) {
    recorded(CallRecorder { cwnd, rate: None, losses: true, calls: Arc::default() }, setup)
}

fn recorded(recorded: CallRecorder, setup: Setup) -> (SenderHarness, Arc<Mutex<Vec<Call>>>) {
    let calls = Arc::clone(&recorded.calls);
    (SenderHarness::with(setup, AnyCc::custom(recorded)), calls)
}

fn take(calls: &Arc<Mutex<Vec<Call>>>) -> Vec<Call> {
    std::mem::take(&mut *calls.lock().expect("one thread"))
}

/// Delivered packets, interval in milliseconds, losses and prior packets in flight of each sample.
fn samples(calls: &[Call]) -> Vec<(Option<u32>, Option<i64>, u32, u32)> {
    let brief = |call: &Call| match call {
        Call::Steer(s) => {
            let interval = s.interval.map(|interval| interval.as_nanos() / 1_000_000);
            Some((s.delivered, interval, s.losses, s.prior_in_flight))
        }
        _ => None,
    };
    calls.iter().filter_map(brief).collect()
}

/// The newest Linux, without bursts.
fn linux(window_of: u32) -> Setup {
    lacking("linux-6.1", window(window_of), |stack| stack.bursts = false)
}

#[test]
fn an_acknowledgment_is_counted_then_steers_then_sends() {
    let (mut rig, log) = steered(6, None, linux(4));
    assert_eq!(take(&log), [Call::Resumed { limited: true }], "the first data was written into an idle connection");
    assert_eq!(rig.ack(2), [4, 5, 6, 7], "two more in a window of six");
    let calls = take(&log);
    assert_eq!(calls[0], Call::Delivered { packets: 2, ce: 0, total: 3 });
    assert_eq!(samples(&calls), [(Some(2), Some(100), 0, 4)]);
    assert_eq!(calls.len(), 2);
}

#[test]
fn in_recovery_the_window_is_what_the_control_says() {
    let (mut rig, log) = steered(10, None, linux(10));
    take(&log);
    let mut sent = Vec::new();
    for n in 2..=10 {
        rig.now_ms += 2;
        sent.extend(rig.sack(0, &[(1, n)]));
    }
    // PRR would send on every second SACK. Here each delivered segment is replaced at once, and the hole is
    // retransmitted.
    assert_eq!(sent, [10, 11, 0, 12, 13, 14, 15, 16, 17, 18]);
    assert_eq!((rig.state(), rig.cwnd(), rig.ssthresh()), (CaState::Recovery, 10, Window::INFINITE_SSTHRESH));
    let calls = take(&log);
    let entered = calls.iter().position(|t| *t == Call::Entered(CaState::Recovery)).expect("it is told");
    assert_eq!(calls[entered - 1], Call::Reduction);
    assert!(matches!(&calls[entered + 1], Call::Steer(sample) if sample.losses == 1), "{:?}", calls[entered + 1]);
    assert_eq!(calls.iter().filter(|t| matches!(t, Call::Entered(CaState::Disorder))).count(), 1);
    // The end of recovery does not change the window either.
    rig.now_ms += RTT_MS;
    rig.ack(19);
    assert_eq!((rig.state(), rig.cwnd()), (CaState::Open, 10));
}

/// Reported lost segments: packets in flight at transmission, and losses since.
fn losses(calls: &[Call]) -> Vec<(u32, u32)> {
    let brief = |call: &Call| match call {
        Call::Lost(loss) => Some((loss.tx_in_flight, loss.lost)),
        _ => None,
    };
    calls.iter().filter_map(brief).collect()
}

#[test]
fn each_lost_segment_is_told_before_the_state_and_the_sample() {
    let (mut rig, log) = notified_of_losses(10, linux(10));
    take(&log);
    // The third and the fourth segment are missing; each was sent with the earlier ones in flight.
    rig.now_ms += RTT_MS;
    rig.ack(2);
    for n in 5..=8 {
        rig.now_ms += 1;
        rig.sack(2, &[(4, n)]);
    }
    rig.now_ms += RTT_MS;
    rig.sack(2, &[(4, 12)]);
    let calls = take(&log);
    assert_eq!(losses(&calls), [(3, 1), (4, 2)], "{calls:?}");
    let position = |call: &Call| calls.iter().position(|t| t == call).expect("it is told");
    let first = calls.iter().position(|t| matches!(t, Call::Lost(_))).expect("it is told");
    assert!(position(&Call::Reduction) < first && first < position(&Call::Entered(CaState::Recovery)), "{calls:?}");
    assert!(calls[first..].iter().any(|t| matches!(t, Call::Steer(sample) if sample.losses > 0)));
    let lost = |t: &Call| matches!(t, Call::Steer(sample) if sample.lost == 2 && sample.tx_in_flight > 8);
    assert!(calls.iter().any(lost), "the sample of what was sent before they were lost counts them: {calls:?}");
}

#[test]
fn a_time_out_tells_of_each_segment_that_it_takes_for_lost() {
    let setup = lacking("linux-6.1", window(4), |stack| {
        (stack.bursts, stack.loss_probe) = (false, None);
    });
    let (mut rig, log) = notified_of_losses(8, setup);
    take(&log);
    rig.timer();
    let calls = take(&log);
    assert_eq!(losses(&calls), [(1, 1), (2, 2), (3, 3), (4, 4)], "{calls:?}");
    assert_eq!(calls.last(), Some(&Call::Entered(CaState::Loss)));
}

#[test]
fn a_probe_that_repaired_a_loss_is_told_once_it_is_known() {
    let (mut rig, log) = notified_of_losses(20, Setup { segments: Some(4), ..linux(20) });
    take(&log);
    let (_, sent) = rig.timer();
    assert_eq!(sent, [3], "the probe");
    rig.now_ms += RTT_MS;
    rig.ack(4);
    let acks_probe = |call: &Call| matches!(call, Call::Steer(sample) if sample.acks_probe);
    assert_eq!(take(&log).iter().filter(|t| acks_probe(t)).count(), 1, "the probe or the original");
    rig.sender.write(ms(rig.now_ms), 2 * MSS, &mut Recorder(rig.now_ms, &mut rig.sent));
    rig.now_ms += RTT_MS;
    rig.ack(6);
    let calls = take(&log);
    assert_eq!(calls.iter().filter(|t| matches!(t, Call::Repaired { .. })).count(), 1, "{calls:?}");
    assert_eq!(losses(&calls), []);
}

#[test]
fn an_undo_asks_the_control() {
    let (mut rig, log) = steered(12, None, linux(12));
    for n in 2..=5 {
        rig.sack(0, &[(1, n)]);
    }
    assert_eq!(rig.state(), CaState::Recovery);
    take(&log);
    // The original arrives: the echoed timestamp is older than the retransmission.
    rig.now_ms += 3;
    rig.on(upto(5).echo(START_MS));
    let calls = take(&log);
    assert_eq!(calls.iter().filter(|t| **t == Call::Undone).count(), 1, "{calls:?}");
    assert_eq!((rig.state(), rig.cwnd()), (CaState::Open, 12), "not the window before, not the threshold");
}

#[test]
fn a_time_out_leaves_one_segment_more_than_what_is_in_flight_until_the_next_acknowledgment() {
    let (mut rig, log) = steered(
        8,
        None,
        lacking("linux-6.1", window(4), |stack| {
            (stack.bursts, stack.loss_probe) = (false, None);
        }),
    );
    take(&log);
    let (_, sent) = rig.timer();
    assert_eq!((sent, rig.cwnd(), rig.state()), (vec![0], 1, CaState::Loss));
    assert_eq!(take(&log), [Call::Reduction, Call::Entered(CaState::Loss)]);
    rig.now_ms += RTT_MS;
    rig.ack(1);
    assert_eq!(rig.cwnd(), 8);
}

#[test]
fn a_pause_leaves_the_window_and_is_told() {
    let (mut rig, log) = steered(20, None, Setup { segments: Some(4), ..linux(20) });
    rig.ack(4);
    take(&log);
    rig.now_ms += 60_000;
    rig.sender.write(ms(rig.now_ms), 6 * MSS, &mut Recorder(rig.now_ms, &mut rig.sent));
    assert_eq!((rig.take().len(), rig.cwnd()), (6, 20), "no slow start anew after 60 s");
    assert_eq!(take(&log), [Call::Resumed { limited: true }]);
    rig.now_ms += RTT_MS;
    rig.ack(10);
    let limited = |call: &Call| matches!(call, Call::Steer(sample) if sample.is_app_limited);
    assert_eq!(take(&log).iter().filter(|t| limited(t)).count(), 1, "the sample of a bubble");
}

#[test]
fn bursts_leave_at_the_rate_that_the_control_sets() {
    // 1448 bytes take 3 ms.
    let rate = Rate::from_bps(MSS * 8_000 / 3);
    let (mut rig, _) = steered(30, Some(rate), linux(12));
    // Ten segments of the first window were sent at once; the others are paced.
    assert_eq!(rig.sender.in_flight(), 10);
    let mut departures = Vec::new();
    while departures.len() < 4 {
        let at = rig.sender.deadline();
        rig.sender.on_timer(at, &mut |header: &Header, _: Ecn| departures.push((at.as_nanos(), segment(header.seq))));
    }
    let begin = START_MS * 1_000_000;
    // The window of twelve is full after two more, and the sender waits for acknowledgments.
    let step = rate.time_for(MSS).as_nanos() as u64;
    assert_eq!(departures[..2], [(begin + step, 10), (begin + 2 * step, 11)]);
}

#[test]
fn what_waits_for_the_instant_of_an_acknowledgment_leaves_before_it() {
    // 1448 bytes take 2 ms.
    let rate = Rate::from_bps(MSS * 4_000);
    for (after_ms, in_flight, sent) in [(1, 10, vec![]), (2, 11, vec![10]), (4, 11, vec![10])] {
        let (mut rig, log) = steered(30, Some(rate), linux(12));
        assert_eq!(rig.sender.deadline(), ms(START_MS + 2));
        rig.now_ms = START_MS + after_ms;
        assert_eq!(rig.ack(1), sent, "{after_ms} ms");
        let before: Vec<_> = samples(&take(&log)).into_iter().map(|sample| sample.3).collect();
        assert_eq!(before, [in_flight], "{after_ms} ms");
    }
}

#[test]
fn a_stack_may_pace_any_control() {
    let paced: fn(&mut Stack) = |stack| (stack.bursts, stack.paces) = (false, true);
    let mut rig = SenderHarness::new(lacking("linux-6.1", window(10), paced));
    // After ten segments the others are paced: 200 % of ten segments per 100 ms is one per 5 ms.
    assert_eq!(rig.ack(1), [10]);
    assert_eq!(rig.sender.in_flight(), 10);
    let at = rig.sender.deadline();
    // The window is eleven now: its rate is 22 segments per 100 ms; the pacer makes up for lost time.
    let expected = Duration::from_nanos(100_000_000 / 22);
    let waited = at - ms(rig.now_ms);
    assert!(waited < expected && waited > expected / 2 - Duration::from_micros(1), "{waited:?}");
    rig.sender.on_timer(at, &mut Recorder(rig.now_ms, &mut rig.sent));
    assert_eq!(rig.take(), [11]);
}

#[test]
fn controls_that_ask_for_nothing_fit_every_stack_and_the_others_only_later_ones() {
    let steering = AnyCc::custom(CallRecorder { cwnd: 1, rate: None, losses: false, calls: Arc::default() });
    let later = ["linux-3.13", "linux-6.1"];
    for (name, _) in crate::stack::NAMES {
        let stack = Stack::find(name).expect("a stack");
        for (cc, _) in crate::cc::NAMES {
            let needs = Needs { partial_ack_ends_recovery: false, ..AnyCc::new(cc).expect("a control").needs() };
            assert_eq!(needs.is_met_by(stack), needs == Needs::NONE || later.contains(name), "{cc} on {name}");
        }
        assert_eq!(steering.needs().is_met_by(stack), later.contains(name), "{name}");
    }
}

#[test]
fn a_box_is_cloned_with_its_state() {
    let (mut rig, log) = steered(6, None, linux(4));
    let mut twin = rig.sender.clone();
    take(&log);
    let header = Header { seq: FIRST_BYTE, ack: seq(2), flags: Flags::ACK, ts_val: 1, ..Header::default() };
    let mut sent = Vec::new();
    twin.on_segment(ms(rig.now_ms), &header, &mut Recorder(rig.now_ms, &mut sent));
    assert_eq!((twin.window().cwnd, rig.cwnd(), rig.ack(2)), (6, 4, vec![4, 5, 6, 7]));
}
