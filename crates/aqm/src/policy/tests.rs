use super::*;
use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc};
use crate::registry;
use crate::rng::Rng;
use crate::single::SingleQueue;
use crate::testing::LINK;
use crate::{Backlog, DropReason, Ecn};
use alloc::string::ToString as _;
use alloc::vec;

/// A point in milliseconds from the origin.
fn ms(millis: f64) -> Instant {
    Instant::from_nanos(libm::round(millis * 1e6) as u64)
}

fn sight(entries: &[Feature]) -> ObservationSpec {
    ObservationSpec { entries: entries.to_vec(), stack: 1, action: ActionKind::Probability }
}

fn queue(policy: Policy) -> SingleQueue<Policy, u32> {
    let limits = Limits::parse("4 packets").unwrap();
    SingleQueue::new(policy, limits, Host { link: LINK, rng: Rng::stream(1, "queue", 0) })
}

fn push(queue: &mut SingleQueue<Policy, u32>, at: f64, ecn: Ecn) -> EnqueueResult {
    queue.enqueue(ms(at), Meta::new(1000, 7).with_ecn(ecn), 0, &mut |_, _, _| {})
}

fn pop(queue: &mut SingleQueue<Policy, u32>, at: f64) -> bool {
    matches!(queue.dequeue(ms(at), &mut |_, _, _| {}), DequeueResult::Packet(..))
}

#[test]
fn a_step_is_what_happened_in_it() {
    let state = Arc::new(SharedState::new(true));
    let mut queue = queue(Policy::controlled(Arc::clone(&state), ActionKind::Probability, None));
    let all: Vec<Feature> = Feature::ALL.iter().map(|&(_, entry, _)| entry).collect();
    let mut observer = Observer::new(sight(&all));
    let mut seen = vec![0.0; all.len()];
    let mut look = |at: f64| {
        let step = *observer.sample(ms(at), &state);
        observer.write(&mut seen);
        let value = |name: &str| f64::from(seen[all.iter().position(|entry| entry.name() == name).unwrap()]);
        (step, ["sojourn", "sojourn_now", "drops", "idle", "flows", "capacity"].map(value))
    };
    // No event, and no time has passed.
    assert_eq!(look(0.0), (StepStats::default(), [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]));

    // Six packets arrive at 4 ms, room for four; one departs at 6 ms and one at 8 ms.
    let fates: Vec<bool> = (0..6).map(|_| push(&mut queue, 4.0, Ecn::NotEct) == EnqueueResult::Queued).collect();
    assert_eq!(fates, [true, true, true, true, false, false]);
    assert!(pop(&mut queue, 6.0) && pop(&mut queue, 8.0));
    let (step, values) = look(10.0);
    let expected = StepStats {
        span_s: 0.01,
        arrived: 6,
        arrived_bytes: 6000,
        departed: 2,
        departed_bytes: 2000,
        sojourn_s: 0.006,
        longest_s: 0.004,
        dropped: 2,
        overflowed: 2,
        empty_s: 0.004,
        waiting: 2,
        waiting_bytes: 2000,
        head_s: 0.006,
        ..StepStats::default()
    };
    assert_eq!(step, expected);
    let close = |found: [f64; 6], expected: [f64; 6]| {
        assert!(found.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-6), "{found:?}, not {expected:?}");
    };
    // 1000 B in 2 ms are 4 Mbit/s.
    let capacity = 4e6 / LINK.rate.as_bps() as f64;
    close(values, [0.003 / 0.02, 0.006 / 0.02, 2.0 / 6.0, 0.4, 1.0, capacity]);

    // An empty step keeps the last measurement; a minute later the flow has expired.
    assert!(pop(&mut queue, 12.0) && pop(&mut queue, 14.0));
    look(20.0);
    let (step, values) = look(60_000.0);
    assert_eq!((step.departed, step.longest_s, step.empty_s), (0, 0.0, 59.98));
    // 1000 B in the 4 ms since 8 ms, and 1000 B in 2 ms.
    close(values, [0.009 / 0.02, 0.0, 0.0, 1.0, 0.0, 2.0 / 3.0 * capacity]);
}

#[test]
fn the_probability_marks_what_understands_it_and_drops_the_rest() {
    for (p, ecn, expected) in [
        (0.0, Ecn::NotEct, EnqueueResult::Queued),
        (0.0, Ecn::Ect0, EnqueueResult::Queued),
        (1.0, Ecn::Ect0, EnqueueResult::Marked),
        (1.0, Ecn::NotEct, EnqueueResult::Dropped(DropReason::Early)),
    ] {
        let state = Arc::new(SharedState::new(false));
        let mut queue = queue(Policy::controlled(Arc::clone(&state), ActionKind::Probability, None));
        ActionKind::Probability.act(p, &state);
        assert_eq!(push(&mut queue, 1.0, ecn), expected, "{p} {ecn:?}");
        let counts = state.counts();
        let dropped = u64::from(expected == EnqueueResult::Dropped(DropReason::Early));
        assert_eq!((counts.dropped, counts.waiting), (dropped, 1 - dropped));
        assert_eq!(counts.marked, u64::from(expected == EnqueueResult::Marked));
    }
    // At the given probability, from the queue's own stream.
    let state = Arc::new(SharedState::new(false));
    let mut queue = queue(Policy::controlled(Arc::clone(&state), ActionKind::Probability, None));
    ActionKind::Probability.act(0.3, &state);
    let dropped = (0..10_000).filter(|&i| {
        let fate = push(&mut queue, f64::from(i), Ecn::NotEct);
        pop(&mut queue, f64::from(i));
        fate != EnqueueResult::Queued
    });
    assert!((2_850..3_150).contains(&dropped.count()), "within 3.3 deviations of 3000");
}

#[test]
fn actions_end_at_their_ranges() {
    let state = SharedState::new(false);
    for (law, action, p) in [
        (ActionKind::Probability, 0.25, 0.25),
        (ActionKind::Probability, -1.0, 0.0),
        (ActionKind::Probability, 7.0, 1.0),
        (ActionKind::Probability, f64::NAN, 0.0),
        (ActionKind::ProbabilityLog, -14.0, 0.0),
        (ActionKind::ProbabilityLog, -3.0, 0.125),
        (ActionKind::ProbabilityLog, 9.0, 1.0),
        (ActionKind::ProbabilityLog, f64::NAN, 0.0),
        (ActionKind::Delta, 4.0, 0.1),
        (ActionKind::Delta, 3.0, 0.11),
        (ActionKind::Delta, 2.0, 0.11),
        (ActionKind::Delta, 1.0, 0.1),
        (ActionKind::Delta, 0.0, 0.0),
        (ActionKind::Delta, 0.0, 0.0),
    ] {
        law.act(action, &state);
        assert!((state.probability() - p).abs() < 1e-12, "{law:?} {action}: {}", state.probability());
    }
    for (action, target_ms) in [(0.0, 1.0), (-9.0, 0.5), (99.0, 100.0), (f64::NAN, 0.5), (libm::log(5.0), 5.0)] {
        ActionKind::Target.act(action, &state);
        assert!((state.target().as_millis_f64() - target_ms).abs() < 1e-5, "{action}: {}", state.target());
    }
}

#[test]
fn another_manager_rules_until_the_policy_does() {
    let state = Arc::new(SharedState::new(false));
    let start = registry::parse("drophead").unwrap().manager().unwrap();
    let mut queue = queue(Policy::controlled(Arc::clone(&state), ActionKind::Probability, Some((start, ms(10.0)))));
    ActionKind::Probability.act(1.0, &state);
    for at in [1.0, 2.0, 3.0, 4.0, 5.0, 10.0] {
        assert_eq!(push(&mut queue, at, Ecn::NotEct), EnqueueResult::Queued, "it makes room at the head");
    }
    let counts = state.counts();
    assert_eq!((counts.arrived, counts.dropped, counts.waiting, counts.head), (6, 2, 4, 3_000_000));
    assert_eq!(push(&mut queue, 10.1, Ecn::NotEct), EnqueueResult::Dropped(DropReason::Limit), "the queue is full");
    assert!(pop(&mut queue, 10.2));
    assert_eq!(push(&mut queue, 10.3, Ecn::NotEct), EnqueueResult::Dropped(DropReason::Early));
    assert_eq!(queue.backlog(), Backlog { packets: 3, bytes: 3000 });
}

#[test]
fn a_target_below_is_steered_while_codel_goes_on() {
    let state = Arc::new(SharedState::new(false));
    let mut queue = queue(Policy::controlled(Arc::clone(&state), ActionKind::Target, None));
    ActionKind::Target.act(libm::log(100.0), &state);
    // Four packets are queued, and one departs every 20 ms: each has a delay of 80 ms.
    (0..3).for_each(|_| assert_eq!(push(&mut queue, 0.0, Ecn::NotEct), EnqueueResult::Queued));
    let mut rounds = |from: u32| {
        let dropped = state.counts().dropped;
        for i in from..from + 50 {
            push(&mut queue, f64::from(20 * i), Ecn::NotEct);
            pop(&mut queue, f64::from(20 * i));
        }
        state.counts().dropped - dropped
    };
    assert_eq!(rounds(0), 0);
    ActionKind::Target.act(0.0, &state);
    assert!(rounds(50) > 0);
    ActionKind::Target.act(libm::log(100.0), &state);
    assert_eq!(rounds(100), 0);
}

#[test]
fn a_network_is_its_sums() {
    let layer = |weights: &[&[f32]], bias: &[f32], activation| Layer {
        weights: weights.iter().map(|row| row.to_vec()).collect(),
        bias: bias.to_vec(),
        activation,
    };
    let first = layer(&[&[1.0, 2.0], &[-1.0, 0.5], &[0.0, 0.0]], &[0.0, 1.0, -3.0], Activation::Relu);
    let second = layer(&[&[0.5, -2.0, 9.0]], &[0.25], Activation::Linear);
    let mut network = Network::new(vec![first.clone(), second]).unwrap();
    // relu(1 + 4, -1 + 1 + 1, -3) = (5, 1, 0); 2.5 - 2 + 0 + 0.25.
    assert_eq!(network.forward(&[1.0, 2.0]), [0.75]);
    assert_eq!(network.forward(&[1.0, 2.0]), [0.75], "the same again");
    assert_eq!(network.check(2, 1), Ok(()));
    assert_eq!(network.check(2, 5), Err(ShapeError::Outputs(1, 5)));
    assert_eq!(Activation::Sigmoid.of(0.0), 0.5);
    assert_eq!(Activation::Tanh.of(1.0), libm::tanhf(1.0));
    let wrong = layer(&[&[1.0, 2.0]], &[0.0], Activation::Tanh);
    let error = Network::new(vec![first, wrong]).unwrap_err().to_string();
    assert_eq!(error, "layers[1].weights: 2 numbers; expected 3");
    let infinite = layer(&[&[f32::INFINITY]], &[0.0], Activation::Tanh);
    assert_eq!(Network::new(vec![infinite]).unwrap_err(), ShapeError::NotFinite(0));
    assert_eq!(Network::new(vec![]).unwrap_err(), ShapeError::Layers(0));
}

#[test]
fn a_pilot_does_what_an_agent_outside_does() {
    let layer = Layer { weights: vec![vec![0.8, 0.1]], bias: vec![0.05], activation: Activation::Sigmoid };
    let network = Network::new(vec![layer]).unwrap();
    let (sight, step) = (sight(&[Feature::SojournNow, Feature::InRate]), Duration::from_millis(10));
    let agent = NetworkAgent::new(network.clone(), sight.clone(), step, ActionKind::Probability).unwrap();
    let mut by_itself = queue(Policy::autonomous(agent, ActionKind::Probability));

    let state = Arc::new(SharedState::new(false));
    let mut steered = queue(Policy::controlled(Arc::clone(&state), ActionKind::Probability, None));
    let (mut observer, mut network, mut seen) = (Observer::new(sight), network, [0.0; 2]);
    let mut due = 0.0;
    let mut fates = Vec::new();
    for i in 0..2000 {
        let at = f64::from(i) * 0.7;
        // Events at the end of a step belong to it.
        while due < at || i == 0 && due == 0.0 {
            observer.sample(ms(due), &state);
            observer.write(&mut seen);
            ActionKind::Probability.act(network.forward(&seen)[0].into(), &state);
            due += 10.0;
        }
        let fate = push(&mut steered, at, Ecn::NotEct);
        assert_eq!(push(&mut by_itself, at, Ecn::NotEct), fate, "packet {i}");
        fates.push(fate);
        if i % 2 == 0 {
            assert_eq!(pop(&mut steered, at), pop(&mut by_itself, at));
        }
    }
    let dropped = fates.iter().filter(|fate| **fate == EnqueueResult::Dropped(DropReason::Early)).count();
    assert!((100..1900).contains(&dropped), "{dropped} of 2000");
}

/// DualPI2's queues under a policy, limited to four packets; a probability of one acts at once.
fn pair(state: &Arc<SharedState>, start: Option<Instant>) -> crate::DualQueue<CoupledPolicy, u32> {
    let marking = crate::dualpi2::Marking::Random;
    let config = crate::dualpi2::Config { marking, ..Default::default() };
    let host = Host { link: LINK, rng: Rng::stream(1, "queue", 0) };
    CoupledPolicy::controlled(Arc::clone(state), &config, start).queue(
        &config,
        Limits::parse("4 packets").unwrap(),
        host,
    )
}

#[test]
fn a_pair_of_queues_is_counted_as_one() {
    let state = Arc::new(SharedState::new(true).with_sojourns());
    let mut queues = pair(&state, None);
    let mut observer = Observer::new(ObservationSpec { action: ActionKind::Coupled, ..sight(&[Feature::SojournNow]) });
    let mut lost = 0;
    let mut push = |queues: &mut crate::DualQueue<CoupledPolicy, u32>, at: f64, flow: u32, ecn: Ecn| {
        let meta = Meta::new(1000, flow).with_ecn(ecn);
        queues.enqueue(ms(at), meta, 0, &mut |_, _, _| lost += 1)
    };
    assert_eq!(push(&mut queues, 2.0, 1, Ecn::NotEct), EnqueueResult::Queued);
    assert_eq!(push(&mut queues, 3.0, 2, Ecn::Ect1), EnqueueResult::Queued);
    for at in [4.0, 5.0] {
        assert_eq!(push(&mut queues, at, 1, Ecn::Ect0), EnqueueResult::Queued);
    }
    assert_eq!(push(&mut queues, 6.0, 2, Ecn::Ect1), EnqueueResult::Dropped(DropReason::Limit));
    assert_eq!(lost, 1);
    // The L4S packet goes first and is marked by its own queue: its delay exceeds 1.2 ms.
    let DequeueResult::Packet(meta, _) = queues.dequeue(ms(7.0), &mut |_, _, _| {}) else { panic!("four wait") };
    assert_eq!((meta.flow, meta.ecn), (2, Ecn::Ce));
    let step = *observer.sample(ms(10.0), &state);
    let expected = StepStats {
        span_s: 0.01,
        arrived: 5,
        arrived_bytes: 5000,
        ect: 4,
        ect1: 2,
        departed: 1,
        departed_bytes: 1000,
        sojourn_s: 0.004,
        longest_s: 0.004,
        // In bins of 0.5 ms, rounded up.
        p95_s: 0.0045,
        dropped: 1,
        overflowed: 1,
        marked: 1,
        empty_s: 0.002,
        waiting: 3,
        waiting_bytes: 3000,
        head_s: 0.008,
    };
    assert_eq!(step, expected);
    // p' = 1: packets that are not ECN-capable are dropped, as are all if k p' exceeds one.
    ActionKind::Coupled.act(1.0, &state);
    let mut dropped = 0;
    assert!(matches!(queues.dequeue(ms(11.0), &mut |_, _, _| dropped += 1), DequeueResult::Empty));
    let step = *observer.sample(ms(12.0), &state);
    assert_eq!((dropped, step.dropped, step.departed, step.waiting, step.empty_s), (3, 3, 0, 0, 0.001));
    assert_eq!((step.head_s, step.p95_s), (0.0, 0.0));
}

#[test]
fn a_pair_obeys_its_own_controller_until_the_policy_begins() {
    let until = ms(100.0);
    let state = Arc::new(SharedState::new(false));
    let mut queues = pair(&state, Some(until));
    let p = |queues: &crate::DualQueue<CoupledPolicy, u32>| {
        let mut found = f64::NAN;
        Qdisc::observe(queues, &mut |name, value| {
            if name == "p" {
                found = value;
            }
        });
        found
    };
    let mut sink = |_, _, _| {};
    queues.enqueue(ms(1.0), Meta::new(1000, 1), 0, &mut sink);
    ActionKind::Coupled.act(0.25, &state);
    queues.settle(ms(90.0));
    let own = p(&queues);
    assert!(own > 0.0 && own != 0.25, "the queue stands for longer than the target: {own}");
    // The initial phase includes its end.
    queues.dequeue(until, &mut sink);
    assert_eq!(p(&queues), own);
    queues.enqueue(ms(100.1), Meta::new(1000, 1), 0, &mut sink);
    assert_eq!(p(&queues), 0.25);
    queues.settle(ms(500.0));
    assert_eq!(p(&queues), 0.25);
}
