//! Events of the channel: accesses start and end, frames arrive.

use super::Wlan;
use super::node::{Frame, Psdu};
use super::scheduler::Availability;
use super::tid::Aggregate;
use crate::link::{LinkContext, MeteredQueue, NONE};
use crate::probe::Probe;
use sojourn_aqm::Instant;

impl Wlan {
    /// Handles the channel's event: the start of an access, or an end that delivers or completes frames.
    pub fn on_channel<P: Probe>(&mut self, now: Instant, cx: &mut LinkContext<P>) {
        if self.ends_at == Some(now) {
            self.access_ends(now, cx);
        } else {
            self.access_begins(now);
        }
        self.calls.channel = true;
    }

    fn access_ends<P: Probe>(&mut self, now: Instant, cx: &mut LinkContext<P>) {
        self.ends_at = None;
        let mut senders = std::mem::take(&mut self.completing);
        for node in senders.drain(..) {
            let sender = &mut self.nodes[node];
            match sender.head() {
                Psdu::Frame(head) => {
                    let (arrives, is_over) = (std::mem::take(&mut head.arrives), head.completed.is_some());
                    if arrives {
                        // The receiver owns the packet from now on.
                        self.calls.arrived.push((self.first + node, std::mem::replace(&mut head.handle, NONE)));
                    }
                    if !is_over {
                        continue;
                    }
                }
                Psdu::Aggregate(_) => {}
            }
            match sender.pop(now) {
                Psdu::Frame(frame) => {
                    sender.report(now, &frame);
                    self.complete_frame(now, node, &frame, cx);
                }
                Psdu::Aggregate(aggregate) => self.aggregate_ends(now, node, aggregate, cx),
            }
            self.on_ring_space(now, node, cx);
        }
        self.completing = senders;
    }

    /// Completes an aggregate. Failed frames go back to their TID, above the ring.
    #[inline(never)]
    fn aggregate_ends<P>(&mut self, now: Instant, node: usize, mut aggregate: Aggregate, cx: &mut LinkContext<P>) {
        let receiver = self.nodes[node].receiver(aggregate.frames[0].station);
        for mut frame in aggregate.frames.drain(..) {
            let tid = &mut self.nodes[node].tids[receiver];
            if frame.arrives {
                let handle = std::mem::replace(&mut frame.handle, NONE);
                tid.agreement.on_frame(now, frame.number, handle);
            }
            if frame.completed.is_none() {
                tid.put_back(frame);
                continue;
            }
            if !frame.received {
                tid.agreement.on_abandoned(frame.number);
            }
            tid.agreement.complete(frame.number);
            self.nodes[node].report(now, &frame);
            self.complete_frame(now, node, &frame, cx);
        }
        while let Some((handle, since)) = self.nodes[node].tids[receiver].agreement.release() {
            self.tally.released(now, node, since);
            self.calls.arrived.push((self.first + node, handle));
        }
        let sender = &mut self.nodes[node];
        sender.end_aggregate(aggregate);
        let again = sender.tids[receiver].offers() == Some(Availability::Now);
        sender.scheduler.as_mut().expect("aggregating stations sort by receiver").on_complete(receiver, again);
    }

    /// Completes a frame at its sender: acknowledged or abandoned.
    #[inline(always)]
    fn complete_frame<P>(&mut self, now: Instant, node: usize, frame: &Frame, cx: &mut LinkContext<P>) {
        self.tally.record_completion(now, node, frame.is_acknowledged(), (frame.entered, frame.first));
        if frame.is_local_data {
            self.sockets.on_departure(frame.slot);
        }
        if !frame.received {
            self.interfaces[node].tally_mut().loss(now);
            cx.packets.remove(frame.handle);
        }
    }

    /// Refills a ring after a completion.
    fn on_ring_space<P: Probe>(&mut self, now: Instant, node: usize, cx: &mut LinkContext<P>) {
        self.pull(now, node, cx);
        if self.nodes[node].is_empty() {
            self.dcf.on_empty(node);
        }
    }
}
