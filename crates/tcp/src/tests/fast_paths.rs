//! The specialised ACK paths against the general one.
//!
//! Two senders get the same events. One classifies its acknowledgments and sends as its stack can; the other handles
//! every acknowledgment as [`Any`](crate::kind::Any) and sends as if its stack had every mechanism. Their whole states
//! are compared.

use super::*;
use crate::cc::foreign::{CallKind, CallSet, ControlDefinition, ControlHost, Fault, ForeignControl, NativeControl};
use crate::cc::{self, Needs, Window};
use crate::sender::ack::AckClass;
use crate::{Receiver, ReceiverConfig, Sack, Sender, SenderConfig};
use sojourn_aqm::{Duration, Rate, Rng};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Packets in transit: arrival, whether towards the receiver, header and codepoint.
type Pipe = Vec<(Instant, bool, Header, Ecn)>;

/// Events of a sender.
#[derive(Clone, Copy, Debug)]
enum Event {
    Opens(Option<u64>),
    Connects,
    Writes(u64),
    Receives(Header),
    Wakes,
}

/// Applies an event to a sender and returns the segments sent. Unless `quick`, every acknowledgment takes the general
/// path.
fn apply(sender: &mut Sender, quick: bool, now: Instant, event: Event) -> Vec<(Header, Ecn)> {
    let mut sent = Vec::new();
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

/// Modifies an acknowledgment in ways that receivers do not but that remain true: it covers less than has arrived,
/// reorders blocks, adds a D-SACK or an ECN echo, or goes back behind an earlier one.
fn mangled(mut header: Header, sack: bool, rng: &mut Rng) -> Header {
    let mut blocks = header.sack.blocks().to_vec();
    let max = blocks.len() as u64;
    match (rng.below(8), max) {
        (0, 1..) => drop(blocks.remove(rng.below(max) as usize)),
        (1, 2..) => blocks.reverse(),
        (2, 1..) => {
            let block = &mut blocks[rng.below(max) as usize];
            block.0 = (block.0 + MSS * rng.below(3)).min(block.1);
        }
        (3, 1..) => {
            let block = &mut blocks[rng.below(max) as usize];
            block.1 = block.1.saturating_sub(MSS / 2 * (1 + rng.below(4))).max(block.0);
        }
        (4, 1..) => blocks.insert(0, blocks[max as usize - 1]),
        (5, _) if sack && header.ack > 3 * MSS => blocks.insert(0, (header.ack - MSS, header.ack)),
        // Without negotiated SACK the sender ignores blocks; otherwise this one would be false.
        (5, _) if !sack => blocks.push((header.ack + MSS, header.ack + 2 * MSS)),
        (6, _) => header.flags = header.flags.with(Flags::ECE),
        (7, _) => header.ack = header.ack.saturating_sub(MSS * rng.below(3)).max(FIRST_BYTE),
        _ => {}
    }
    header.sack = Sack::default();
    blocks.into_iter().for_each(|block| header.sack.push(block));
    header
}

/// Invalid acknowledgments, which a sender must ignore: of data never sent, or with a SYN after the handshake.
fn invalid(header: Header, nxt: u64, rng: &mut Rng) -> Header {
    match rng.below(3) {
        0 => Header { ack: nxt + 1 + rng.below(3 * MSS), ..header },
        1 => Header { ack: header.ack.max(1), flags: Flags::ACK, ..header },
        _ => Header { flags: header.flags.with(Flags::SYN), ..header },
    }
}

/// Impairments of a path for a while.
#[derive(Clone, Copy, Default)]
struct Impairments {
    /// Percentage of data segments lost, delayed and marked, and of acknowledgments modified, lost and delayed.
    lost: u64,
    late: u64,
    marked: u64,
    mangled: u64,
    acks_lost: u64,
    acks_late: u64,
    /// Maximum additional delay in nanoseconds.
    max_delay: u64,
    /// Additional delay of all segments in nanoseconds.
    slow: u64,
}

impl Impairments {
    fn draw(rng: &mut Rng) -> Self {
        let (rare, many) = (1 + rng.below(4), 5 + rng.below(12));
        let slow = 20_000_000 + rng.below(130_000_000);
        match rng.below(12) {
            0 => Self::default(),
            10 => Self { slow, ..Self::default() },
            11 => Self { slow, late: many, max_delay: 3_000_000, ..Self::default() },
            8 => Self { acks_late: many, late: many, max_delay: 150_000_000, ..Self::default() },
            9 => Self {
                acks_late: 3 * many,
                lost: rare,
                late: rare,
                mangled: rare,
                max_delay: 40_000_000,
                ..Self::default()
            },
            1 => Self { lost: many, ..Self::default() },
            2 => Self { lost: rare, late: rare, max_delay: 4_000_000, ..Self::default() },
            3 => Self { late: many, max_delay: 30_000_000, ..Self::default() },
            4 => Self { late: 5 * many, lost: rare, max_delay: 900_000_000, ..Self::default() },
            5 => Self { marked: many, lost: rare, ..Self::default() },
            6 => Self { lost: many, acks_lost: 3 * many, ..Self::default() },
            _ => Self {
                lost: many,
                late: rare,
                mangled: 2 * many,
                acks_lost: rare,
                max_delay: 50_000_000,
                ..Self::default()
            },
        }
    }
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

/// A connection with random options of its stack, and its receiver.
fn drawn_connection(cc: AnyCc, rng: &mut Rng) -> (Sender, Receiver, bool) {
    let stack = stack_for(&cc, rng);
    let shares = [0.9, 0.7, 0.3, 0.1, 0.2, 0.2, 0.2, 0.1];
    let [sack, delayed_ack, ecn, counts_bytes, offloads, paced, buffered, nagle] =
        shares.map(|share| rng.uniform() < share);
    let (initial_window, mss, needs) = (None, MSS as u32, cc.needs());
    let receive_window = (rng.below(3) == 0).then(|| 5_000 + rng.below(90_000));
    let mut sender = Sender::new(SenderConfig { stack, cc, mss, sack, ecn, initial_window, receive_window });
    if counts_bytes && stack.has_byte_counting() {
        sender = sender.with_byte_counting(2);
    }
    if offloads && stack.has_segmentation_offload() {
        sender = sender.with_segmentation_offload();
    }
    if paced && stack.may_be_paced() {
        sender = sender.with_pacing(Some(Rate::from_bps(3_000_000 + rng.below(90_000_000))), stack);
    }
    if buffered && stack.has_send_buffer() {
        sender = sender.with_send_buffer(20_000 + rng.below(400_000));
    }
    if nagle {
        sender = sender.with_nagle();
    }
    let config = ReceiverConfig { stack, mss, sack, delayed_ack, ecn, receive_window };
    (sender, Receiver::new(config).serving(&needs), sack)
}

/// Carries out an event with the sender, and returns the segments that it sent.
type Step<'a> = &'a mut dyn FnMut(&mut Sender, u64, Instant, Event) -> Vec<(Header, Ecn)>;

/// Plays [`EVENTS`] events of a connection over a path with changing impairments; `step` carries out each.
fn play((mut sender, mut receiver, sack): (Sender, Receiver, bool), rng: &mut Rng, step: Step) {
    let [writes, ends] = [0.3, 0.5].map(|share| rng.uniform() < share);
    let (mut now, mut pipe, mut bout) = (Instant::ZERO, Pipe::new(), Impairments::default());
    let bytes = ends.then(|| 1_000 + rng.below(2_000_000));
    let mut event = if writes { Event::Connects } else { Event::Opens(bytes) };
    for n in 0..EVENTS {
        let sent = step(&mut sender, n, now, event);
        if rng.below(150) == 0 {
            bout = Impairments::draw(rng);
        }
        let mut happens = |share: u64| rng.below(100) < share;
        for (header, ecn) in sent {
            let (is_lost, is_late) = (happens(bout.lost), happens(bout.late));
            let ecn = if ecn != Ecn::NotEct && happens(bout.marked) { Ecn::Ce } else { ecn };
            if !is_lost {
                let late = bout.slow + if is_late { bout.max_delay * (1 + n % 16) / 16 } else { 0 };
                pipe.push((
                    now + Duration::from_nanos((10_000_000 + n % 997 * 1_000 + late) as i64),
                    true,
                    header,
                    ecn,
                ));
            }
        }
        // Advances to the next event at the sender.
        event = loop {
            pipe.sort_by_key(|packet| packet.0);
            let arrival = pipe.first().map_or(Instant::NEVER, |packet| packet.0);
            let wakes = arrival.min(sender.deadline()).min(receiver.deadline());
            if writes && rng.below(12) == 0 {
                let max = if rng.below(4) == 0 { 200_000 } else { 12_000 };
                break Event::Writes(1 + rng.below(max));
            }
            if wakes == Instant::NEVER {
                // Everything has arrived; an early timer call does nothing.
                break Event::Wakes;
            }
            now = wakes;
            let mut acks = Vec::new();
            let mut wire = |header: &Header, ecn: Ecn| acks.push((*header, ecn));
            if now == arrival {
                let (_, to_receiver, header, ecn) = pipe.remove(0);
                if !to_receiver {
                    if rng.below(400) == 0 || (n < 3 && rng.below(3) == 0) {
                        pipe.push((now + Duration::from_nanos(1), false, header, ecn));
                        break Event::Receives(invalid(header, sender.transmission.queue.nxt(), rng));
                    }
                    let is_twisted = !header.flags.contains(Flags::SYN) && rng.below(100) < bout.mangled;
                    break Event::Receives(if is_twisted { mangled(header, sack, rng) } else { header });
                }
                receiver.on_segment(now, &header, ecn, &mut wire);
            } else if now == sender.deadline() {
                break Event::Wakes;
            } else {
                receiver.on_timer(now, &mut wire);
            }
            acks.retain(|_| rng.below(100) >= bout.acks_lost);
            for (header, ecn) in acks {
                let late = if rng.below(100) < bout.acks_late { rng.below(bout.max_delay) } else { 0 };
                pipe.push((now + Duration::from_nanos((10_000_000 + late) as i64), false, header, ecn));
            }
        };
    }
}

#[test]
fn an_acknowledgment_of_every_kind_does_what_it_does_as_any() {
    let (mut classes, mut controls) = (BTreeMap::new(), BTreeMap::new());
    for seed in 0..CONNECTIONS {
        let mut rng = Rng::stream(seed, "short ways", 0);
        let connection = drawn_connection(AnyCc::new(drawn_control(seed)).expect("a control"), &mut rng);
        let sender = &connection.0;
        let (machine, control) = (sender.machine, format!("{:?}", sender.control.cc));
        *controls.entry(control.split([' ', '(']).next().unwrap_or_default().to_string()).or_insert(0) += 1;
        let mut slow = sender.clone();
        slow.transmission.is_basic_stack = false;
        play(connection, &mut rng, &mut |quick, n, now, event| {
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

/// A control of the registry as if it were a user's.
#[derive(Debug)]
struct Native(AnyCc);

impl ControlDefinition for Native {
    fn spelling(&self) -> &str {
        "native"
    }
    fn needs(&self) -> Needs {
        Needs { flight: true, ..self.0.needs() }
    }
    fn calls(&self) -> CallSet {
        CallSet::of(CallKind::ALL.iter().copied())
    }
    fn distinguishes_causes(&self) -> bool {
        true
    }
    fn create(&self, host: &ControlHost) -> Result<Box<dyn ForeignControl>, Fault> {
        Ok(Box::new(NativeControl::new(self.0.clone(), host)?))
    }
    fn record_fault(&self, text: String) {
        panic!("{text}");
    }
}

#[test]
fn a_registered_control_behind_the_calls_of_users_does_the_same() {
    let mut played = 0;
    for (seed, (name, _)) in (0..).zip(cc::NAMES.iter().cycle().take(4 * cc::NAMES.len())) {
        let native = AnyCc::new(name).expect("a control");
        let foreign = AnyCc::foreign(Arc::new(Native(native.clone())));
        let draws = || Rng::stream(seed, "calls of users", 0);
        let [connection, (foreign, ..)] = [native, foreign].map(|cc| drawn_connection(cc, &mut draws()));
        let stack = foreign.transmission.stack();
        // A modified stack has no name; the agents of ns-2 are recognised by their own types.
        if stack.name().is_empty() || stack.runs_in_ns2() {
            continue;
        }
        let (mut rng, random) = (draws(), Rng::stream(seed, "control", 0));
        let mut foreign = foreign.with_rng(random.clone());
        let connection = (connection.0.with_rng(random), connection.1, connection.2);
        played += 1;
        play(connection, &mut rng, &mut |native, n, now, event| {
            let (sent, other) = (apply(native, true, now, event), apply(&mut foreign, true, now, event));
            assert_eq!(
                (&sent, observable_state(native)),
                (&other, observable_state(&foreign)),
                "{name}, seed {seed}, event {n}: {event:?}"
            );
            sent
        });
    }
    assert!(played > 2 * cc::NAMES.len(), "{played} connections");
}

/// Number of connections, and of events per sender.
const CONNECTIONS: u64 = 210;
const EVENTS: u64 = 3_000;
