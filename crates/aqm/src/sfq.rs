//! SFQ, Stochastic Fairness Queueing (P. McKenney, INFOCOM 1990), as in Linux (sch_sfq.c): hashed flows in one
//! round, room is made at the tail of the longest.
//!
//! Differs: queued packets are never hashed anew (`perturb_period` 0, which is Linux's default).
//!
//! # When to use
//!
//! To see what fair queueing does without any manager: it shares the link, and a flow's own queue still fills. Hosts
//! without multi-gigabit needs used it for decades before FQ-CoDel.

use crate::droptail;
use crate::flow::{Overflow, Scheduler};
use crate::flow_queue;

flow_queue! {
    /// SFQ's configuration; the default is Linux's.
    pub struct Config: flows under droptail::DropTail;
    profiles { "linux", "Linux: 127 packets in all, 1024 hash values" => linux; }
}

fn linux(c: &mut Config) {
    c.queue.scheduler = Scheduler::Sfq;
    c.queue.overflow = Overflow::Longest;
    c.queue.limit = 127;
    c.queue.depth = 127;
}
