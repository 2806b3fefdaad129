//! sfqCoDel of ns-2 (K. Nichols, sfqcodel.cc, 2012–13): bins under CoDel, one packet of each in turn, new ones first.
//!
//! Differs: each bin's CoDel keeps its own largest packet seen, where ns-2 has one for all bins.
//!
//! # When to use
//!
//! For results published with ns-2's module. It takes turns by packets, so flows of small packets get less than an
//! equal share of bytes; for new work take [FQ-CoDel](crate::fq_codel).

use crate::codel::{self, SmallBacklog, Version};
use crate::flow::{Hash, Overflow, Scheduler};
use crate::flow_queue;

flow_queue! {
    /// sfqCoDel's configuration; quantum 0 is a packet per turn.
    pub struct Config: flows under codel::Codel;
    profiles { "ns2", "ns-2, sfqcodel.cc" => ns2; }
}

fn ns2(c: &mut Config) {
    c.queue.scheduler = Scheduler::Ns2;
    c.queue.quantum.0 = 0;
    c.queue.hash = Hash::Jenkins;
    c.queue.overflow = Overflow::LongestFirst;
    c.aqm.version = Version::Ns2_2012;
    c.aqm.small_backlog = SmallBacklog::AtMostOrLast;
}
