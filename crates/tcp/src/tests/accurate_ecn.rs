//! Accurate ECN between two endpoints: the marks that the receiver counts are the ones that the control sees.

use super::*;
use crate::cc::{Ack, AnyCc, CongestionControl, DeliveryControl, Flight, Needs, Window, WindowControl};
use sojourn_aqm::Duration;
use std::sync::{Arc, Mutex};

/// Control with a fixed window that sums up the reported marks and counts its reductions.
#[derive(Clone, Debug)]
struct MarkCounter {
    needs: Needs,
    marks: Arc<Mutex<(u64, u64)>>,
}

impl CongestionControl for MarkCounter {
    fn needs(&self) -> Needs {
        self.needs
    }
    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }
    fn deliveries(&mut self) -> Option<&mut dyn DeliveryControl> {
        Some(self)
    }
}

impl WindowControl for MarkCounter {
    fn grow(&mut self, _: &mut Window, _: &Ack, _: bool) {}
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.marks.lock().expect("one thread").1 += 1;
        window.cwnd
    }
    fn min_cwnd(&mut self, window: &Window) -> u32 {
        window.cwnd
    }
}

impl DeliveryControl for MarkCounter {
    fn on_delivered(&mut self, flight: &mut Flight, _: u32, ce: u32) {
        let mut marks = self.marks.lock().expect("one thread");
        marks.0 += ce as u64;
        assert_eq!(marks.0, flight.delivered_ce);
    }
}

/// Result of a transfer: marks reported to the control, its reductions, the receiver's counters, and all segments.
struct TransferResult {
    notified_marks: u64,
    reductions: u64,
    counted: CeCounters,
    segments: Vec<(Header, Ecn)>,
}

/// A transfer of 403 segments with a window of nine; `path` returns the codepoint on arrival of the n-th data segment,
/// and `lost` whether the n-th acknowledgment is lost.
fn transfer(stack: Stack, needs: Needs, path: fn(u64) -> Ecn, lost: fn(u64) -> bool) -> TransferResult {
    let setup = Setup { stack, ecn: true, bytes: Some(403 * MSS), ..window(9) };
    let marks = Arc::default();
    let mut sender =
        SenderHarness::closed_with(setup, AnyCc::custom(MarkCounter { needs, marks: Arc::clone(&marks) })).sender;
    let (stack, mss) = (setup.stack(), MSS as u32);
    let config = ReceiverConfig { stack, mss, sack: true, delayed_ack: true, ecn: true, receive_window: None };
    let mut receiver = Receiver::new(config);
    let (mut now, delay) = (ms(0), Duration::from_micros(7_300));
    let mut data: Vec<(Instant, Header, Ecn)> = Vec::new();
    let mut acks: Vec<(Instant, Header)> = Vec::new();
    let (mut sent, mut replies, mut segments) = (0, 0, Vec::new());
    let mut send = |data: &mut Vec<_>, at: Instant, header: &Header, ecn: Ecn| {
        segments.push((*header, ecn));
        sent += (header.len > 0) as u64;
        let marked = header.len > 0 && ecn.is_ect() && path(sent) == Ecn::Ce;
        data.push((at + delay, *header, if marked { Ecn::Ce } else { ecn }));
    };
    let mut ack_segments = Vec::new();
    sender.open(now, setup.bytes, &mut |h: &Header, ecn: Ecn| send(&mut data, now, h, ecn));
    while !sender.is_finished() {
        let arrivals = [data.first().map(|d| d.0), acks.first().map(|a| a.0)].map(|at| at.unwrap_or(Instant::NEVER));
        now = arrivals[0].min(arrivals[1]).min(sender.deadline()).min(receiver.deadline());
        assert!(now < ms(600_000), "it ends");
        let mut reply = |header: &Header, ecn: Ecn| {
            replies += 1;
            ack_segments.push((*header, ecn));
            if !lost(replies) {
                acks.push((now + delay, *header));
            }
        };
        if arrivals[0] == now {
            let (_, header, ecn) = data.remove(0);
            receiver.on_segment(now, &header, ecn, &mut reply);
        } else if receiver.deadline() == now {
            receiver.on_timer(now, &mut reply);
        } else if arrivals[1] == now {
            let (_, header) = acks.remove(0);
            sender.on_segment(now, &header, &mut |h: &Header, ecn: Ecn| send(&mut data, now, h, ecn));
        } else {
            sender.on_timer(now, &mut |h: &Header, ecn: Ecn| send(&mut data, now, h, ecn));
        }
    }
    segments.extend(ack_segments);
    let (notified_marks, reductions) = *marks.lock().expect("one thread");
    TransferResult { notified_marks, reductions, counted: receiver.marked(), segments }
}

fn accurate_ecn_stack() -> Stack {
    Stack { accurate_ecn: true, ..*Stack::find("linux-6.1").expect("a stack") }
}

fn counting_needs() -> Needs {
    Needs { samples: true, ..Needs::default() }
}

/// Marks in an irregular order, some of them consecutive.
fn marked_often(n: u64) -> Ecn {
    if n * n % 11 < 4 { Ecn::Ce } else { Ecn::Ect0 }
}

#[test]
fn the_control_is_told_of_every_mark() {
    let result = transfer(accurate_ecn_stack(), counting_needs(), marked_often, |_| false);
    let expected = (1..=403).filter(|&n| marked_often(n) == Ecn::Ce).count() as u64;
    assert_eq!(
        (result.notified_marks, result.counted.packets, result.counted.bytes),
        (expected, expected, expected * MSS)
    );
    assert!(result.reductions > 20, "a report is an echo: {}", result.reductions);
    let data = result.segments.iter().filter(|(header, _)| header.len > 0);
    assert!(data.clone().all(|(header, _)| header.flags.ace() == 5), "the sender's own counter, and no CWR");
}

#[test]
fn lost_acknowledgments_lose_no_mark() {
    let result = transfer(accurate_ecn_stack(), counting_needs(), marked_often, |n| n > 4 && n % 5 == 0);
    assert_eq!(result.notified_marks, result.counted.packets);
}

#[test]
fn a_receiver_that_does_not_know_it_echoes_and_an_echo_counts_for_all_that_was_delivered() {
    let needs = Needs { accurate_ecn: true, ..counting_needs() };
    let result = transfer(*Stack::find("linux-6.1").expect("a stack"), needs, marked_often, |_| false);
    assert_eq!(result.segments[0].0.flags.ace(), 7, "it was asked for");
    let expected = (1..=403).filter(|&n| marked_often(n) == Ecn::Ce).count() as u64;
    assert!(
        result.notified_marks > expected && result.counted == CeCounters::default(),
        "{} of {expected}",
        result.notified_marks
    );
}

#[test]
fn ect_1_on_everything_where_stack_and_control_say_so() {
    let needs = Needs { accurate_ecn: true, ect1: true, ect_on_control: true, ..counting_needs() };
    let everywhere = Stack { ect1: true, ect_on_syn: true, ect_on_acks: true, ..accurate_ecn_stack() };
    let result = transfer(everywhere, needs, marked_often, |n| n == 40);
    assert!(result.segments.iter().all(|(_, ecn)| *ecn == Ecn::Ect1));
    let result = transfer(accurate_ecn_stack(), counting_needs(), |_| Ecn::Ect0, |_| false);
    let capable = |&(header, ecn): &(Header, Ecn)| (ecn == Ecn::Ect0) == (header.len > 0) && ecn != Ecn::Ect1;
    assert!(result.segments.iter().all(capable), "else only data is, as ECT(0)");
    assert_eq!((result.notified_marks, result.reductions), (0, 0));
}

/// Linux 7.3 with `tcp_ecn` 0, 1 and 3 at either end (`python -m sojourn.kernel.accurate_ecn`): ACE bits of the SYN,
/// the SYN-ACK and data, and the codepoint of data.
#[test]
fn the_handshake_is_that_of_linux_7_3() {
    let ends =
        [(*Stack::find("linux-6.1").expect("a stack"), false), (*Stack::find("linux-6.1").expect("a stack"), true)];
    let ends = [ends[0], ends[1], (accurate_ecn_stack(), true)];
    let (none, classic) = ([0b011, 0b000, 0b000], [0b011, 0b001, 0b000]);
    let kernel = [
        [([0; 3], Ecn::NotEct); 3],
        [(none, Ecn::NotEct), (classic, Ecn::Ect0), (classic, Ecn::Ect0)],
        [([0b111, 0b000, 0b000], Ecn::NotEct), ([0b111, 0b001, 0b000], Ecn::Ect0), ([0b111, 0b010, 0b101], Ecn::Ect0)],
    ];
    let ours = ends.map(|(client, client_ecn)| {
        ends.map(|(server, ecn)| {
            let mut sender = crate::ecn::EcnSender::new(&client, client_ecn, &Needs::default());
            let stack: &'static Stack = Box::leak(Box::new(server));
            let config = ReceiverConfig { stack, mss: 1448, sack: true, delayed_ack: true, ecn, receive_window: None };
            let (request, codepoint) = sender.of_syn();
            let (mut syn_ack, syn) =
                (Flags::default(), Header { flags: Flags::SYN.with(request), ..Header::default() });
            Receiver::new(config)
                .on_segment(ms(1), &syn, codepoint, &mut |header: &Header, _: Ecn| syn_ack = header.flags);
            sender.on_syn_ack(syn_ack);
            let (flags, of_data) = sender.of_new();
            ([request, syn_ack, flags].map(Flags::ace), of_data)
        })
    });
    assert_eq!(ours, kernel);
}

/// Acknowledgments of the receiver of Linux 7.3 under CoDel with marking, with their ACE bits (`python -m
/// sojourn.kernel.accurate_ecn --vector`).
const KERNEL: &str = include_str!("../../tests/vectors/accurate_ecn.txt");

/// The kernel's delayed acknowledgments depend on RTTs that the vector does not contain, so only those that both
/// receivers send at the same instant are compared, by their bits. Both report a change of the codepoint at once.
#[test]
fn a_receiver_counts_and_tells_as_linux_7_3() {
    let stack: &'static Stack = Box::leak(Box::new(accurate_ecn_stack()));
    let config = ReceiverConfig { stack, mss: 1448, sack: true, delayed_ack: true, ecn: true, receive_window: None };
    let mut receiver = Receiver::new(config);
    let (mut ours, mut from_kernel, mut changes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut seq, mut last) = (FIRST_BYTE, Ecn::Ect0);
    let syn = Header { flags: Flags::SYN.with_ace(7), ..Header::default() };
    receiver.on_segment(ms(10), &syn, Ecn::NotEct, &mut |_: &Header, _: Ecn| ());
    for line in KERNEL.lines() {
        let mut words = line.split(' ');
        let (kind, mut numbers) = (words.next(), words.map(|word| word.parse::<u64>().expect("a number")));
        let at = Instant::from_nanos(numbers.next().expect("an instant"));
        if kind == Some("ack") {
            from_kernel.push((at, numbers.next().expect("bits")));
            continue;
        }
        let mut wire = |at: Instant, header: &Header| ours.push((at, header.flags.ace() as u64));
        while receiver.deadline() < at {
            let due = receiver.deadline();
            receiver.on_timer(due, &mut |header: &Header, _: Ecn| wire(due, header));
        }
        let ecn = Ecn::ALL[numbers.next().expect("a codepoint") as usize];
        let len = numbers.next().expect("bytes") as u16;
        let ts_ecr = stack.clock().ticks(at - Duration::from_millis(20)) as u32;
        let header = Header { seq, len, flags: Flags::ACK.with_ace(5), ts_ecr, ..Header::default() };
        seq += len as u64;
        if std::mem::replace(&mut last, ecn) != ecn {
            changes.push(at);
        }
        receiver.on_segment(at, &header, ecn, &mut |header: &Header, _: Ecn| wire(at, header));
    }
    let bits = |acks: &[(Instant, u64)], at: Instant| acks.iter().find(|ack| ack.0 == at).map(|ack| ack.1);
    let both: Vec<_> = from_kernel.iter().filter_map(|&(at, of)| Some((of, bits(&ours, at)?))).collect();
    assert!(both.len() > 200 && both.iter().all(|(from_kernel, ours)| from_kernel == ours), "{both:?}");
    assert!(
        changes.len() > 30 && changes.iter().all(|&at| bits(&ours, at).is_some() && bits(&from_kernel, at).is_some())
    );
}
