//! SFQ, Stochastic Fairness Queueing (P. McKenney, INFOCOM 1990): hashed flows in round robin; overflow drops from the
//! longest flow, or from the one above its share. As in Linux (sch_sfq.c) and in ns-2 (sfq.cc).
//!
//! The deficit counts bytes, as in Linux since 6.10 and in 6.1 by backport; `scaled_allot` restores units of 8 bytes.
//!
//! # When to use
//!
//! To study fair queueing without a manager: it shares the link, but each flow's queue still fills. Hosts without
//! multi-gigabit needs used it for decades before FQ-CoDel.

use crate::droptail;
use crate::flow::{Hash, Isolation, Overflow, Scheduler};
use crate::flow_queue;
use crate::params::Bytes;

flow_queue! {
    /// SFQ's configuration; the default is Linux's.
    pub struct Config: flows under droptail::DropTail;
    profiles {
        "linux", "Linux: 127 packets in all, 1024 hash values for at most 128 flows, overflow drops from the longest" => |c| linux(&mut c.queue);
        "linux-3.10", "Linux before 6.10: credit is counted in units of 8 bytes" => linux_3_10;
        "ns2", "ns-2: 40 packets in 16 buckets by hosts, one packet per turn; arrivals beyond a fair share are dropped" => ns2;
    }
}

/// The flows of Linux's SFQ.
pub(crate) fn linux(queue: &mut crate::flow::Config) {
    queue.scheduler = Scheduler::Sfq;
    queue.overflow = Overflow::Longest;
    queue.limit = 127;
    queue.depth = 127;
    queue.flows = 128;
    queue.divisor = 1024;
}

fn linux_3_10(c: &mut Config) {
    linux(&mut c.queue);
    c.queue.scaled_allot = true;
}

fn ns2(c: &mut Config) {
    c.queue.scheduler = Scheduler::Sfq;
    c.queue.overflow = Overflow::FairShare;
    c.queue.hash = Hash::HostSum;
    c.queue.isolation = Isolation::HostPair;
    c.queue.quantum = Bytes(0);
    c.queue.limit = 40;
    c.queue.flows = 16;
}
