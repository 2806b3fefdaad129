//! FQ-PIE: FQ-CoDel's flows and DRR++ with PIE per flow, which drops on arrival (Linux, sch_fq_pie.c, since 5.6).
//!
//! In Linux one timer updates all flows, first half a second after the start; the per-flow timers here are due at the
//! same instants. Linux counts its memory limit but does not enforce it, so the profile `linux` has none.
//!
//! Differs: newer kernels update at most 2048 flows at once and the others a jiffy later.
//!
//! # When to use
//!
//! If flows are queued in hardware that can drop on arrival only. Otherwise [FQ-CoDel](crate::fq_codel) is better
//! understood.

use crate::flow::Overflow;
use crate::flow_queue;
use crate::params::{Bytes, Config as _};
use crate::pie::{self, Activation};

flow_queue! {
    /// FQ-PIE's configuration; the default is Linux's.
    pub struct Config: flows under pie::Pie;
    profiles {
        "linux", "Linux since 5.6, each flow under Linux's PIE" => linux;
        "rfc8033", "Linux's flows and limits, PIE as in RFC 8033, always on" => rfc8033;
    }
}

fn linux(c: &mut Config) {
    c.queue.overflow = Overflow::Arrival;
    // Never reached.
    c.queue.memory_limit = Bytes(1 << 40);
    c.aqm = pie::Config::profile("linux").expect("it is one of PIE's");
}

fn rfc8033(c: &mut Config) {
    c.queue.overflow = Overflow::Arrival;
    // A third of the limit of all flows is no threshold for one of them.
    c.aqm.activation = Activation::Always;
}
