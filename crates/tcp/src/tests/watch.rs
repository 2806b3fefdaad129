//! Events that a sender reports to a host that observes it, in scenarios of other test files; the expected events are
//! derived by hand from the input and the rules that those tests check.

use super::*;
use crate::snapshot::report_state;
use crate::timer::TimerPurpose;
use std::fmt::Write as _;

/// Records events, in full segments.
#[derive(Default)]
struct EventRecorder(Vec<String>);

impl Wire for EventRecorder {
    fn transmit(&mut self, _: &Header, _: u32, _: Ecn) {}

    fn observes_sender(&self) -> bool {
        true
    }

    fn notify<'a>(&mut self, event: impl FnOnce() -> SenderEvent<'a>) {
        let range = |(from, to): SeqRange| format!("{}..{}", segment(from), whole(to));
        let line = match event() {
            SenderEvent::Received { header, len } => {
                let mut line = format!("ack {} of {len} B", segment(header.ack));
                header.sack.blocks().iter().for_each(|&block| write!(line, " sack {}", range(block)).unwrap());
                line
            }
            SenderEvent::Expired(purpose) => format!("expired {purpose:?}"),
            SenderEvent::Sent { header, len, is_retransmission, .. } if header.len > 0 => {
                let again = if is_retransmission { " again" } else { "" };
                format!("sent {}{again}, {len} B", segment(header.seq))
            }
            SenderEvent::Sent { header, is_retransmission, .. } => {
                format!("sent {:?} {is_retransmission}", header.flags)
            }
            SenderEvent::LossMarked(LossMark::Original(block)) => format!("lost {}", range(block)),
            SenderEvent::LossMarked(LossMark::Retransmission(block)) => format!("lost again {}", range(block)),
            SenderEvent::LossMarked(LossMark::Cleared(una)) => format!("nothing lost from {}", segment(una)),
            SenderEvent::Acknowledged { .. } => unreachable!("TCP has no such frames"),
            SenderEvent::State(snapshot) => format_state(snapshot),
        };
        self.0.push(line);
    }
}

/// Number of full segments below a sequence number, without SYN and FIN.
fn whole(seq: u64) -> u64 {
    seq.saturating_sub(FIRST_BYTE) / MSS
}

fn format_state(snapshot: &SenderState) -> String {
    let SenderState { state, una, nxt, cwnd, in_flight, srtt_s, .. } = *snapshot;
    let (una, nxt) = (whole(una), whole(nxt));
    let timer = snapshot.timer.map(|(purpose, at)| format!("{purpose:?} at {}", at.as_nanos() / 1_000_000));
    let timer = timer.unwrap_or("no timer".into());
    format!("{state:?} {una}..{nxt}, {in_flight} of {cwnd} in flight, {} ms, {timer}", (srtt_s * 1e3).round())
}

/// A sender under observation, just after the handshake.
struct ObservedSender {
    sender: Sender,
    watch: EventRecorder,
}

impl ObservedSender {
    fn new(setup: Setup) -> Self {
        let SenderHarness { sender, .. } = SenderHarness::closed(setup);
        let mut observed = Self { sender, watch: EventRecorder::default() };
        observed.sender.open(ms(START_MS - RTT_MS), setup.bytes, &mut observed.watch);
        let flags = Flags::SYN.with(Flags::ACK);
        let ts_ecr = (START_MS - RTT_MS) as u32;
        let header = Header { ack: FIRST_BYTE, flags, ts_val: 1, ts_ecr, ..Header::default() };
        observed.sender.on_segment(ms(START_MS), &header, &mut observed.watch);
        observed
    }

    /// Takes the recorded events.
    fn take_events(&mut self) -> Vec<String> {
        std::mem::take(&mut self.watch.0)
    }

    fn sack(&mut self, at_ms: u64, ack: u64, blocks: &[(u64, u64)]) -> Vec<String> {
        let mut sack = Sack::default();
        blocks.iter().for_each(|&(from, to)| sack.push((seq(from), seq(to))));
        let (ts_val, ts_ecr) = (1, (at_ms - RTT_MS) as u32);
        let header =
            Header { seq: FIRST_BYTE, ack: seq(ack), flags: Flags::ACK, ts_val, ts_ecr, window: 0, sack, len: 0 };
        self.sender.on_segment(ms(at_ms), &header, &mut self.watch);
        self.take_events()
    }

    fn timer(&mut self) -> Vec<String> {
        let at = self.sender.deadline();
        self.sender.on_timer(at, &mut self.watch);
        self.take_events()
    }
}

#[test]
fn a_lost_segment_is_told_from_its_marks_to_its_repair() {
    // As in `rack`: with a window of ten, each SACK of a segment after the first releases a new one, and the third
    // shows that the first is lost.
    let mut observed = ObservedSender::new(under("linux-6.1", window(10)));
    let events = observed.take_events();
    let first = "Open 0..0, 0 of 10 in flight, 0 ms, Retransmit at 1920";
    assert_eq!(
        events[..2],
        [format!("sent {:?} false", Flags::SYN), first.into()],
        "a second, and up to a slot of 64 ms"
    );
    assert_eq!(events[2..4], ["ack 0 of 60 B".to_string(), format!("sent {:?} false", Flags::ACK)]);
    let flight: Vec<_> = (0..10).map(|n| format!("sent {n}, 1500 B")).collect();
    assert_eq!(events[4..14], flight);
    // Two RTTs and 2 ms on the timer wheel, as in `tail_loss_probe`.
    assert_eq!(events[14..], ["Open 0..10, 10 of 10 in flight, 100 ms, LossProbe at 1208"]);
    let assert_state = |state: &str, nxt: u32, flight: u32, cwnd: u32, events: &[String]| {
        let line = events.last().expect("it ends with how the sender stands");
        let expected = format!("{state} 0..{nxt}, {flight} of {cwnd} in flight, 100 ms,");
        assert!(line.starts_with(&expected), "{line}");
    };
    let events = observed.sack(1_102, 0, &[(1, 2)]);
    assert_eq!(events[..events.len() - 1], ["ack 0 of 64 B sack 1..2", "sent 10, 1500 B"]);
    assert_state("Disorder", 11, 10, 10, &events);
    let events = observed.sack(1_104, 0, &[(1, 3)]);
    assert_eq!(events[..events.len() - 1], ["ack 0 of 64 B sack 1..3", "sent 11, 1500 B"]);
    let events = observed.sack(1_106, 0, &[(1, 4)]);
    assert_eq!(events[..events.len() - 1], ["ack 0 of 64 B sack 1..4", "sent 0 again, 1500 B", "lost 0..1"]);
    // Twelve sent and one retransmitted, three SACKed and one lost: nine in flight. PRR sends one per delivered
    // segment.
    assert!(events.last().unwrap().starts_with("Recovery 0..12, 9 of 9 in flight"), "{events:?}");
    // The retransmission arrives, as does everything sent before it.
    let events = observed.sack(1_206, 12, &[]);
    assert_eq!(events[0], "ack 12 of 52 B");
    assert!(events.last().unwrap().starts_with("Open 12.."), "{events:?}");
    assert!(events.iter().all(|line| !line.contains("lost") && !line.contains("again")), "{events:?}");
}

#[test]
fn probe_and_time_out_are_told_with_what_they_send() {
    // As in `tail_loss_probe`: five segments, none of them acknowledged.
    let mut observed = ObservedSender::new(under("linux-6.1", Setup { bytes: Some(5 * MSS), ..window(10) }));
    observed.take_events();
    let events = observed.timer();
    assert_eq!(events[..2], ["expired LossProbe", "sent 4 again, 1500 B"], "the probe is the last one");
    assert!(events[2].starts_with("Open 0..5, 5 of 10 in flight, 100 ms, Retransmit at 1512"), "{events:?}");
    let events = observed.timer();
    assert_eq!(events[..2], ["expired Retransmit", "sent 0 again, 1500 B"]);
    // All segments are older than the RTT, the probe too.
    assert_eq!(events[2..7], ["lost 0..1", "lost 1..2", "lost 2..3", "lost 3..4", "lost 4..5"]);
    assert!(events.last().unwrap().starts_with("Loss 0..5, 1 of 1 in flight"), "{events:?}");
}

#[test]
fn the_timer_is_told_by_what_it_is_set_for() {
    assert_eq!(
        [TimerPurpose::Retransmit, TimerPurpose::EarlyRetransmit, TimerPurpose::LossProbe, TimerPurpose::Reordering]
            .map(|p| p as u8),
        [0, 1, 2, 3],
        "tables have these numbers and one more"
    );
}

#[test]
fn a_loss_that_was_none_is_taken_back() {
    // As in `undo`: the first segment was late, not lost, as its acknowledgment shows by an old timestamp.
    let mut observed = ObservedSender::new(under("linux-3.13", window(10)));
    (2..=4).for_each(|upto| drop(observed.sack(1_100 + upto, 0, &[(1, upto)])));
    observed.take_events();
    let mut header = Header { seq: FIRST_BYTE, ack: seq(4), flags: Flags::ACK, ts_val: 1, ..Header::default() };
    // The echoed timestamp is that of the original.
    header.ts_ecr = START_MS as u32;
    observed.sender.on_segment(ms(1_130), &header, &mut observed.watch);
    let events = observed.take_events();
    assert!(events.iter().any(|line| line == "nothing lost from 4"), "{events:?}");
}

#[test]
fn a_host_that_does_not_watch_is_told_nothing_and_sees_the_same() {
    let sent = |watches: bool| {
        let mut rig = SenderHarness::new(under("linux-6.1", window(10)));
        if watches {
            // The sender keeps its list of marks from now on.
            report_state(
                &mut rig.sender.transmission,
                &rig.sender.control,
                &rig.sender.recovery,
                &mut EventRecorder::default(),
            );
        }
        let answers: Vec<_> = (2..=6).map(|upto| rig.sack(0, &[(1, upto)])).collect();
        (answers, rig.timer(), rig.cwnd(), rig.state())
    };
    assert_eq!(sent(true), sent(false));
}
