//! Connections with random options, numbered.

use super::ends::{Ends, QuicEnds, TcpEnds};
use crate::cc::AnyCc;
use crate::cc::foreign::ControlDefinition;
use crate::stack::Stack;
use sojourn_aqm::Rng;
use std::sync::Arc;

/// Transport of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// TCP with this stack.
    Tcp(&'static str),
    /// QUIC (`quic-rfc9002`).
    Quic,
}

impl Transport {
    /// All transports that `definition` supports.
    pub fn all(definition: &dyn ControlDefinition) -> Vec<Self> {
        // The newest stack, and the oldest one that has every service: it asks the control for the window after an undo.
        let tcp = [Self::Tcp("linux-6.1"), Self::Tcp("linux-3.13")];
        let quic = definition.fits_quic().then_some(Self::Quic);
        tcp.into_iter().chain(quic).collect()
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp(stack) => stack,
            Self::Quic => "quic-rfc9002",
        }
    }

    /// A connection with the usual options.
    pub fn plain(self, definition: Arc<dyn ControlDefinition>, ecn: bool) -> Box<dyn Ends> {
        let cc = AnyCc::foreign(definition);
        let random = Rng::stream(0, "control", 0);
        match self {
            Self::Tcp(stack) => Box::new(TcpEnds::plain(cc, found(stack), ecn).with_rng(random)),
            Self::Quic => Box::new(QuicEnds::new(cc, (ecn, true), random)),
        }
    }

    /// Connection number `index` of `seed`, and the random stream of its world.
    pub fn draw(self, definition: Arc<dyn ControlDefinition>, seed: u64, index: u64) -> (Box<dyn Ends>, Rng) {
        let (cc, random) = (AnyCc::foreign(definition), Rng::stream(seed, "control", index));
        let mut rng = Rng::stream(seed, "conformance of controls", index);
        let ends: Box<dyn Ends> = match self {
            Self::Tcp(stack) => Box::new(TcpEnds::draw(cc, found(stack), &mut rng).with_rng(random)),
            Self::Quic => {
                let [ecn, delayed_ack] = [0.4, 0.7].map(|share| rng.uniform() < share);
                Box::new(QuicEnds::new(cc, (ecn, delayed_ack), random))
            }
        };
        (ends, rng)
    }
}

fn found(stack: &str) -> &'static Stack {
    Stack::find(stack).expect("a registered stack")
}
