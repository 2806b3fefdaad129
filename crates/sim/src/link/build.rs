//! From the described service to the server: a new kind of link is a line here.

use super::bucket::Bucket;
use super::cox::Cox;
use super::one_by_one::OneByOne;
use super::poisson::Poisson;
use super::server::AnyServer;
use super::steps;
use super::trace::Laps;
use crate::scenario::Service;
use crate::window::Window;
use sojourn_aqm::{Rng, Serializer};

/// Where a server sits.
pub(super) struct Seat {
    /// Number of its link.
    pub index: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Bytes that one opportunity carries.
    pub mtu: u32,
    /// When the statistics can begin.
    pub window: Window,
}

impl Seat {
    /// The server's own random stream.
    pub fn rng(&self) -> Rng {
        Rng::stream(self.seed, "link", self.index as u64)
    }
}

/// The server of `service` at the start of a run; none of the channel of a wireless LAN, which serves many queues.
pub(super) fn server(service: &Service, seat: &Seat) -> Option<AnyServer> {
    Some(match service {
        Service::Rate(rate) => AnyServer::Constant(OneByOne::new(Serializer::new(*rate))),
        Service::Steps(spec) => steps::server(spec, seat),
        Service::Bucket(spec) => AnyServer::paced(Bucket::new(spec.bucket, spec.burst, spec.peak, spec.overdraft)),
        Service::Poisson(spec) => AnyServer::opportunities_of(Poisson::new(spec.poisson, seat), seat),
        Service::Cox(spec) => AnyServer::opportunities_of(Cox::new(spec, seat), seat),
        Service::Trace(spec) => AnyServer::opportunities_of(Laps::new(&spec.trace, spec.once), seat),
        Service::Wlan(_) => return None,
    })
}
