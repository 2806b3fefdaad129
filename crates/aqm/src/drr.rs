//! DRR, Deficit Round Robin (M. Shreedhar, G. Varghese, SIGCOMM 1995): a flow sends what its saved-up credit covers;
//! a flow that runs empty loses what is left of it.
//!
//! # When to use
//!
//! As the reference of byte-fair sharing with a credit that is easy to reason about; delay is left to the limits.

use crate::droptail;
use crate::flow::{Overflow, Scheduler};
use crate::flow_queue;

flow_queue! {
    /// DRR's configuration.
    pub struct Config: flows under droptail::DropTail;
    profiles { "sigcomm95", "the paper, room made at the tail of the longest flow" => sigcomm95; }
}

fn sigcomm95(c: &mut Config) {
    c.queue.scheduler = Scheduler::Drr;
    c.queue.overflow = Overflow::Longest;
}
