//! What serves a queue: the trait, and its two kinds.

use super::Books;
use super::body::Body;
use super::one_by_one::{OneByOne, Pace, Sent};
use super::opportunity::{Opportunities, Source};
use crate::packet::{Handle, Packet};
use crate::probe::Probe;
use crate::summary::Tally;
use crate::window::Window;
use sojourn_aqm::{Instant, Meta, Serializer};

/// What a call of a link has led to.
#[must_use]
pub(crate) struct Served {
    pub left: Option<Left>,
    pub again: Again,
}

/// A packet that has left the server and was not lost.
pub(crate) struct Left {
    /// When it reaches the far end.
    pub at: Instant,
    pub handle: Handle,
    pub packet: Packet,
    /// Whether it may overtake others, or be overtaken.
    pub overtakes: bool,
}

/// When a link wants to be called next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// As it has said before.
    AsBefore,
    /// Then and not before; [`Instant::NEVER`] until something arrives.
    At(Instant),
    /// Now: another packet may leave at once.
    Now,
}

impl Served {
    /// Nothing leaves.
    pub const fn nothing(again: Again) -> Self {
        Self { left: None, again }
    }
}

/// What serves a queue, in a simulation or for another host.
pub(crate) trait Server {
    /// A packet arrives.
    fn offer<P: Probe>(
        &mut self,
        now: Instant,
        meta: Meta,
        handle: Handle,
        packet: Packet,
        body: &mut Body,
        books: &mut Books<P>,
    ) -> Served;

    /// The time has come for which it asked.
    fn serve<P: Probe>(&mut self, now: Instant, body: &mut Body, books: &mut Books<P>) -> Served;

    /// Books that the transmission of `bytes` began at `now`, as another host has seen it.
    fn replay(&mut self, now: Instant, bytes: u32, tally: &mut Tally);

    /// What it has used until `now`, if `used` includes what has begun, and what it could have used.
    fn used_and_usable(&mut self, used: u64, now: Instant) -> (u64, u64);

    /// What it could have used from instant `number` of the window on.
    fn usable_from(&mut self, window: &Window, number: usize) -> u64;

    /// What it could do between `from` and `to`, which never goes back; opportunities are counted from the start on.
    fn usable(&mut self, from: Instant, to: Instant) -> u64;

    /// What a transmission of `bytes` from `start` to `free` uses of that.
    fn used(&mut self, start: Instant, free: Instant, bytes: u32) -> u64;

    /// Sends `bytes` that are there at `start`, and nothing with them.
    fn send(&mut self, start: Instant, bytes: u32) -> Sent;

    /// When its next opportunity is due, if it serves in opportunities.
    fn opportunity(&self) -> Option<Instant>;

    /// Its opportunities, if it serves in opportunities.
    fn opportunities(&mut self) -> Option<&mut dyn Source>;
}

/// Any server. A new kind of link is no new variant, but a [`Pace`] or a [`Source`].
pub(crate) enum AnyServer {
    /// Packet after packet at a constant rate: what most links have, and all of a plain dumbbell. It has a variant of its
    /// own because a call through a pointer for each packet would show there.
    Constant(OneByOne<Serializer>),
    /// Packet after packet at any pace.
    Paced(OneByOne<Box<dyn Pace>>),
    /// In opportunities, from wherever they come.
    Opportunities(Opportunities),
}

impl AnyServer {
    /// Packet after packet.
    pub fn paced(pace: impl Pace + 'static) -> Self {
        Self::Paced(OneByOne::new(Box::new(pace)))
    }
}

macro_rules! each {
    ($any:expr, $server:ident => $call:expr) => {
        match $any {
            AnyServer::Constant($server) => $call,
            AnyServer::Paced($server) => $call,
            AnyServer::Opportunities($server) => $call,
        }
    };
}

impl Server for AnyServer {
    #[inline(always)]
    fn offer<P: Probe>(
        &mut self,
        now: Instant,
        meta: Meta,
        handle: Handle,
        packet: Packet,
        body: &mut Body,
        books: &mut Books<P>,
    ) -> Served {
        each!(self, server => Server::offer(server, now, meta, handle, packet, body, books))
    }
    #[inline(always)]
    fn serve<P: Probe>(&mut self, now: Instant, body: &mut Body, books: &mut Books<P>) -> Served {
        each!(self, server => Server::serve(server, now, body, books))
    }
    fn replay(&mut self, now: Instant, bytes: u32, tally: &mut Tally) {
        each!(self, server => server.replay(now, bytes, tally))
    }
    fn used_and_usable(&mut self, used: u64, now: Instant) -> (u64, u64) {
        each!(self, server => server.used_and_usable(used, now))
    }
    fn usable_from(&mut self, window: &Window, number: usize) -> u64 {
        each!(self, server => server.usable_from(window, number))
    }
    fn usable(&mut self, from: Instant, to: Instant) -> u64 {
        each!(self, server => server.usable(from, to))
    }
    fn used(&mut self, start: Instant, free: Instant, bytes: u32) -> u64 {
        each!(self, server => server.used(start, free, bytes))
    }
    fn send(&mut self, start: Instant, bytes: u32) -> Sent {
        each!(self, server => server.send(start, bytes))
    }
    fn opportunity(&self) -> Option<Instant> {
        each!(self, server => server.opportunity())
    }
    fn opportunities(&mut self) -> Option<&mut dyn Source> {
        each!(self, server => server.opportunities())
    }
}
