//! Sender and receiver connected by a path of 50 ms with scripted loss and delay.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Fate of a packet on the path.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Delivered,
    Lost,
    /// Delivered with this additional delay, in milliseconds.
    Late(u64),
}

/// A packet in transit: arrival, transmission order, destination, header.
type InFlight = (u64, u64, Host, Header);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Host {
    Sender,
    Receiver,
}

struct ConnectionPair<F> {
    sender: Sender,
    receiver: Receiver,
    now_ms: u64,
    in_flight: Vec<InFlight>,
    order: u64,
    /// Fate of the n-th transmission of a segment (both counted from 0), or of the n-th acknowledgment.
    fate: F,
    transmissions: BTreeMap<u64, u64>,
    acks: u64,
    /// Data segments in order of transmission.
    sent: Vec<u64>,
}

impl<F: FnMut(Host, u64, u64) -> Fate> ConnectionPair<F> {
    /// Runs a transfer of `setup.bytes` to its end.
    fn run(setup: Setup, delayed_ack: bool, fate: F) -> Self {
        let config = ReceiverConfig {
            stack: setup.stack(),
            mss: MSS as u32,
            sack: setup.sack,
            delayed_ack,
            ecn: false,
            receive_window: None,
        };
        let mut pair = Self {
            sender: SenderHarness::closed(setup).sender,
            receiver: Receiver::new(config),
            now_ms: 0,
            in_flight: Vec::new(),
            order: 0,
            fate,
            transmissions: BTreeMap::new(),
            acks: 0,
            sent: Vec::new(),
        };
        let mut sent = Vec::new();
        pair.sender.open(ms(0), setup.bytes, &mut Recorder(0, &mut sent));
        pair.launch(Host::Receiver, &sent);
        while pair.step() {}
        pair
    }

    /// Handles the next event; returns whether there was one.
    fn step(&mut self) -> bool {
        let timers = [self.sender.deadline(), self.receiver.deadline()].map(|at| at.as_nanos().div_ceil(1_000_000));
        let arrival = (0..self.in_flight.len()).min_by_key(|&i| (self.in_flight[i].0, self.in_flight[i].1));
        let arrival_ms = arrival.map_or(u64::MAX, |i| self.in_flight[i].0);
        let now_ms = arrival_ms.min(timers[0]).min(timers[1]);
        if now_ms >= LIMIT_MS {
            return false;
        }
        self.now_ms = now_ms;
        let (mut sent, now) = (Vec::new(), ms(now_ms));
        let mut wire = Recorder(now_ms, &mut sent);
        let host = if arrival_ms == now_ms {
            let (_, _, host, header) = self.in_flight.remove(arrival.expect("something arrives now"));
            match host {
                Host::Receiver => self.receiver.on_segment(now, &header, Ecn::NotEct, &mut wire),
                Host::Sender => self.sender.on_segment(now, &header, &mut wire),
            }
            host
        } else if timers[0] == now_ms {
            self.sender.on_timer(now, &mut wire);
            Host::Sender
        } else {
            self.receiver.on_timer(now, &mut wire);
            Host::Receiver
        };
        self.launch(if host == Host::Sender { Host::Receiver } else { Host::Sender }, &sent);
        true
    }

    fn launch(&mut self, to: Host, sent: &[SentSegment]) {
        for SentSegment { header, .. } in sent {
            let fate = if to == Host::Receiver && header.end_seq() > header.seq && header.seq > 0 {
                let nth = self.transmissions.entry(header.seq).or_insert(0);
                *nth += 1;
                self.sent.push((header.seq - FIRST_BYTE) / MSS);
                (self.fate)(to, (header.seq - FIRST_BYTE) / MSS, *nth - 1)
            } else if to == Host::Sender {
                self.acks += 1;
                (self.fate)(to, self.acks - 1, 0)
            } else {
                Fate::Delivered
            };
            self.order += 1;
            let late = match fate {
                Fate::Delivered => 0,
                Fate::Late(by) => by,
                Fate::Lost => continue,
            };
            self.in_flight.push((self.now_ms + RTT_MS / 2 + late, self.order, to, *header));
        }
    }

    /// Number of transmissions of a segment.
    fn times_sent(&self, segment: u64) -> usize {
        self.sent.iter().filter(|&&n| n == segment).count()
    }

    fn assert_complete(&self, segments: u64) {
        assert_eq!(self.receiver.delivered(), segments * MSS);
        assert_eq!((self.sender.in_flight(), self.sender.transmission.board.packets_out()), (0, 0));
    }
}

fn transfer(segments: u64, initial_window: u32) -> Setup {
    Setup { bytes: Some(segments * MSS), ..window(initial_window) }
}

#[test]
fn without_losses_every_segment_is_sent_once_in_order() {
    let pair = ConnectionPair::run(transfer(200, 3), true, |_, _, _| Fate::Delivered);
    pair.assert_complete(200);
    assert_eq!(pair.sent, Vec::from_iter(0..200));
    assert_eq!(pair.sender.stats().retransmissions, 0);
}

#[test]
fn several_losses_of_a_window_are_repaired_in_one_recovery() {
    let lost = [3, 7, 8, 12];
    let first_of = |_: Host, n: u64, nth: u64| if lost.contains(&n) && nth == 0 { Fate::Lost } else { Fate::Delivered };
    let fate = |to: Host, n, nth| if to == Host::Receiver { first_of(to, n, nth) } else { Fate::Delivered };
    let pair = ConnectionPair::run(transfer(60, 20), true, fate);
    pair.assert_complete(60);
    for n in 0..60 {
        assert_eq!(pair.times_sent(n), 1 + lost.contains(&n) as usize, "segment {n}");
    }
    let stats = pair.sender.stats();
    assert_eq!((stats.retransmissions, stats.timeouts), (4, 0));
    // The window was 23 when the loss of the fourth segment was detected; it was halved once.
    assert_eq!(pair.sender.window().ssthresh, 11);
}

#[test]
fn a_lost_retransmission_is_repaired_without_a_time_out() {
    let fate = |to, n, nth| if to == Host::Receiver && n == 3 && nth < 2 { Fate::Lost } else { Fate::Delivered };
    let pair = ConnectionPair::run(transfer(100, 20), false, fate);
    pair.assert_complete(100);
    assert_eq!((pair.times_sent(3), pair.sender.stats().timeouts), (3, 0));
}

#[test]
fn without_sack_newreno_repairs_a_window_without_a_time_out_and_reno_needs_one() {
    for (cc, timeouts) in [("newreno", 0..1), ("reno", 1..3)] {
        let fate = |to, n, nth| {
            if to == Host::Receiver && [3, 7, 8].contains(&n) && nth == 0 { Fate::Lost } else { Fate::Delivered }
        };
        let pair = ConnectionPair::run(Setup { cc, sack: false, ..transfer(60, 12) }, false, fate);
        pair.assert_complete(60);
        let stats = pair.sender.stats();
        assert!(timeouts.contains(&stats.timeouts), "{cc}: {stats:?}");
    }
}

#[test]
fn the_loss_of_the_last_segment_takes_a_time_out() {
    let fate = |to, n, nth| if to == Host::Receiver && n == 9 && nth == 0 { Fate::Lost } else { Fate::Delivered };
    let pair = ConnectionPair::run(transfer(10, 10), true, fate);
    pair.assert_complete(10);
    assert_eq!((pair.times_sent(9), pair.sender.stats().timeouts), (2, 1));
}

#[test]
fn a_delay_of_a_whole_flight_costs_one_retransmission() {
    // The path stalls for 400 ms before the second flight: a time-out, which F-RTO detects as spurious.
    let fate = |to, n, nth| match (to, n) {
        (Host::Receiver, 10) if nth == 1 => Fate::Late(150),
        (Host::Receiver, 10..30) => Fate::Late(400),
        _ => Fate::Delivered,
    };
    let pair = ConnectionPair::run(transfer(100, 10), false, fate);
    pair.assert_complete(100);
    let stats = pair.sender.stats();
    assert_eq!((stats.timeouts, stats.retransmissions), (1, 1));
}

#[test]
fn a_late_segment_is_retransmitted_once_and_the_window_restored() {
    // Segment 5 arrives 30 ms after the others of its flight; its retransmission causes a D-SACK.
    let fate = |to, n, _| if to == Host::Receiver && n == 5 { Fate::Late(30) } else { Fate::Delivered };
    let pair = ConnectionPair::run(transfer(100, 20), false, fate);
    pair.assert_complete(100);
    let stats = pair.sender.stats();
    assert_eq!((stats.timeouts, stats.retransmissions), (0, 1));
    assert_eq!(pair.sender.window().ssthresh, cc::Window::INFINITE_SSTHRESH);
}

#[test]
fn lost_acknowledgments_do_no_harm() {
    let fate = |to, n, _| if to == Host::Sender && n > 0 && n % 3 != 0 { Fate::Lost } else { Fate::Delivered };
    let pair = ConnectionPair::run(transfer(200, 4), true, fate);
    pair.assert_complete(200);
    assert!(pair.sender.stats().retransmissions <= 1, "{:?}", pair.sender.stats());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_lost_or_late_all_is_delivered(
        cc in prop::sample::select(vec!["reno", "newreno", "cubic", "cubic@rfc9438"]),
        stack in prop::sample::select(stack::NAMES.to_vec()),
        (sack, delayed_ack) in any::<(bool, bool)>(),
        initial_window in 1u32..40,
        receive_window in prop::option::of(1u64..30),
        ways in prop::collection::vec(
            prop_oneof![4 => Just(Fate::Delivered), 1 => Just(Fate::Lost), 1 => (1u64..600).prop_map(Fate::Late)],
            0..300,
        ),
        segments in 1u64..150,
    ) {
        let receive_window = receive_window.map(|segments| segments * MSS);
        let stack = Stack::find(stack.0).expect("its name is from the registry");
        let setup = Setup { stack: *stack, cc, sack, receive_window, ..transfer(segments, initial_window) };
        let mut ways = ways.into_iter();
        let pair = ConnectionPair::run(setup, delayed_ack, |_, _, _| ways.next().unwrap_or(Fate::Delivered));
        pair.assert_complete(segments);
        let stats = pair.sender.stats();
        prop_assert_eq!(stats.sent, pair.sent.len() as u64);
        prop_assert_eq!(stats.sent - stats.retransmissions, segments, "each segment is new once; the last has the FIN");
    }
}

/// Longer than any script: a time-out is at most two minutes.
const LIMIT_MS: u64 = 3_600_000;
