//! A send queue in a program without the standard library, e.g. on the modem of a router or phone.
//!
//! `cargo test` compiles this library but does not run it. It defines a panic handler, and a second one from `std`
//! would be an error, so it compiles only if `sojourn-aqm` does not depend on `std`.
#![no_std]
extern crate alloc;

use alloc::vec::Vec;
use sojourn_aqm::codel::{Codel, Config};
use sojourn_aqm::{DequeueResult, DropReason, Ecn, Host, Instant, Limits, Link, Meta, Qdisc, Rate, Rng, SingleQueue};

/// A queued datagram.
pub type Datagram = Vec<u8>;

/// A send queue under CoDel with ECN, in front of a path of `rate`; it does not allocate after construction.
pub fn send_queue(rate: Rate, seed: u64) -> SingleQueue<Codel, Datagram> {
    let host = Host { link: Link::new(rate, 1200), rng: Rng::from_state(seed) };
    SingleQueue::new(Codel::new(&Config { ecn: true, ..Config::default() }), Limits::packets(256), host)
}

/// The datagram to send now; `lost` is called for each datagram that the queue drops.
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
