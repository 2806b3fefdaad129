//! What the channel does in a network: accesses begin and end, frames arrive.

use super::Air;
use super::node::{Frame, Load};
use super::turns::Offer;
use crate::network::{Component, NONE, Network};
use crate::probe::Probe;
use sojourn_aqm::Instant;

impl<P: Probe> Network<P> {
    /// An access starts, or one ends that has consequences.
    pub fn on_channel(&mut self, now: Instant) {
        if self.air.wlan().ends_at == Some(now) {
            self.access_ends(now);
        } else {
            let links = &mut self.links;
            self.air.wlan().access_begins(now, |node, airtime| {
                links[node].tally.transmission(now, now + airtime, |from, to| (to - from).as_nanos() as u64);
            });
        }
        self.expect_channel();
    }

    fn access_ends(&mut self, now: Instant) {
        let wlan = self.air.wlan();
        wlan.ends_at = None;
        let mut concerned = std::mem::take(&mut wlan.concerned);
        for node in concerned.drain(..) {
            match self.air.wlan().nodes[node].head() {
                Load::Frame(_) => self.frame_ends(now, node),
                Load::Aggregate(_) => self.aggregate_ends(now, node),
            }
        }
        self.air.wlan().concerned = concerned;
    }

    fn frame_ends(&mut self, now: Instant, node: usize) {
        let Load::Frame(head) = self.air.wlan().nodes[node].head() else { unreachable!("it is no aggregate") };
        let (arrives, through) = (std::mem::take(&mut head.arrives), head.through);
        if arrives {
            // From now on the packet belongs to who receives it.
            let handle = std::mem::replace(&mut head.handle, NONE);
            self.leave_channel(now, node, handle);
        }
        let Some(acknowledged) = through else { return };
        let Load::Frame(frame) = self.air.wlan().nodes[node].pop(now) else { unreachable!("it is no aggregate") };
        self.is_through(now, node, &frame, acknowledged);
        self.ring_moved(now, node);
    }

    /// What has failed in an aggregate goes back above the ring.
    #[inline(never)]
    fn aggregate_ends(&mut self, now: Instant, node: usize) {
        let sender = &mut self.air.wlan().nodes[node];
        let Load::Aggregate(mut aggregate) = sender.pop(now) else { unreachable!("it is an aggregate") };
        let receiver = sender.receiver(aggregate.frames[0].station);
        for mut frame in aggregate.frames.drain(..) {
            let tid = &mut self.air.wlan().nodes[node].tids[receiver];
            if frame.arrives {
                let handle = std::mem::replace(&mut frame.handle, NONE);
                tid.agreement.arrived(now, frame.number, handle);
            }
            let Some(acknowledged) = frame.through else {
                tid.put_back(frame);
                continue;
            };
            if !frame.received {
                tid.agreement.given_up(frame.number);
            }
            tid.agreement.through(frame.number);
            self.is_through(now, node, &frame, acknowledged);
        }
        while let Some((handle, since)) = self.air.wlan().nodes[node].tids[receiver].agreement.release() {
            self.air.wlan().tally.released(now, node, since);
            self.leave_channel(now, node, handle);
        }
        let sender = &mut self.air.wlan().nodes[node];
        sender.end_aggregate(aggregate);
        let again = sender.tids[receiver].offers() == Some(Offer::Now);
        sender.turns.as_mut().expect("who aggregates sorts by receivers").is_back(receiver, again);
        self.ring_moved(now, node);
    }

    #[inline(always)]
    fn is_through(&mut self, now: Instant, node: usize, frame: &Frame, acknowledged: bool) {
        let wlan = self.air.wlan();
        wlan.nodes[node].report(now, frame, acknowledged);
        wlan.tally.through(now, node, acknowledged, frame.entered, frame.first);
        if frame.counts {
            wlan.sockets.left(frame.slot);
        }
        if !frame.received {
            self.links[node].tally.loss(now);
            self.packets.remove(frame.handle);
        }
    }

    /// There is room in a ring.
    fn ring_moved(&mut self, now: Instant, node: usize) {
        self.pull(now, node);
        let wlan = self.air.wlan();
        if wlan.nodes[node].is_empty() {
            wlan.dcf.is_empty(node);
        }
    }

    /// Sees to it that the channel's next event comes.
    pub fn expect_channel(&mut self) {
        let at = self.air.wlan().next_event();
        self.events.set(self.layout.slot(Component::Channel), at);
    }
}
