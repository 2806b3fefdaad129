use super::*;
use crate::limits::Limits;
use crate::link::Link;
use crate::qdisc::Host;
use crate::registry;
use crate::rng::Rng;

type Queue = dyn Qdisc<u32> + Send;

const RATE: Rate = Rate::from_bps(10_000_000);
/// Transmission time of 1500 bytes.
const PACKET: u64 = 1_200_000;

fn queue(aqm: &str, limit: u32) -> Box<Queue> {
    let host = Host { link: Link::new(RATE, 1500), rng: Rng::stream(1, "queue", 0) };
    registry::parse(aqm).unwrap().build(Limits::packets(limit), host)
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn arrivals_at(times: &[u64]) -> Vec<Arrival> {
    times.iter().map(|&nanos| Arrival { at: at(nanos), meta: Meta::new(1500, 0) }).collect()
}

fn sent(nanos: u64) -> Fate {
    Fate::Sent { at: at(nanos), marked: false }
}

#[test]
fn at_one_instant_the_kernel_takes_the_arrival_first_and_the_simulator_the_departure() {
    // The third packet arrives when the first one departs: in the kernel it finds the second still queued.
    let arrivals = arrivals_at(&[0, 1, PACKET]);
    let refused = Fate::Dropped { at: at(PACKET), reason: DropReason::Limit, arriving: true };
    for (link, third) in [(ReplayLink::kernel(RATE, 0), refused), (ReplayLink::simulator(RATE), sent(2 * PACKET))] {
        let fates = Replay::new(&arrivals, queue("droptail", 1), link).run();
        assert_eq!(fates, [sent(0), sent(PACKET), third]);
    }
}

#[test]
fn a_packet_that_a_shaper_held_back_leaves_before_one_that_arrives() {
    // Measured on Linux 6.1 and 6.12: 1514 B take 1,211,200 ns, and the limit holds two packets.
    let words = "cake bandwidth 10mbit besteffort flowblind memlimit 3028B";
    let mut arrivals = arrivals_at(&[0, 1000, 2000, 1_211_200, 1_500_000]);
    arrivals.iter_mut().for_each(|arrival| arrival.meta.len = 1514);
    let host = Host { link: Link::new(RATE, 1514), rng: Rng::from_state(1) };
    let queue = registry::parse(words).unwrap().build(Limits::default(), host);
    let fates = Replay::new(&arrivals, queue, ReplayLink::kernel(Rate::from_bps(1_000_000_000), 0)).run();
    let dropped = Fate::Dropped { at: at(1_500_000), reason: DropReason::Limit, arriving: false };
    assert_eq!(fates, [sent(0), sent(1_211_200), dropped, sent(2_422_400), sent(3_633_600)]);
}

#[test]
fn a_second_packet_is_made_by_the_queue_and_not_offered() {
    let arrivals = arrivals_at(&[0, 0]);
    let fates = |aqm: &str, copies: &[bool]| {
        Replay::new(&arrivals, queue(aqm, 9), ReplayLink::kernel(RATE, 0)).with_copies(copies).run()
    };
    // The duplicate is queued first.
    assert_eq!(fates("netem duplicate 100%", &[false, true]), [sent(PACKET), sent(0)]);
    // An unrecorded duplicate, and a recorded one that is missing here, leave packets undecided.
    assert_eq!(fates("netem duplicate 100%", &[false, false]), [Fate::Waiting; 2]);
    assert_eq!(fates("netem", &[false, true]), [sent(0), Fate::Waiting]);
    // With room for one, the kernel accepts both.
    assert_eq!(fates("netem duplicate 100% limit 1", &[false, true]), [sent(PACKET), sent(0)]);
}

#[test]
fn a_bit_of_the_ecn_field_that_is_flipped_shows_on_the_wire() {
    let arrivals: Vec<_> =
        (0..5000).map(|i| Arrival { at: at(i * PACKET), meta: Meta::new(28, 0).with_ecn(Ecn::Ect0) }).collect();
    let copies = vec![false; arrivals.len()];
    let fates =
        Replay::new(&arrivals, queue("netem corrupt 100%", 9), ReplayLink::kernel(RATE, 0)).with_copies(&copies).run();
    let mut rng = Rng::stream(1, "queue", 0);
    // One number for the correlation; per packet one each for the event, the byte and the bit.
    rng.next_u32();
    let mut below = |n: u64| (rng.next_u32() as u64 * n) >> 32;
    let expected: Vec<_> = (0..5000)
        .map(|i| {
            let (_, byte, bit) = (below(1), below(28), below(8));
            Fate::Sent { at: at(i * PACKET), marked: (byte, bit) == (1, 0) }
        })
        .collect();
    assert_eq!(fates, expected);
    assert!(expected.iter().filter(|fate| matches!(fate, Fate::Sent { marked: true, .. })).count() > 10);
}

#[test]
fn overhead_and_parts_of_a_nanosecond_are_the_wires() {
    let arrivals = arrivals_at(&[0, 0, 0, 0]);
    let last = |link| Replay::new(&arrivals, queue("droptail", 9), link).run()[3];
    // 12,000 bits at 7 Mbit/s are 1,714,285 5/7 ns.
    let rate = Rate::from_bps(7_000_000);
    assert_eq!(last(ReplayLink::kernel(rate, 0)), sent(3 * 1_714_285));
    assert_eq!(last(ReplayLink::simulator(rate)), sent(3 * 1_714_285 + 2));
    assert_eq!(last(ReplayLink::kernel(RATE, 250)), sent(3 * 1_400_000));
}

#[test]
fn verdicts_say_who_was_told() {
    let dropped = |reason, arriving| Fate::Dropped { at: at(0), reason, arriving };
    const NONE: DropNotification = DropNotification { early: false, limit: false, queued: false };
    for (fate, notified, unnotified) in [
        (sent(1), FateKind::Pass, FateKind::Pass),
        (Fate::Sent { at: at(1), marked: true }, FateKind::Mark, FateKind::Mark),
        (dropped(DropReason::Limit, true), FateKind::DropOnArrival, FateKind::Drop),
        (dropped(DropReason::Early, true), FateKind::DropOnArrival, FateKind::Drop),
        (dropped(DropReason::Early, false), FateKind::Drop, FateKind::Drop),
        (dropped(DropReason::Late, false), FateKind::Drop, FateKind::Drop),
        (Fate::Waiting, FateKind::Waiting, FateKind::Waiting),
    ] {
        assert_eq!((fate.kind(DropNotification::ALL), fate.kind(NONE)), (notified, unnotified), "{fate:?}");
    }
}

fn replay<'a>(arrivals: &'a [Arrival], aqm: &str, limit: u32) -> Replay<'a, Queue> {
    Replay::new(arrivals, queue(aqm, limit), ReplayLink::simulator(RATE))
}

fn compare<'a>(arrivals: &'a [Arrival], a: &str, b: Reference<'a, Queue>) -> Comparison<'a, Queue> {
    let mut comparison = Comparison::new(arrivals, replay(arrivals, a, 100), b);
    while comparison.step() {}
    comparison
}

/// The recording that a recorder would write of these fates.
fn recording(arrivals: &[Arrival], fates: &[Fate]) -> Recording {
    let recorded = |fate: &Fate| match *fate {
        Fate::Sent { at, marked } => RecordedFate::Sent { at, marked },
        Fate::Dropped { at, reason, .. } => RecordedFate::DroppedAt { at, reason: Some(reason) },
        Fate::Waiting => RecordedFate::Waiting { until: Instant::NEVER },
    };
    Recording::new(arrivals, fates.iter().map(recorded).collect(), DropNotification::ALL, false)
}

#[test]
fn a_discipline_agrees_with_itself_and_with_its_recording() {
    let arrivals = arrivals(3, 3000, RATE);
    for aqm in ["droptail", "codel ecn", "pie@linux", "red@linux ecn", "choke", "fq_codel flows 4"] {
        let fates = replay(&arrivals, aqm, 100).run();
        assert!(fates.iter().any(|fate| matches!(fate, Fate::Dropped { .. })), "{aqm} drops nothing");
        for reference in [
            Reference::Replay(Box::new(replay(&arrivals, aqm, 100))),
            Reference::Recording(recording(&arrivals, &fates)),
        ] {
            let found = compare(&arrivals, aqm, reference);
            assert_eq!((found.first(), found.agreeing()), (None, 3000), "{aqm}");
        }
    }
}

#[test]
fn the_first_difference_is_the_earliest_step_that_differs() {
    let arrivals = arrivals(1, 5000, RATE);
    let found = compare(&arrivals, "codel", Reference::Replay(Box::new(replay(&arrivals, "codel target 6ms", 100))));
    let first = found.first().unwrap();
    let (a, b) = (found.fate_a(first.packet), found.fate_b(first.packet).unwrap());
    assert_ne!(a, b);
    assert!(found.agreeing() < found.same_kinds() && found.same_kinds() < 5000);
    // Up to that step both made the same decisions.
    for i in 0..arrivals.len() {
        let fates = [found.fate_a(i), found.fate_b(i).unwrap()];
        if fates.iter().any(|fate| fate.at().is_some_and(|at| at < first.at)) {
            assert_eq!(fates[0], fates[1], "packet {i}");
        }
    }
    // Both had the same queue and judged it differently.
    let of_b = first.b.as_ref().unwrap();
    assert_eq!(first.a.backlog, of_b.backlog);
    assert!(first.a.backlog.packets > 0);
    assert_eq!(first.a.variables.iter().map(|v| v.0).collect::<Vec<_>>()[0], "count");
}

#[test]
fn every_change_to_a_recording_is_found_where_it_was_made() {
    let arrivals = arrivals(3, 3000, RATE);
    let fates = replay(&arrivals, "codel ecn", 100).run();
    let one = |wanted: FateKind| fates.iter().position(|fate| fate.kind(DropNotification::ALL) == wanted).unwrap();
    let (passed, marked, refused) = (one(FateKind::Pass), one(FateKind::Mark), one(FateKind::DropOnArrival));
    let dropped = one(FateKind::Drop);
    let departure = |i: usize| fates[i].at().unwrap();
    let nanosecond = Duration::from_nanos(1);
    for (i, change) in [
        (passed, Fate::Sent { at: departure(passed) + nanosecond, marked: false }),
        (marked, Fate::Sent { at: departure(marked), marked: false }),
        (marked, Fate::Dropped { at: departure(marked), reason: DropReason::Late, arriving: false }),
        (refused, sent(departure(refused).as_nanos() + 1)),
        (dropped, Fate::Dropped { at: departure(dropped), reason: DropReason::HardLimit, arriving: false }),
        // Dropped before its time: no step of the queue decides on it then.
        (passed + 40, Fate::Dropped { at: arrivals[passed + 40].at, reason: DropReason::Limit, arriving: true }),
        (passed, Fate::Waiting),
    ] {
        let mut changed = fates.clone();
        changed[i] = change;
        let found = compare(&arrivals, "codel ecn", Reference::Recording(recording(&arrivals, &changed)));
        assert_eq!((found.first().unwrap().packet, found.agreeing()), (i, 2999), "{change:?}");
        let verdict_kept = fates[i].kind(DropNotification::ALL) == change.kind(DropNotification::ALL);
        assert_eq!(found.same_kinds(), 2999 + verdict_kept as usize, "{change:?}");
        assert_eq!(found.first().unwrap().b, None);
    }
}

#[test]
fn the_made_up_arrivals_are_as_documented() {
    let found = arrivals(1, 50_000, RATE);
    assert_eq!(found, arrivals(1, 50_000, RATE));
    assert_ne!(found, arrivals(2, 50_000, RATE));
    assert!(found.windows(2).all(|pair| pair[0].at <= pair[1].at));
    let share = |test: &dyn Fn(&Meta) -> bool| found.iter().filter(|a| test(&a.meta)).count() as f64 / 50_000.0;
    for (what, share, expected) in [
        ("full size", share(&|m| m.len == 1500), 0.7),
        ("flow 0", share(&|m| m.flow == 0), 5.0 / 12.0),
        ("ECT(0)", share(&|m| m.ecn == Ecn::Ect0), 4.0 / 12.0),
    ] {
        assert!((share - expected).abs() < 0.01, "{what}: {share}");
    }
    assert!(found.iter().all(|a| (64..=1500).contains(&a.meta.len) && a.meta.flow < 8));
    // The load is uniform from 0.4 to 1.6; over some hundred phases its mean is 1, weighted by time.
    let bytes: u64 = found.iter().map(|a| a.meta.len as u64).sum();
    let load = RATE.time_for(bytes).as_secs_f64() / found[49_999].at.as_secs_f64();
    assert!((load - 1.0).abs() < 0.1, "{load}");
}

/// A queue whose clock never goes back, as that of a shared library.
struct Forward {
    queue: Box<Queue>,
    last: Instant,
}

impl Forward {
    fn boxed(aqm: &str) -> Box<Queue> {
        Box::new(Self { queue: queue(aqm, 100), last: Instant::ZERO })
    }

    fn advance(&mut self, now: Instant) -> &mut Queue {
        assert!(now >= self.last, "{now:?} is before {:?}", self.last);
        self.last = now;
        &mut *self.queue
    }
}

impl Qdisc<u32> for Forward {
    fn enqueue(&mut self, now: Instant, meta: Meta, packet: u32, sink: &mut dyn Sink<u32>) -> EnqueueResult {
        self.advance(now).enqueue(now, meta, packet, sink)
    }
    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<u32>) -> DequeueResult<u32> {
        self.advance(now).dequeue(now, sink)
    }
    fn settle(&mut self, now: Instant) {
        self.advance(now).settle(now);
    }
    fn backlog(&self) -> crate::Backlog {
        self.queue.backlog()
    }
    fn stats(&self) -> &crate::qdisc::Stats {
        self.queue.stats()
    }
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.queue.observe(see);
    }
}

#[test]
fn the_clock_of_a_compared_queue_never_goes_back() {
    // Two arrivals at one instant, and one at the instant of a departure.
    let arrivals = arrivals_at(&[5, 5, PACKET + 5, PACKET + 6]);
    let replay = |aqm| Replay::new(&arrivals, Forward::boxed(aqm), ReplayLink::simulator(RATE));
    let mut comparison = Comparison::new(&arrivals, replay("pie"), Reference::Replay(Box::new(replay("pie"))));
    while comparison.step() {}
    assert_eq!(comparison.first(), None);
    State::before_arrival(replay("pie"), 1);
}

#[test]
fn a_change_of_the_queue_precedes_its_instant() {
    // Two packets wait; the queue changes when the first one would leave.
    let arrivals = arrivals_at(&[0, 0, 0]);
    let changed = |aqm, keeps| {
        let change = ReplayChange { at: at(PACKET), queue: queue(aqm, 9), keeps };
        let replay =
            Replay::new(&arrivals, queue("droptail", 9), ReplayLink::simulator(RATE)).with_changes(vec![change]);
        assert_eq!(replay.next_decision(), Some(Instant::ZERO));
        replay.run()
    };
    assert_eq!(changed("droptail", true), [sent(0), sent(PACKET), sent(2 * PACKET)]);
    let dropped = Fate::Dropped { at: at(PACKET), reason: DropReason::Replaced, arriving: false };
    assert_eq!(changed("codel", false), [sent(0), dropped, dropped]);
}

#[test]
fn delayed_packets_are_requested_at_a_change_before_a_later_arrival() {
    // A bucket of one packet: the second waits until 13 ms, the queue changes at 2 ms, the third packet comes at 4 ms.
    let arrivals = arrivals_at(&[0, 0, 4_000_000]);
    let change = ReplayChange { at: at(2_000_000), queue: Forward::boxed("droptail"), keeps: false };
    let shaped = queue("tbf rate 1mbit burst 1600B limit 30kB", 9);
    let replay = Replay::new(&arrivals, shaped, ReplayLink::simulator(RATE)).with_changes(vec![change]);
    let dropped = Fate::Dropped { at: at(2_000_000), reason: DropReason::Replaced, arriving: false };
    assert_eq!(replay.run(), [sent(0), dropped, sent(4_000_000)]);
}

#[test]
fn a_scheduled_link_ends_transmissions_as_told() {
    let arrivals = arrivals_at(&[0, 0, 0]);
    let link = ReplayLink::scheduled(|start, bytes| start + Duration::from_nanos(i64::from(bytes) * 1000));
    assert_eq!(Replay::new(&arrivals, queue("droptail", 9), link).run(), [0, 1_500_000, 3_000_000].map(sent));
}

#[test]
fn recorded_calls_give_the_verdicts_of_the_link_that_made_them() {
    let created = at(7_000_000_123);
    let arrivals = super::arrivals(3, 3000, RATE);
    for aqm in ["codel@act target 7ms", "pie ecn", "fq_codel quantum 300B"] {
        let mut replay = Replay::new(&arrivals, queue(aqm, 100), ReplayLink::simulator(RATE));
        let mut calls = Vec::new();
        while let Some(call) = replay.next_step() {
            replay.step();
            // A recording may have updates between the calls; here they are those that the call would make first.
            calls.extend([CallKind::Update, call.kind].map(|kind| Call { at: call.at, kind }));
        }
        let later = |time: Instant| created + (time - Instant::ZERO);
        let fates: Vec<Fate> = replay.fates().iter().map(|&fate| shifted(fate, later)).collect();
        assert!(
            fates.iter().any(|fate| matches!(fate, Fate::Dropped { .. } | Fate::Sent { marked: true, .. })),
            "{aqm}"
        );

        let recorded: Vec<Arrival> = arrivals.iter().map(|one| Arrival { at: later(one.at), ..*one }).collect();
        let calls: Vec<Call> = calls.iter().map(|call| Call { at: later(call.at), ..*call }).collect();
        let unused = ReplayLink::kernel(Rate::from_bps(1), 0);
        let calls = Calls { calls: &calls, origin: created };
        assert_eq!(Replay::new(&recorded, queue(aqm, 100), unused).with_calls(calls).run(), fates, "{aqm}");
    }
}

fn shifted(fate: Fate, later: impl Fn(Instant) -> Instant) -> Fate {
    match fate {
        Fate::Sent { at, marked } => Fate::Sent { at: later(at), marked },
        Fate::Dropped { at, reason, arriving } => Fate::Dropped { at: later(at), reason, arriving },
        waiting => waiting,
    }
}
