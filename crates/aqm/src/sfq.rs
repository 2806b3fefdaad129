//! SFQ, Stochastic Fairness Queueing (P. McKenney, INFOCOM 1990): hashed flows in one round, and the longest of them,
//! or the one that has more than its share, makes room. As in Linux (sch_sfq.c) and as in ns-2 (sfq.cc).
//!
//! # When to use
//!
//! To see what fair queueing does without any manager: it shares the link, and a flow's own queue still fills. Hosts
//! without multi-gigabit needs used it for decades before FQ-CoDel.

use crate::droptail;
use crate::flow::{Hash, Isolation, Overflow, Scheduler};
use crate::flow_queue;
use crate::params::Bytes;

flow_queue! {
    /// SFQ's configuration; the default is Linux's.
    pub struct Config: flows under droptail::DropTail;
    profiles {
        "linux", "Linux: 127 packets in all, 1024 hash values for at most 128 flows, room made in the longest" => |c| linux(&mut c.queue);
        "linux-3.10", "Linux before 6.10: credit is counted in units of 8 bytes" => linux_3_10;
        "ns2", "ns-2: 40 packets in 16 buckets by hosts that send a packet in turn, arrivals beyond a fair share are refused" => ns2;
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
