//! The short way of an acknowledgment that is expected, beside the long one.

use super::*;
use crate::{Receiver, ReceiverConfig, Sender, SenderConfig};
use sojourn_aqm::Rng;

/// What is under way: when it arrives, whether at the receiver, and the segment.
type Pipe = Vec<(Instant, bool, Header, Ecn)>;

/// What is done to a sender, and what it sends then.
type Act = Box<dyn FnMut(&mut Sender, &mut Vec<(Header, Ecn)>)>;

/// What a sender sends, and what is to be seen of it behind that; one that is not `quick` takes the long way next.
fn told(sender: &mut Sender, quick: bool, act: &mut Act) -> (Vec<(Header, Ecn)>, String) {
    let mut sent = Vec::new();
    act(sender, &mut sent);
    sender.transmission.is_calm &= quick;
    let (deadline, window, state) = (sender.deadline(), sender.window(), sender.state());
    let seen = format!("{sent:?} {deadline:?} {window:?} {state:?} {} {:?}", sender.srtt_s(), sender.stats());
    (sent, seen)
}

#[test]
fn an_expected_acknowledgment_is_dealt_with_as_any_other() {
    let stack = Stack::find("linux-2.6.29").expect("a stack");
    let mut short = 0;
    for seed in 0..60 {
        let mut rng = Rng::stream(seed, "expected", 0);
        let [sack, delayed_ack, ecn, counts_bytes, ends] = [0.8, 0.8, 0.5, 0.2, 0.5].map(|share| rng.uniform() < share);
        let cc = AnyCc::new(if rng.below(3) == 0 { "cubic" } else { "reno" }).expect("a control");
        let (initial_window, mss) = (None, MSS as u32);
        let receive_window = (rng.below(4) == 0).then(|| 5_000 + rng.below(30_000));
        let mut quick = Sender::new(SenderConfig { stack, cc, mss, sack, ecn, initial_window, receive_window });
        if counts_bytes {
            quick = quick.with_byte_counting(2);
        }
        let mut slow = quick.clone();
        let mut receiver = Receiver::new(ReceiverConfig { stack, mss, sack, delayed_ack, ecn, receive_window });
        let (mut now, mut pipe) = (Instant::ZERO, Pipe::new());
        let bytes = ends.then(|| 1_000 + rng.below(900_000));
        let mut act: Act = Box::new(move |sender, sent| {
            sender.open(now, bytes, &mut |header: &Header, ecn: Ecn| sent.push((*header, ecn)));
        });
        for n in 0..3_000 {
            let ((sent, seen), (_, other)) = (told(&mut quick, true, &mut act), told(&mut slow, false, &mut act));
            assert_eq!(seen, other, "seed {seed}, event {n}");
            // Bouts of losses, of delays, and of marks, with calm times between them.
            let bout = (n / 200) % 4;
            for (header, ecn) in sent {
                let marked = bout == 3 && ecn != Ecn::NotEct && rng.below(9) == 0;
                let late = if bout == 2 { rng.below(30_000_000) } else { 0 };
                if bout != 1 || rng.below(12) > 0 {
                    let at = now + Duration::from_nanos(10_000_000 + rng.below(1_000_000) as i64 + late as i64);
                    pipe.push((at, true, header, if marked { Ecn::Ce } else { ecn }));
                }
            }
            // Up to the next event at the sender.
            act = loop {
                pipe.sort_by_key(|packet| packet.0);
                let arrival = pipe.first().map_or(Instant::NEVER, |packet| packet.0);
                now = arrival.min(quick.deadline()).min(receiver.deadline());
                let mut answers = Vec::new();
                let mut wire = |header: &Header, ecn: Ecn| answers.push((*header, ecn));
                if now == Instant::NEVER {
                    // Everything has arrived: an early call does nothing.
                    now = Instant::from_nanos(3_600_000_000_000);
                    break Box::new(move |sender: &mut Sender, _: &mut Vec<(Header, Ecn)>| {
                        sender.deadline();
                    });
                } else if now == arrival {
                    let (_, to_receiver, header, ecn) = pipe.remove(0);
                    if !to_receiver {
                        short += u32::from(quick.transmission.expects(&header));
                        break Box::new(move |sender: &mut Sender, sent: &mut Vec<(Header, Ecn)>| {
                            sender.on_segment(now, &header, &mut |header: &Header, ecn: Ecn| sent.push((*header, ecn)));
                        });
                    }
                    receiver.on_segment(now, &header, ecn, &mut wire);
                } else if now == quick.deadline() {
                    break Box::new(move |sender: &mut Sender, sent: &mut Vec<(Header, Ecn)>| {
                        sender.on_timer(now, &mut |header: &Header, ecn: Ecn| sent.push((*header, ecn)));
                    });
                } else {
                    receiver.on_timer(now, &mut wire);
                }
                let at = now + Duration::from_nanos(10_000_000);
                pipe.extend(answers.into_iter().map(|(header, ecn)| (at, false, header, ecn)));
            };
        }
    }
    assert!(short > 20_000, "{short} acknowledgments took the short way");
}
