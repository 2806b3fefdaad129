//! Parameter changes while packets are queued (`tc qdisc change`): a new discipline takes over the flows of the old
//! one.
//!
//! Source: `fq_codel_change`, `fq_pie_change` and `sfq_change` of Linux. The first two dequeue as for transmission and
//! drop the packets until the rest fits, so the managers decide on them too. SFQ drops as for an arrival that does not
//! fit, but Linux rejects changes of an SFQ in use. The number of queues is immutable there as well (sch_fq_codel.c
//! returns EINVAL).

use super::config::Overflow;
use super::schedule::Schedule;
use super::table::Table;
use super::{FlowQueue, perturb::Perturbation};
use crate::aqm::{Aqm, DropReason, inherit};
use crate::error::ConfigError;
use crate::qdisc::{DequeueResult, Qdisc, Sink};
use crate::time::Instant;

impl<A: Aqm + Send, P: 'static> FlowQueue<A, P> {
    /// Takes over from `old` at `now`.
    pub(super) fn inherit_from(
        &mut self,
        old: &mut Self,
        now: Instant,
        sink: &mut dyn Sink<P>,
    ) -> Result<(), ConfigError> {
        Table::check_same(&self.table, &old.table)?;
        Schedule::check_same(&self.schedule, &old.schedule)?;
        Perturbation::check_same(&self.perturbation, &old.perturbation)?;
        if self.overflow_handler.overflow != old.overflow_handler.overflow {
            return Err(ConfigError::ImmutableParam("overflow"));
        }
        // An update due at this instant precedes the change.
        old.catch_up(now, sink);
        old.run_updates(now, true);
        inherit(&mut self.template_aqm, &old.template_aqm, now)?;
        // The flows' managers can change as the first one can.
        for flow in &mut old.table.flows {
            let mut aqm = (self.new_aqm)();
            aqm.attach(&self.limits, self.host.link);
            inherit(&mut aqm, &flow.aqm, now)?;
            flow.aqm = aqm;
        }
        self.table.take_over(&mut old.table);
        self.schedule.inherit(&old.schedule);
        self.overflow_handler.last_victim = old.overflow_handler.last_victim;
        self.perturbation.inherit(&old.perturbation);
        self.store.take_over(&mut old.store);
        core::mem::swap(&mut self.host.rng, &mut old.host.rng);
        if let (Some(new), Some(old)) = (&mut self.ce_exclusion, &mut old.ce_exclusion) {
            new.take_over(old);
        } else {
            core::mem::swap(&mut self.ce_exclusion, &mut old.ce_exclusion);
        }
        self.has_fast_path &= self.ce_exclusion.is_none();
        (self.changes, self.last_served) = (old.changes, old.last_served);
        // Recomputed in the next call.
        self.next_update = now;
        self.drop_excess(now, sink);
        Ok(())
    }

    /// Drops packets until the limits hold.
    fn drop_excess(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        while !self.bounds.hold(self.store.backlog) {
            let has_dropped = match self.overflow_handler.overflow {
                Overflow::Fattest | Overflow::Arrival => self.drop_next(now, sink),
                Overflow::Longest => self.shed_longest(now, sink).is_some(),
                // ns-2's, which cannot change there: queued packets stay.
                Overflow::LongestFirst | Overflow::FairShare => false,
            };
            if !has_dropped {
                return;
            }
        }
    }

    /// Drops the packet that would be sent next. Returns whether there was one.
    fn drop_next(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> bool {
        let DequeueResult::Packet(meta, packet) = self.dequeue(now, sink) else { return false };
        let stats = &mut self.store.stats;
        stats.departed.packets -= 1;
        stats.departed.bytes -= u64::from(meta.len);
        stats.dropped[DropReason::Limit as usize].add(meta.len);
        sink.dropped(meta, packet, DropReason::Limit);
        true
    }
}
