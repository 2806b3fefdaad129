//! DRR, Deficit Round Robin (M. Shreedhar, G. Varghese, SIGCOMM 1995): a flow sends as much as its accumulated deficit
//! allows; a flow that becomes empty loses the remainder.
//!
//! # When to use
//!
//! As the reference of byte-fair sharing with a simple deficit; delay is left to the limits.

use crate::droptail;
use crate::flow::{Overflow, Scheduler};
use crate::flow_queue;

flow_queue! {
    /// DRR's configuration.
    pub struct Config: flows under droptail::DropTail;
    profiles { "sigcomm95", "the paper; drops at the tail of the longest flow to make room" => sigcomm95; }
}

fn sigcomm95(c: &mut Config) {
    c.queue.scheduler = Scheduler::Drr;
    c.queue.overflow = Overflow::Longest;
}
