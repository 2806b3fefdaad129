//! Any server, built from a scenario's service.
//!
//! Most links have a constant rate and delay, no loss, no driver ring and no cells. Code specialised for them skips the
//! checks for those features; all other paces are called through a pointer.

use super::bucket::TokenBucket;
use super::core::LinkCore;
use super::cox::Cox;
use super::opportunity::Opportunities;
use super::poisson::Poisson;
use super::serial::SerialServer;
use super::server::{OpportunitySource, Pace, Server, ServerParams, TransmissionTimes};
use super::steps::{Fluid, Latch};
use super::trace::TraceLaps;
use super::{LinkContext, QueueEntry, ServiceResult};
use crate::probe::Probe;
use crate::scenario::{RateChange, Service};
use crate::schedule::Quanta;
use crate::tally::Tally;
use crate::window::Window;
use sojourn_aqm::{Instant, Rate, Serializer};

/// Any server. A new kind of link is not a new variant but a [`Pace`] or an [`OpportunitySource`]. `repr(u8)` because a
/// niche tag takes longer to read.
#[repr(u8)]
pub(crate) enum AnyServer {
    /// One packet at a time at a constant rate, in a [plain](LinkCore::is_plain) link. A variant of its own because
    /// dynamic dispatch, or checks for features that the link lacks, would be measurable here.
    Plain(SerialServer<Serializer>),
    /// One packet at a time at a constant rate.
    Constant(SerialServer<Serializer>),
    /// One packet at a time at any pace.
    Paced(SerialServer<Box<dyn Pace>>),
    /// In delivery opportunities from any source.
    Opportunities(Opportunities),
}

impl AnyServer {
    /// The server of `service` at the start of a run; `None` for the channel of a wireless LAN, which serves many
    /// queues. A new kind of link is one line here.
    pub fn new(service: &Service, params: &ServerParams) -> Option<Self> {
        Some(match service {
            Service::Rate(rate) => Self::Constant(SerialServer::new(Serializer::new(*rate))),
            Service::Steps(spec) => match spec.change {
                RateChange::Fluid => Self::paced(Fluid::new(&spec.rate)),
                RateChange::Latch => Self::paced(Latch::new(&spec.rate)),
                RateChange::Opportunity => Self::opportunities_of(Quanta::new(&spec.rate, params.mtu), params),
            },
            Service::Bucket(spec) => Self::paced(TokenBucket::new(spec)),
            Service::Poisson(spec) => Self::opportunities_of(Poisson::new(spec.poisson, params), params),
            Service::Cox(spec) => Self::opportunities_of(Cox::new(spec, params), params),
            Service::Trace(spec) => Self::opportunities_of(TraceLaps::new(&spec.trace, spec.once), params),
            Service::Wlan(_) => return None,
        })
    }

    /// Specialises the server for `body`.
    pub fn with(self, body: &LinkCore) -> Self {
        match self {
            Self::Constant(server) if body.is_plain() => Self::Plain(server),
            other => other,
        }
    }

    /// Start of the last transmission, if packets are sent one by one.
    pub fn began(&self) -> Option<Instant> {
        match self {
            Self::Plain(server) | Self::Constant(server) => Some(server.last_start()),
            Self::Paced(server) => Some(server.last_start()),
            Self::Opportunities(_) => None,
        }
    }

    /// The rate, if it is constant.
    pub fn rate(&self) -> Option<Rate> {
        match self {
            Self::Plain(server) | Self::Constant(server) => Some(server.rate()),
            Self::Paced(_) | Self::Opportunities(_) => None,
        }
    }

    fn paced(pace: impl Pace + 'static) -> Self {
        Self::Paced(SerialServer::new(Box::new(pace)))
    }

    fn opportunities_of(source: impl OpportunitySource + Clone + 'static, params: &ServerParams) -> Self {
        Self::Opportunities(Opportunities::new(source, params))
    }
}

macro_rules! each {
    ($any:expr, $server:ident => $call:expr) => {
        match $any {
            AnyServer::Plain($server) => $call,
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
        entry: QueueEntry,
        body: &mut LinkCore,
        cx: &mut LinkContext<P>,
    ) -> ServiceResult {
        each!(self, server => Server::offer(server, now, entry, body, cx))
    }
    #[inline(always)]
    fn serve<P: Probe>(&mut self, now: Instant, body: &mut LinkCore, cx: &mut LinkContext<P>) -> ServiceResult {
        each!(self, server => Server::serve(server, now, body, cx))
    }
    fn before_change<P: Probe>(&mut self, now: Instant, body: &mut LinkCore, cx: &mut LinkContext<P>) {
        each!(self, server => Server::before_change(server, now, body, cx))
    }
    fn after_change<P: Probe>(&mut self, now: Instant, body: &mut LinkCore, cx: &mut LinkContext<P>) -> ServiceResult {
        each!(self, server => Server::after_change(server, now, body, cx))
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
    fn send(&mut self, start: Instant, bytes: u32) -> TransmissionTimes {
        each!(self, server => server.send(start, bytes))
    }
    fn opportunity(&self) -> Option<Instant> {
        each!(self, server => server.opportunity())
    }
    fn opportunities(&mut self) -> Option<&mut dyn OpportunitySource> {
        each!(self, server => server.opportunities())
    }
}
