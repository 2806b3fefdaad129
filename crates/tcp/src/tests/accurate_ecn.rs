//! Accurate ECN between two endpoints: what the receiver counts is what the control is told.

use super::*;
use crate::cc::{Ack, AnyCc, CongestionControl, Flight, Needs, Window};
use sojourn_aqm::Duration;
use std::sync::{Arc, Mutex};

/// A window of a fixed size that adds up the marks that it is told of, and counts its reductions.
#[derive(Clone, Debug)]
struct Adder {
    needs: Needs,
    marks: Arc<Mutex<(u64, u64)>>,
}

impl CongestionControl for Adder {
    fn needs(&self) -> Needs {
        self.needs
    }
    fn increase(&mut self, _: &mut Window, _: u32, _: impl Fn() -> Ack) {}
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.marks.lock().expect("one thread").1 += 1;
        window.cwnd
    }
    fn min_cwnd(&self, window: &Window) -> u32 {
        window.cwnd
    }
    fn delivered(&mut self, flight: &mut Flight, _: u32, ce: u32) {
        let mut marks = self.marks.lock().expect("one thread");
        marks.0 += ce as u64;
        assert_eq!(marks.0, flight.delivered_ce);
    }
}

/// What a transfer showed: marks told to the control and its reductions, marks counted, and all segments.
struct Shown {
    told: u64,
    reductions: u64,
    counted: Marked,
    segments: Vec<(Header, Ecn)>,
}

/// A transfer of 403 segments in windows of nine; `path` says what becomes of the n-th segment with data, and whether the
/// n-th acknowledgment is lost.
fn transfer(stack: Stack, needs: Needs, path: fn(u64) -> Ecn, lost: fn(u64) -> bool) -> Shown {
    let setup = Setup { stack, ecn: true, bytes: Some(403 * MSS), ..window(9) };
    let marks = Arc::default();
    let mut sender = Rig::closed_with(setup, AnyCc::own(Adder { needs, marks: Arc::clone(&marks) })).sender;
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
    let mut answered = Vec::new();
    sender.open(now, setup.bytes, &mut |h: &Header, ecn: Ecn| send(&mut data, now, h, ecn));
    while !sender.is_finished() {
        let arrivals = [data.first().map(|d| d.0), acks.first().map(|a| a.0)].map(|at| at.unwrap_or(Instant::NEVER));
        now = arrivals[0].min(arrivals[1]).min(sender.deadline()).min(receiver.deadline());
        assert!(now < ms(600_000), "it ends");
        let mut reply = |header: &Header, ecn: Ecn| {
            replies += 1;
            answered.push((*header, ecn));
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
    segments.extend(answered);
    let (told, reductions) = *marks.lock().expect("one thread");
    Shown { told, reductions, counted: receiver.marked(), segments }
}

fn accurate() -> Stack {
    Stack { accurate_ecn: true, ..*Stack::find("linux-6.1").expect("a stack") }
}

fn counting() -> Needs {
    Needs { samples: true, ..Needs::default() }
}

/// Marks in an irregular order, some in a row.
fn often(n: u64) -> Ecn {
    if n * n % 11 < 4 { Ecn::Ce } else { Ecn::Ect0 }
}

#[test]
fn the_control_is_told_of_every_mark() {
    let shown = transfer(accurate(), counting(), often, |_| false);
    let expected = (1..=403).filter(|&n| often(n) == Ecn::Ce).count() as u64;
    assert_eq!((shown.told, shown.counted.packets, shown.counted.bytes), (expected, expected, expected * MSS));
    assert!(shown.reductions > 20, "a report is an echo: {}", shown.reductions);
    let data = shown.segments.iter().filter(|(header, _)| header.len > 0);
    assert!(data.clone().all(|(header, _)| header.flags.ace() == 5), "the sender's own counter, and no CWR");
}

#[test]
fn lost_acknowledgments_lose_no_mark() {
    let shown = transfer(accurate(), counting(), often, |n| n > 4 && n % 5 == 0);
    assert_eq!(shown.told, shown.counted.packets);
}

#[test]
fn a_receiver_that_does_not_know_it_echoes_and_an_echo_counts_for_all_that_was_delivered() {
    let needs = Needs { accurate_ecn: true, ..counting() };
    let shown = transfer(*Stack::find("linux-6.1").expect("a stack"), needs, often, |_| false);
    assert_eq!(shown.segments[0].0.flags.ace(), 7, "it was asked for");
    let expected = (1..=403).filter(|&n| often(n) == Ecn::Ce).count() as u64;
    assert!(shown.told > expected && shown.counted == Marked::default(), "{} of {expected}", shown.told);
}

#[test]
fn ect_1_on_everything_where_stack_and_control_say_so() {
    let needs = Needs { accurate_ecn: true, ect1: true, ect_on_control: true, ..counting() };
    let everywhere = Stack { ect1: true, ect_on_syn: true, ect_on_acks: true, ..accurate() };
    let shown = transfer(everywhere, needs, often, |n| n == 40);
    assert!(shown.segments.iter().all(|(_, ecn)| *ecn == Ecn::Ect1));
    let shown = transfer(accurate(), counting(), |_| Ecn::Ect0, |_| false);
    let capable = |&(header, ecn): &(Header, Ecn)| (ecn == Ecn::Ect0) == (header.len > 0) && ecn != Ecn::Ect1;
    assert!(shown.segments.iter().all(capable), "else only data is, as ECT(0)");
    assert_eq!((shown.told, shown.reductions), (0, 0));
}
