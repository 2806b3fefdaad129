//! FQ-PIE: FQ-CoDel's flows and DRR++ with PIE for each flow, which drops on arrival (Linux, sch_fq_pie.c).
//!
//! Differs: Linux's timer first fires half a second after the start and then for all flows at once; here each flow
//! is updated at the multiples of `tupdate`.
//!
//! # When to use
//!
//! Where flows are queued apart in hardware that can only drop on arrival. Otherwise [FQ-CoDel](crate::fq_codel) is
//! better understood.

use crate::flow::Overflow;
use crate::flow_queue;
use crate::pie::{self, Activation};

flow_queue! {
    /// FQ-PIE's configuration.
    pub struct Config: flows under pie::Pie;
    profiles { "plain", "Linux's flows and limits, PIE as in RFC 8033, always on" => plain; }
}

fn plain(c: &mut Config) {
    c.queue.overflow = Overflow::Arrival;
    // A third of what all flows may hold together is no measure for one of them.
    c.aqm.activation = Activation::Always;
}
