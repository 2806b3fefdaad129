//! Shared fixtures of the algorithms' unit tests: a link, a clock in milliseconds, a queue, a call's context.

use crate::aqm::{Aqm, Cx};
use crate::backlog::Backlog;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::{Ecn, Meta};
use crate::params::Config;
use crate::qdisc::{EnqueueResult, Host, Qdisc};
use crate::rate::Rate;
use crate::rng::Rng;
use crate::single::SingleQueue;
use crate::time::Instant;

/// One packet of 1500 bytes per millisecond.
pub const LINK: Link = Link::new(Rate::from_bps(12_000_000), 1500);
/// The same with an MTU that includes the Ethernet header.
pub const ETHERNET: Link = Link { mtu: 1514, ..LINK };

/// A point in milliseconds from the origin.
pub fn ms(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

/// The configuration of a profile with parameters set, each within its range; combinations are not checked.
pub fn config<C: Config>(profile: &str, params: &[(&str, &str)]) -> C {
    let mut config = C::profile(profile).expect("a profile of the table");
    params.iter().for_each(|(name, text)| config.set(name, text).expect("a parameter in its range"));
    config
}

/// A queue above `link` with the random stream from state 1.
pub fn queue_under<A: Aqm>(aqm: A, limits: Limits, link: Link) -> SingleQueue<A, u32> {
    SingleQueue::new(aqm, limits, Host { link, rng: Rng::from_state(1) })
}

/// Offers a packet; it must not cause drops of queued packets.
pub fn push<A: Aqm>(queue: &mut SingleQueue<A, u32>, now: Instant, len: u32, ecn: Ecn) -> EnqueueResult {
    let mut dropped = 0;
    let enqueued = queue.enqueue(now, Meta::new(len, 0).with_ecn(ecn), 0, &mut |_, _, _| dropped += 1);
    assert_eq!(dropped, u32::from(matches!(enqueued, EnqueueResult::Dropped(_))), "only the arrival is dropped");
    enqueued
}

/// Context of a call to the algorithm of a queue with `backlog`.
pub fn cx(now: Instant, rng: &mut Rng, backlog: Backlog, link: Link) -> Cx<'_> {
    Cx { now, rng, total_backlog: backlog, backlog, link }
}
