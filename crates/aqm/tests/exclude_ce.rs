//! With CE exclusion an algorithm measures only the effect of unmarked packets (N. Khademi et al. 2013, section 7).

use sojourn_aqm::registry::NamedConfig;
use sojourn_aqm::{
    Aqm, Backlog, Cx, DequeueResult, DropReason, Duration, Ecn, Fifo, FlowQueue, Host, Instant, Limits, Link, Meta,
    PoppedPacket, Qdisc, Rate, Rng, SingleQueue, Verdict, flow,
};
use std::sync::{Arc, Mutex};

/// Time of a packet of 1500 bytes at 10 Mbit/s.
const PACKET: Duration = Duration::from_micros(1200);

/// The algorithm's view at the last dequeue: backlogs, the sojourn time of the head and of the popped packet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Observation {
    backlog: Backlog,
    total_backlog: Backlog,
    head: Duration,
    popped: Duration,
    arriving: Backlog,
}

/// Records its view; marks the head if `marks`, and drops packet 1 if `drops`.
struct Spy {
    seen: Arc<Mutex<Observation>>,
    marks: bool,
    drops: bool,
}

impl Aqm for Spy {
    fn enqueue(&mut self, cx: &mut Cx, _: &Meta, _: &mut dyn Fifo) -> Verdict {
        self.seen.lock().unwrap().arriving = cx.backlog;
        Verdict::Accept
    }

    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        let mut seen = self.seen.lock().unwrap();
        (seen.backlog, seen.total_backlog) = (cx.backlog, cx.total_backlog);
        seen.head = cx.now - queue.meta(0)?.enqueued;
        if self.drops {
            queue.drop(1, DropReason::Late);
        }
        if self.marks {
            queue.mark(0, DropReason::Late);
        }
        let popped = queue.pop()?;
        seen.popped = cx.now - popped.meta.enqueued;
        Some(popped)
    }
}

type Queue = Box<dyn Qdisc<u32>>;

/// The queues, and the views of their algorithms.
fn queues(marks: bool, drops: bool) -> [(&'static str, Queue, Arc<Mutex<Observation>>); 2] {
    let host = || Host { link: Link::new(Rate::from_bps(10_000_000), 1500), rng: Rng::from_state(1) };
    let (one, each) = (Arc::<Mutex<Observation>>::default(), Arc::<Mutex<Observation>>::default());
    let spy = move |seen: &Arc<Mutex<Observation>>| Spy { seen: seen.clone(), marks, drops };
    let single = SingleQueue::new(spy(&one), Limits::packets(100), host());
    let config = flow::Config { hash: flow::Hash::Perfect, ..flow::Config::default() };
    let flows = FlowQueue::new(
        &config,
        {
            let each = each.clone();
            move || spy(&each)
        },
        Limits::packets(100),
        host(),
    );
    [("single", Box::new(single), one), ("by flow", Box::new(flows), each)]
}

fn at(n: i64) -> Instant {
    Instant::ZERO + PACKET * n
}

fn push(queue: &mut Queue, now: Instant, ecn: Ecn) {
    queue.enqueue(now, Meta::new(1500, 7).with_ecn(ecn), 0, &mut |_, _, _| {});
}

fn pop(queue: &mut Queue, now: Instant) -> Meta {
    match queue.dequeue(now, &mut |_, _, _| {}) {
        DequeueResult::Packet(meta, _) => meta,
        other => panic!("{other:?}"),
    }
}

fn packets(n: u32) -> Backlog {
    Backlog { packets: n, bytes: 1500 * n as u64 }
}

#[test]
fn a_packet_behind_marked_ones_has_waited_for_the_others_only() {
    for exclude in [false, true] {
        for (name, mut queue, seen) in queues(false, false) {
            if exclude {
                assert!(queue.exclude_ce());
            }
            // Of ten packets the second, third and sixth arrived with CE.
            let ce = [1, 2, 5];
            for i in 0..10 {
                push(&mut queue, at(0), if ce.contains(&i) { Ecn::Ce } else { Ecn::Ect0 });
            }
            for i in 0..10 {
                let meta = pop(&mut queue, at(i));
                assert_eq!(meta.enqueued, at(0), "the host sees the real time");
                let before = ce.iter().filter(|&&marked| exclude && marked < i).count() as i64;
                let after = ce.iter().filter(|&&marked| exclude && marked >= i).count() as u32;
                let seen = *seen.lock().unwrap();
                assert_eq!(seen.head, PACKET * (i - before), "{name} {exclude} {i}");
                assert_eq!(seen.popped, seen.head);
                assert_eq!(seen.backlog, packets(10 - i as u32 - after), "{name} {exclude} {i}");
                assert_eq!(seen.total_backlog, seen.backlog);
            }
        }
    }
}

#[test]
fn of_a_marked_packet_under_way_the_rest_counts() {
    for (name, mut queue, seen) in queues(false, false) {
        assert!(queue.exclude_ce());
        push(&mut queue, at(0), Ecn::Ce);
        pop(&mut queue, at(0));
        // Two thirds of it have left when the next packet arrives; after a long silence the link is no longer busy with
        // it.
        let later = at(0) + Duration::from_micros(800);
        push(&mut queue, later, Ecn::Ect0);
        assert_eq!(pop(&mut queue, at(1)).enqueued, later);
        assert_eq!(seen.lock().unwrap().head, Duration::ZERO, "{name}");
        push(&mut queue, at(50), Ecn::Ce);
        pop(&mut queue, at(50));
        assert!(matches!(queue.dequeue(at(51), &mut |_, _, _| {}), DequeueResult::Empty));
        push(&mut queue, at(60), Ecn::Ect0);
        pop(&mut queue, at(63));
        assert_eq!(seen.lock().unwrap().head, PACKET * 3, "{name}");
    }
}

#[test]
fn what_the_algorithm_marks_itself_no_longer_counts() {
    for (name, mut queue, seen) in queues(true, false) {
        assert!(queue.exclude_ce());
        (0..4).for_each(|_| push(&mut queue, at(0), Ecn::Ect0));
        for i in 0..4 {
            assert_eq!(pop(&mut queue, at(i)).ecn, Ecn::Ce);
            assert_eq!(seen.lock().unwrap().head, Duration::ZERO, "{name}: only marked packets left before");
            assert_eq!(seen.lock().unwrap().backlog, packets(4 - i as u32), "{name}: none is marked while it waits");
        }
    }
}

#[test]
fn drops_from_the_middle_keep_the_account() {
    for (name, mut queue, seen) in queues(false, true) {
        assert!(queue.exclude_ce());
        for i in 0..6 {
            push(&mut queue, at(0), if i % 2 == 0 { Ecn::Ect0 } else { Ecn::Ce });
        }
        assert_eq!(seen.lock().unwrap().arriving, packets(3), "{name}: of five, two carry CE");
        // Each dequeue drops the second packet, which carries CE.
        for i in 0..3 {
            assert_eq!(pop(&mut queue, at(i)).ecn, Ecn::Ect0);
            assert_eq!(seen.lock().unwrap().head, PACKET * i, "{name}: nothing marked has been sent");
            assert_eq!(seen.lock().unwrap().backlog, packets(3 - i as u32), "{name}");
        }
        assert_eq!(queue.backlog(), Backlog::default());
    }
}

#[test]
fn limits_hold_for_all_packets() {
    for (name, mut queue, _) in queues(false, false) {
        assert!(queue.exclude_ce());
        (0..150).for_each(|_| push(&mut queue, at(0), Ecn::Ce));
        assert!(queue.backlog().packets <= 100, "{name}");
        assert!(queue.stats().dropped_total().packets >= 50, "{name}");
    }
}

#[test]
fn every_discipline_takes_it_as_a_flag() {
    for (text, spelling) in [
        ("codel ecn exclude_ce", "codel ecn exclude_ce"),
        ("codel exclude_ce on ecn", "codel ecn exclude_ce"),
        ("red exclude_ce off", "red"),
        ("red noexclude_ce", "red"),
        ("fq(codel ecn) exclude_ce quantum 300B", "fq(codel ecn) quantum 300B exclude_ce"),
    ] {
        let named = NamedConfig::parse(text).unwrap();
        assert_eq!(named.spelling(), spelling);
        assert_eq!(NamedConfig::parse(spelling).unwrap(), named);
    }
    assert_eq!(NamedConfig::parse("red exclude_ce").unwrap().algorithm().name, "red");
    assert!(NamedConfig::parse("red exclude_ce 5ms").is_err());
}
