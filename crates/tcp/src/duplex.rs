//! Senders of connections with data both ways: the application writes as it goes, and one handshake serves both
//! directions.

use super::sender::Phase;
use super::{Flags, Header, Sender, Wire};
use sojourn_aqm::Instant;

impl Sender {
    /// Opens the connection; what is to be sent comes by [`Sender::write`].
    pub fn connect(&mut self, now: Instant, wire: &mut impl Wire) {
        self.open(now, Some(0), wire);
        self.queue.stay_open();
    }

    /// The side that was connected to takes the first segment behind the SYN and may send from now on. Its RTT is the
    /// time since its answer to the SYN.
    pub fn accept(&mut self, now: Instant, header: &Header) {
        if self.phase != Phase::Closed || header.flags.contains(Flags::SYN) {
            return;
        }
        let now = self.enter(now);
        self.phase = Phase::Established;
        self.queue.established();
        self.ts_recent = header.ts_val;
        let rtt = now.saturating_sub(header.ts_ecr) * self.rtt.per_tick();
        if self.stack.timestamps {
            self.rtt.sample(rtt, self.queue.una(), self.queue.nxt());
        }
        self.rack.observe_rtt(self.at, self.rtt_from_units(rtt));
        self.usage.touched(now);
    }

    /// What the application writes next is the last: a FIN goes with its end.
    pub fn end_with_next(&mut self) {
        self.queue.end();
    }

    /// Whether everything is acknowledged, up to the FIN.
    pub fn is_finished(&self) -> bool {
        self.queue.fin_sent() && self.board.packets_out() == 0
    }
}
