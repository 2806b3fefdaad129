//! FQ-CoDel: a queue per flow under CoDel, scheduled by DRR++ (RFC 8290; Linux, sch_fq_codel.c, since 3.5).
//!
//! CoDel's test for a small backlog uses the backlog of all flows, as in Linux: with many flows, the only packet of a
//! flow can be dropped.
//!
//! Differs: the memory limit counts packet sizes and holds after each arrival; Linux counts the memory of the packets
//! (`truesize`) and drops one batch per arrival even if that does not suffice.
//!
//! # When to use
//!
//! As the first choice if the bottleneck can classify flows (access routers, hosts, Wi-Fi drivers): sparse flows (DNS,
//! voice, the first packets of any flow) go first, bulk flows get equal shares, and each has its own CoDel. Not inside
//! tunnels, in which all flows look like one, nor if shares must not depend on the number of flows. Use `hash perfect`
//! to keep hash collisions out of an experiment.

use crate::codel::{self, Version};
use crate::flow_queue;

flow_queue! {
    /// FQ-CoDel's configuration; the default is RFC 8290.
    pub struct Config: flows under codel::Codel;
    profiles {
        "rfc8290", "RFC 8290 (2018), CoDel as in RFC 8289" => |c| c.aqm.ecn = true;
        "linux", "Linux since 4.7: drops from the fattest flow in batches" => linux;
        "linux-3.10", "Linux 3.5 to 4.6: one packet of the fattest flow per arrival, CoDel is not notified" => linux_3_10;
    }
}

fn linux(c: &mut Config) {
    c.aqm.ecn = true;
    c.aqm.version = Version::Linux;
}

fn linux_3_10(c: &mut Config) {
    linux(c);
    c.aqm.keep_above = true;
    c.queue.drop_batch = 1;
    c.queue.raise = false;
    // No memory limit: one that is never reached.
    c.queue.memory_limit.0 = 1 << 40;
}
