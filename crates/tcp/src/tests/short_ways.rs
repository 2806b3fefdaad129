//! The short ways of acknowledgments, beside the long one that any takes.

use super::*;
use crate::cc::Window;
use crate::handshake::Phase;
use crate::stack::Machine;
use crate::{Receiver, ReceiverConfig, Sack, Sender, SenderConfig};
use sojourn_aqm::Duration;
use sojourn_aqm::Rng;
use std::collections::BTreeMap;

/// What is under way: when it arrives, whether at the receiver, and the segment.
type Pipe = Vec<(Instant, bool, Header, Ecn)>;

/// What happens to a sender.
#[derive(Clone, Copy, Debug)]
enum Event {
    Opens(Option<u64>),
    Connects,
    Writes(u64),
    Hears(Header),
    Wakes,
}

/// Does it to a sender. Returns what that sends; one that is not `quick` takes the long way with all that it hears.
fn act(sender: &mut Sender, quick: bool, now: Instant, event: Event) -> Vec<(Header, Ecn)> {
    let mut sent = Vec::new();
    let mut wire = |header: &Header, ecn: Ecn| sent.push((*header, ecn));
    match event {
        Event::Opens(bytes) => sender.open(now, bytes, &mut wire),
        Event::Connects => sender.connect(now, &mut wire),
        Event::Writes(bytes) => sender.write(now, bytes, &mut wire),
        Event::Wakes => sender.on_timer(now, &mut wire),
        Event::Hears(header) if quick => sender.on_segment(now, &header, &mut wire),
        Event::Hears(header) => {
            let now = sender.enter(now);
            let is_answer = header.flags.contains(Flags::SYN) || sender.handshake.phase() != Phase::Established;
            match sender.machine {
                Machine::Linux3_10 if !is_answer => sender.on_ack_recovery_first(now, &header, &mut wire),
                _ => sender.on_any_segment(now, &header, &mut wire),
            }
        }
    }
    sent
}

/// What is to be seen of a sender.
fn seen(sender: &Sender) -> impl PartialEq + std::fmt::Debug + use<> {
    let Window { cwnd, ssthresh, cwnd_cnt, bytes_acked, .. } = *sender.window();
    let window = (cwnd, ssthresh, cwnd_cnt, bytes_acked);
    (sender.deadline(), window, sender.state(), sender.srtt_s(), *sender.stats(), sender.in_flight())
}

/// All that is known to it, but for whether a short way may be taken, and what a stack without the mechanisms after Linux 2.6
/// does not ask for: bursts, what was sent in a reduction, how the window was used before.
fn everything(sender: &Sender) -> String {
    let Sender { transmission: tx, recovery, control, handshake, .. } = sender;
    let episode = &recovery.episode;
    let sending = (&tx.queue, &tx.output, &tx.timer, &tx.rtt, &tx.offered, &tx.ecn, &tx.board);
    let state = (episode.state, episode.timeouts, episode.high_seq, episode.tests_time_out);
    let recovering = (&episode.reordering, &episode.undo, &episode.rack, &episode.probe, handshake);
    let controlling = (&control.window, &control.cc);
    format!("{sending:?} {state:?} {recovering:?} {controlling:?}")
}

/// The short way that a sender would take, by what is asked for before it.
fn short_way(sender: &Sender, header: &Header) -> Option<(&'static str, State)> {
    let (tx, state) = (&sender.transmission, sender.state());
    let (una, is_established) = (tx.queue.una(), sender.handshake.phase() == Phase::Established);
    let is_next = || tx.board.next_sacked(header.sack.blocks(), una).is_some();
    match sender.machine {
        Machine::Linux2_6 if tx.expects(header) => Some(("expected", state)),
        Machine::Linux2_6 if tx.is_progress(header, &sender.recovery) => Some(("progress", state)),
        Machine::Linux2_6 if tx.may_tell_of_next(header) && is_next() => Some(("next", state)),
        Machine::Linux3_10 if is_established && sender.needs_no_findings() && sender.is_expected(header) => {
            Some(("expected, recovery first", state))
        }
        _ => None,
    }
}

/// Makes an acknowledgment tell what receivers do not tell, all of which is true: less than has arrived, in another order, a
/// duplicate, an echo of a mark, less than was acknowledged before.
fn twisted(mut header: Header, sack: bool, rng: &mut Rng) -> Header {
    let mut blocks = header.sack.blocks().to_vec();
    let most = blocks.len() as u64;
    match (rng.below(8), most) {
        (0, 1..) => drop(blocks.remove(rng.below(most) as usize)),
        (1, 2..) => blocks.reverse(),
        (2, 1..) => {
            let block = &mut blocks[rng.below(most) as usize];
            block.0 = (block.0 + MSS * rng.below(3)).min(block.1);
        }
        (3, 1..) => {
            let block = &mut blocks[rng.below(most) as usize];
            block.1 = block.1.saturating_sub(MSS / 2 * (1 + rng.below(4))).max(block.0);
        }
        (4, 1..) => blocks.insert(0, blocks[most as usize - 1]),
        (5, _) if sack && header.ack > 3 * MSS => blocks.insert(0, (header.ack - MSS, header.ack)),
        // What is not negotiated is not read; else it would not be true.
        (5, _) if !sack => blocks.push((header.ack + MSS, header.ack + 2 * MSS)),
        (6, _) => header.flags = header.flags.with(Flags::ECE),
        (7, _) => header.ack = header.ack.saturating_sub(MSS * rng.below(3)).max(FIRST_BYTE),
        _ => {}
    }
    header.sack = Sack::default();
    blocks.into_iter().for_each(|block| header.sack.push(block));
    header
}

/// How a path treats packets for a while.
#[derive(Clone, Copy, Default)]
struct Bout {
    /// Of a hundred, how many are lost, late, marked, twisted, and of acknowledgments lost.
    lost: u64,
    late: u64,
    marked: u64,
    twisted: u64,
    acks_lost: u64,
    /// Late by this at the most.
    most: u64,
}

impl Bout {
    fn draw(rng: &mut Rng) -> Self {
        let (rare, many) = (1 + rng.below(4), 5 + rng.below(12));
        match rng.below(8) {
            0 => Self::default(),
            1 => Self { lost: many, ..Self::default() },
            2 => Self { lost: rare, late: rare, most: 4_000_000, ..Self::default() },
            3 => Self { late: many, most: 30_000_000, ..Self::default() },
            4 => Self { late: 5 * many, lost: rare, most: 900_000_000, ..Self::default() },
            5 => Self { marked: many, lost: rare, ..Self::default() },
            6 => Self { lost: many, acks_lost: 3 * many, ..Self::default() },
            _ => {
                Self { lost: many, late: rare, twisted: 2 * many, acks_lost: rare, most: 50_000_000, ..Self::default() }
            }
        }
    }
}

/// One of the registry, or, half of the time, one without the mechanisms after Linux 2.6, of whose own some may be off.
fn drawn_stack(rng: &mut Rng) -> &'static Stack {
    let name = |place: u64| stack::NAMES[place as usize].0;
    let drawn = Stack::find(name(rng.below(stack::NAMES.len() as u64))).expect("a stack");
    let plain = Stack::find("linux-2.6.29").expect("a stack");
    let [fack, frto, forward_retransmit, disorder_while_undoable] =
        [0.8, 0.6, 0.7, 0.8].map(|share| rng.uniform() < share);
    match rng.below(4) {
        0 | 1 => drawn,
        2 => plain,
        _ => Box::leak(Box::new(Stack { fack, frto, forward_retransmit, disorder_while_undoable, ..*plain })),
    }
}

#[test]
fn an_acknowledgment_on_a_short_way_does_what_it_does_on_the_long_one() {
    let mut short = BTreeMap::new();
    for seed in 0..CONNECTIONS {
        let mut rng = Rng::stream(seed, "short ways", 0);
        let stack = drawn_stack(&mut rng);
        let [sack, delayed_ack, ecn, counts_bytes, writes, ends] =
            [0.9, 0.7, 0.3, 0.1, 0.3, 0.5].map(|share| rng.uniform() < share);
        let cc = AnyCc::new(if rng.below(3) == 0 { "cubic" } else { "reno" }).expect("a control");
        let (initial_window, mss) = (None, MSS as u32);
        let receive_window = (rng.below(3) == 0).then(|| 5_000 + rng.below(90_000));
        let mut quick = Sender::new(SenderConfig { stack, cc, mss, sack, ecn, initial_window, receive_window });
        if counts_bytes && stack.has_byte_counting() {
            quick = quick.with_byte_counting(2);
        }
        let mut slow = quick.clone();
        slow.transmission.is_plain = false;
        let mut receiver = Receiver::new(ReceiverConfig { stack, mss, sack, delayed_ack, ecn, receive_window });
        let (mut now, mut pipe, mut bout) = (Instant::ZERO, Pipe::new(), Bout::default());
        let bytes = ends.then(|| 1_000 + rng.below(2_000_000));
        let mut event = if writes { Event::Connects } else { Event::Opens(bytes) };
        for n in 0..EVENTS {
            if let Event::Hears(header) = event {
                *short.entry(short_way(&quick, &header)).or_insert(0) += 1;
            }
            let (sent, other) = (act(&mut quick, true, now, event), act(&mut slow, false, now, event));
            assert_eq!((&sent, seen(&quick)), (&other, seen(&slow)), "seed {seed}, event {n}: {event:?}");
            if n % 8 == 0 || n + 1 == EVENTS {
                assert_eq!(everything(&quick), everything(&slow), "seed {seed}, event {n}: {event:?}");
            }
            if rng.below(150) == 0 {
                bout = Bout::draw(&mut rng);
            }
            let mut happens = |share: u64| rng.below(100) < share;
            for (header, ecn) in sent {
                let (is_lost, is_late) = (happens(bout.lost), happens(bout.late));
                let ecn = if ecn != Ecn::NotEct && happens(bout.marked) { Ecn::Ce } else { ecn };
                if !is_lost {
                    let late = if is_late { bout.most * (1 + n % 16) / 16 } else { 0 };
                    pipe.push((
                        now + Duration::from_nanos((10_000_000 + n % 997 * 1_000 + late) as i64),
                        true,
                        header,
                        ecn,
                    ));
                }
            }
            // Up to the next event at the sender.
            event = loop {
                pipe.sort_by_key(|packet| packet.0);
                let arrival = pipe.first().map_or(Instant::NEVER, |packet| packet.0);
                let wakes = arrival.min(quick.deadline()).min(receiver.deadline());
                if writes && rng.below(12) == 0 {
                    let most = if rng.below(4) == 0 { 200_000 } else { 12_000 };
                    break Event::Writes(1 + rng.below(most));
                }
                if wakes == Instant::NEVER {
                    // Everything has arrived: an early call does nothing.
                    break Event::Wakes;
                }
                now = wakes;
                let mut answers = Vec::new();
                let mut wire = |header: &Header, ecn: Ecn| answers.push((*header, ecn));
                if now == arrival {
                    let (_, to_receiver, header, ecn) = pipe.remove(0);
                    if !to_receiver {
                        let is_twisted = !header.flags.contains(Flags::SYN) && rng.below(100) < bout.twisted;
                        break Event::Hears(if is_twisted { twisted(header, sack, &mut rng) } else { header });
                    }
                    receiver.on_segment(now, &header, ecn, &mut wire);
                } else if now == quick.deadline() {
                    break Event::Wakes;
                } else {
                    receiver.on_timer(now, &mut wire);
                }
                let at = now + Duration::from_nanos(10_000_000);
                answers.retain(|_| rng.below(100) >= bout.acks_lost);
                pipe.extend(answers.into_iter().map(|(header, ecn)| (at, false, header, ecn)));
            };
        }
    }
    for (way, state, least) in [
        ("expected", State::Open, 20_000),
        ("expected, recovery first", State::Open, 10_000),
        ("progress", State::Disorder, 2_000),
        ("progress", State::Recovery, 2_000),
        ("progress", State::Loss, 500),
        ("next", State::Open, 1_000),
        ("next", State::Disorder, 2_000),
        ("next", State::Cwr, 20),
        ("next", State::Recovery, 5_000),
        ("next", State::Loss, 300),
    ] {
        let taken = short.get(&Some((way, state))).copied().unwrap_or(0);
        assert!(taken >= least, "{way} in {state:?}: {taken} acknowledgments of {short:?}");
    }
}

/// Connections, and what happens to the sender of each.
const CONNECTIONS: u64 = 120;
const EVENTS: u64 = 3_000;
