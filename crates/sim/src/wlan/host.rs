//! What happens on the channel: accesses begin and end, frames arrive.

use super::Wlan;
use super::node::{Frame, Psdu};
use super::scheduler::Availability;
use super::tid::Aggregate;
use crate::link::{LinkContext, MeteredQueue, NONE};
use crate::probe::Probe;
use sojourn_aqm::Instant;

impl Wlan {
    /// An access starts, or one ends that has consequences.
    pub fn on_channel<P: Probe>(&mut self, now: Instant, books: &mut LinkContext<P>) {
        if self.ends_at == Some(now) {
            self.access_ends(now, books);
        } else {
            self.access_begins(now);
        }
        self.calls.channel = true;
    }

    fn access_ends<P: Probe>(&mut self, now: Instant, books: &mut LinkContext<P>) {
        self.ends_at = None;
        let mut concerned = std::mem::take(&mut self.receivers);
        for node in concerned.drain(..) {
            let sender = &mut self.nodes[node];
            match sender.head() {
                Psdu::Frame(head) => {
                    let (arrives, is_over) = (std::mem::take(&mut head.arrives), head.completed.is_some());
                    if arrives {
                        // From now on the packet belongs to who receives it.
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
                    self.complete_frame(now, node, &frame, books);
                }
                Psdu::Aggregate(aggregate) => self.aggregate_ends(now, node, aggregate, books),
            }
            self.on_ring_space(now, node, books);
        }
        self.receivers = concerned;
    }

    /// What has failed in an aggregate goes back above the ring.
    #[inline(never)]
    fn aggregate_ends<P>(&mut self, now: Instant, node: usize, mut aggregate: Aggregate, books: &mut LinkContext<P>) {
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
            self.complete_frame(now, node, &frame, books);
        }
        while let Some((handle, since)) = self.nodes[node].tids[receiver].agreement.release() {
            self.tally.released(now, node, since);
            self.calls.arrived.push((self.first + node, handle));
        }
        let sender = &mut self.nodes[node];
        sender.end_aggregate(aggregate);
        let again = sender.tids[receiver].offers() == Some(Availability::Now);
        sender.scheduler.as_mut().expect("who aggregates sorts by receivers").is_back(receiver, again);
    }

    /// The sender is through with a frame, which was acknowledged or given up.
    #[inline(always)]
    fn complete_frame<P>(&mut self, now: Instant, node: usize, frame: &Frame, books: &mut LinkContext<P>) {
        self.tally.record_completion(now, node, frame.is_acknowledged(), (frame.entered, frame.first));
        if frame.is_local_data {
            self.sockets.on_departure(frame.slot);
        }
        if !frame.received {
            self.interfaces[node].tally_mut().loss(now);
            books.packets.remove(frame.handle);
        }
    }

    /// There is room in a ring.
    fn on_ring_space<P: Probe>(&mut self, now: Instant, node: usize, books: &mut LinkContext<P>) {
        self.pull(now, node, books);
        if self.nodes[node].is_empty() {
            self.dcf.on_empty(node);
        }
    }
}
