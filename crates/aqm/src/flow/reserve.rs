//! Memory for all flows and packets that the limits allow, before the first packet ([`Qdisc::reserve`]).
//!
//! Packets of all flows share one slab of the limit. A manager without memory of its own lies in its flow; others are
//! made in advance, one for each flow.
//!
//! [`Qdisc::reserve`]: crate::Qdisc::reserve

use super::FlowQueue;
use crate::aqm::{Aqm, reserve};
use crate::reservation::{Reservation, ReservationError};
use alloc::boxed::Box;
use alloc::vec::Vec;

impl<A: Aqm + Send, P> FlowQueue<A, P> {
    pub(super) fn reserve_all(&mut self, memory: &mut Reservation) -> Result<(), ReservationError> {
        // One more, for the packet that is queued before another makes room.
        let packets = memory.bound_packets(&mut self.bounds).saturating_add(1);
        self.store.packets.reserve(packets, memory)?;
        let flows = self.table.reserve(packets, memory)?;
        if let Some(exclusion) = &mut self.ce_exclusion {
            exclusion.reserve(flows, packets, memory)?;
        }
        let before = memory.bytes();
        reserve_manager(&mut self.template_aqm, packets, memory)?;
        if memory.bytes() == before {
            return Ok(());
        }
        if self.table.is_perfect() {
            return Err(ReservationError::Impossible(
                "hash perfect makes a queue manager for each new flow, and this one needs memory; use hash perturbed",
            ));
        }
        self.make_managers(flows, packets, memory)
    }

    /// Makes the managers of all `flows`, each for a queue of `packets`.
    fn make_managers(
        &mut self,
        flows: usize,
        packets: usize,
        memory: &mut Reservation,
    ) -> Result<(), ReservationError> {
        let mut managers = Vec::new();
        memory.vec(&mut managers, flows)?;
        for _ in 0..flows {
            let mut aqm = (self.new_aqm)();
            reserve_manager(&mut aqm, packets, memory)?;
            managers.push(aqm);
        }
        let unreserved = Box::new(|| unreachable!("a bucket has one flow"));
        let mut make = core::mem::replace(&mut self.new_aqm, unreserved);
        self.new_aqm = Box::new(move || managers.pop().unwrap_or_else(&mut make));
        Ok(())
    }
}

/// Reserves a manager's memory, that of its box included.
fn reserve_manager<A: Aqm>(aqm: &mut A, packets: usize, memory: &mut Reservation) -> Result<(), ReservationError> {
    if let Some(boxed) = aqm.as_any().downcast_ref::<Box<dyn Aqm + Send>>() {
        memory.account::<u8>(size_of_val(&**boxed))?;
    }
    reserve(aqm, packets, memory)
}
