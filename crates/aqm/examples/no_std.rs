//! A send queue in a program without the standard library, e.g. on a router's or a phone's modem.
//!
//! It is a library that is compiled by `cargo test` and never run: it has a panic handler of its own, and a second one
//! from `std` would be an error, so it compiles only if nothing in `sojourn-aqm` needs `std`.
#![no_std]
extern crate alloc;

use alloc::vec::Vec;
use sojourn_aqm::codel::{Codel, Config};
use sojourn_aqm::{DequeueResult, DropReason, Ecn, Host, Instant, Limits, Link, Meta, Qdisc, Rate, Rng, SingleQueue};

/// What waits to be sent.
pub type Datagram = Vec<u8>;

/// A send queue under CoDel with ECN, in front of a path of `rate`; it allocates nothing after this.
pub fn send_queue(rate: Rate, seed: u64) -> SingleQueue<Codel, Datagram> {
    let host = Host { link: Link::new(rate, 1200), rng: Rng::from_state(seed) };
    SingleQueue::new(Codel::new(&Config { ecn: true, ..Config::default() }), Limits::packets(256), host)
}

/// What to send now; `lost` hears of each datagram that the queue drops.
pub fn poll_transmit(
    queue: &mut SingleQueue<Codel, Datagram>,
    now_ns: u64,
    lost: &mut dyn FnMut(Datagram),
) -> Option<(Datagram, Ecn)> {
    match queue.dequeue(Instant::from_nanos(now_ns), &mut |_: Meta, datagram, _: DropReason| lost(datagram)) {
        DequeueResult::Packet(meta, datagram) => Some((datagram, meta.ecn)),
        DequeueResult::Empty | DequeueResult::NotBefore(_) => None,
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
