//! The specialised ACK paths against the general one.
//!
//! Two senders get the same events. One classifies its acknowledgments and sends as its stack can; the other handles
//! every acknowledgment as [`Any`](crate::kind::Any) and sends as if its stack had every mechanism. Their whole states
//! are compared.

use super::*;
use crate::cc::foreign::{ControlDefinition, NativeDefinition};
use crate::cc::{self, Window};
use crate::conformance::ends::{Event, Sent, TcpEnds};
use crate::conformance::world::World;
use crate::sender::ack::AckClass;
use sojourn_aqm::Rng;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Applies an event to a sender and returns the segments sent. Unless `quick`, every acknowledgment takes the general
/// path.
fn apply(sender: &mut Sender, quick: bool, now: Instant, event: Event) -> Sent {
    let mut sent = Sent::new();
    let mut wire = |header: &Header, ecn: Ecn| sent.push((*header, ecn));
    match event {
        Event::Opens(bytes) => sender.open(now, bytes, &mut wire),
        Event::Connects => sender.connect(now, &mut wire),
        Event::Writes(bytes) => sender.write(now, bytes, &mut wire),
        Event::Wakes => sender.on_timer(now, &mut wire),
        Event::Receives(header) if quick => sender.on_segment(now, &header, &mut wire),
        Event::Receives(header) => {
            let now = sender.enter(now);
            sender.on_segment_of(AckClass::Any, now, &header, &mut wire);
        }
    }
    sent
}

/// Observable state of a sender.
fn observable_state(sender: &Sender) -> impl PartialEq + std::fmt::Debug + use<> {
    let Window { cwnd, ssthresh, cwnd_cnt, bytes_acked, .. } = *sender.window();
    let window = (cwnd, ssthresh, cwnd_cnt, bytes_acked);
    (sender.deadline(), window, sender.state(), sender.srtt_s(), *sender.stats(), sender.in_flight())
}

/// The whole state of a sender, apart from the flags that select its fast paths.
fn full_state(sender: &Sender) -> String {
    let mut sender = sender.clone();
    (sender.transmission.is_fast_path, sender.transmission.is_basic_stack) = (false, false);
    format!("{sender:?}")
}

/// A registered stack; half of the time Linux 2.6.29 or a stack with some mechanisms switched on or off.
fn drawn_stack(rng: &mut Rng) -> &'static Stack {
    let name = |index: u64| stack::NAMES[index as usize].0;
    let drawn = Stack::find(name(rng.below(stack::NAMES.len() as u64))).expect("a stack");
    let plain = Stack::find("linux-2.6.29").expect("a stack");
    let mut has = |share: f64| rng.uniform() < share;
    let without = Stack { fack: has(0.8), frto: has(0.6), forward_retransmit: has(0.7), ..*plain };
    let without = Stack { disorder_while_undoable: has(0.8), timestamps: has(0.9), ..without };
    let with = Stack { bursts: has(0.3), validates_every_send: has(0.3), early_retransmit: has(0.3), ..without };
    // A stack since 3.10 without the mechanisms that otherwise distinguish it.
    let later = Stack { bursts: false, validates_every_send: false, loss_probe: None, ..*drawn };
    match rng.below(8) {
        0..4 => drawn,
        4 => plain,
        5 => Box::leak(Box::new(without)),
        6 => Box::leak(Box::new(with)),
        _ => Box::leak(Box::new(later)),
    }
}

/// Name of a control: Reno in every second connection, otherwise each registered control in turn.
fn drawn_control(seed: u64) -> &'static str {
    let (name, _) = cc::NAMES[(seed / 2) as usize % cc::NAMES.len()];
    if seed % 2 == 0 { name } else { "reno" }
}

/// A stack for the control `cc`.
fn stack_for(cc: &AnyCc, rng: &mut Rng) -> &'static Stack {
    let drawn = drawn_stack(rng);
    let stack = if cc.needs().is_met_by(drawn) {
        Some(drawn)
    } else {
        Stack::find(["linux-3.13", "linux-6.1"][rng.below(2) as usize])
    };
    stack.expect("a stack")
}

/// A connection with random options of its stack.
fn drawn_connection(cc: AnyCc, rng: &mut Rng) -> TcpEnds {
    let stack = stack_for(&cc, rng);
    TcpEnds::draw(cc, stack, rng)
}

/// Carries out an event with the sender, and returns the segments that it sent.
type Step<'a> = &'a mut dyn FnMut(&mut Sender, u64, Instant, Event) -> Sent;

/// Plays [`EVENTS`] events of a connection over a path with changing impairments; `step` carries out each.
fn play(ends: TcpEnds, rng: Rng, step: Step) {
    let (mut world, mut event) = World::random(Box::new(ends), rng);
    for n in 0..EVENTS {
        let sent = step(&mut world.ends.sender, n, world.now, event);
        world.transmit(sent);
        event = world.next_event(Instant::NEVER).expect("there is a next event until the end of time");
    }
}

#[test]
fn an_acknowledgment_of_every_kind_does_what_it_does_as_any() {
    let (mut classes, mut controls) = (BTreeMap::new(), BTreeMap::new());
    for seed in 0..CONNECTIONS {
        let mut rng = Rng::stream(seed, "short ways", 0);
        let connection = drawn_connection(AnyCc::new(drawn_control(seed)).expect("a control"), &mut rng);
        let sender = &connection.sender;
        let (machine, control) = (sender.machine, format!("{:?}", sender.control.cc));
        *controls.entry(control.split([' ', '(']).next().unwrap_or_default().to_string()).or_insert(0) += 1;
        let mut slow = sender.clone();
        slow.transmission.is_basic_stack = false;
        play(connection, rng, &mut |quick, n, now, event| {
            if let Event::Receives(header) = event {
                let class = (format!("{machine:?}"), quick.classify(&header), quick.state());
                *classes.entry(class).or_insert(0) += 1;
            }
            let (sent, other) = (apply(quick, true, now, event), apply(&mut slow, false, now, event));
            assert_eq!(
                (&sent, observable_state(quick)),
                (&other, observable_state(&slow)),
                "seed {seed}, event {n}: {event:?}"
            );
            if n % 16 == 0 || n + 1 == EVENTS {
                assert_eq!(full_state(quick), full_state(&slow), "seed {seed}, event {n}: {event:?}");
            }
            sent
        });
    }
    for (machine, class, state, min_count) in [
        ("Linux2_6", AckClass::Predicted, CaState::Open, 20_000),
        ("Linux3_10", AckClass::Predicted, CaState::Open, 10_000),
        ("Linux2_6", AckClass::NewData, CaState::Open, 500),
        ("Linux2_6", AckClass::NewData, CaState::Disorder, 2_000),
        ("Linux2_6", AckClass::NewData, CaState::Cwr, 100),
        ("Linux2_6", AckClass::NewData, CaState::Recovery, 2_000),
        ("Linux2_6", AckClass::NewData, CaState::Loss, 500),
        ("Linux2_6", AckClass::Duplicate, CaState::Open, 1_000),
        ("Linux2_6", AckClass::Duplicate, CaState::Disorder, 2_000),
        ("Linux2_6", AckClass::Duplicate, CaState::Cwr, 50),
        ("Linux2_6", AckClass::Duplicate, CaState::Recovery, 5_000),
        ("Linux2_6", AckClass::Duplicate, CaState::Loss, 300),
    ] {
        let count = classes.get(&(machine.to_string(), class, state)).copied().unwrap_or(0);
        assert!(count >= min_count, "{class:?} of {machine} in {state:?}: {count} acknowledgments of {classes:?}");
    }
    assert_eq!(controls.len(), cc::NAMES.len(), "every control: {controls:?}");
}

#[test]
fn a_registered_control_behind_the_calls_of_users_does_the_same() {
    let mut played = 0;
    for (seed, (name, _)) in (0..).zip(cc::NAMES.iter().cycle().take(4 * cc::NAMES.len())) {
        let native = AnyCc::new(name).expect("a control");
        let definition = Arc::new(NativeDefinition::find(name).expect("a control"));
        let foreign = AnyCc::foreign(definition.clone());
        let draws = || Rng::stream(seed, "calls of users", 0);
        let [connection, foreign] = [native, foreign].map(|cc| drawn_connection(cc, &mut draws()));
        let stack = foreign.sender.transmission.stack();
        // A modified stack has no name; the agents of ns-2 are recognised by their own types.
        if stack.name().is_empty() || stack.runs_in_ns2() {
            continue;
        }
        let (rng, random) = (draws(), Rng::stream(seed, "control", 0));
        let mut foreign = foreign.sender.with_rng(random.clone());
        let connection = connection.with_rng(random);
        played += 1;
        play(connection, rng, &mut |native, n, now, event| {
            let (sent, other) = (apply(native, true, now, event), apply(&mut foreign, true, now, event));
            assert_eq!(
                (&sent, observable_state(native)),
                (&other, observable_state(&foreign)),
                "{name}, seed {seed}, event {n}: {event:?}"
            );
            sent
        });
        assert_eq!(definition.fault(), None);
    }
    assert!(played > 2 * cc::NAMES.len(), "{played} connections");
}

/// Number of connections, and of events per sender.
const CONNECTIONS: u64 = 210;
const EVENTS: u64 = 3_000;
