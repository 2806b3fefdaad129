//! FQ-CoDel: flows queued apart under CoDel, served by DRR++ (RFC 8290; Linux, sch_fq_codel.c, since 3.5).
//!
//! CoDel's small backlog is that of all flows, as in Linux: with many of them the only packet of a flow can be
//! dropped.
//!
//! Differs: the memory limit counts the packets' sizes, and holds after each arrival; Linux counts what packets
//! occupy, and drops one batch per arrival even where that is not enough.
//!
//! # When to use
//!
//! As the first choice wherever the bottleneck can tell flows apart (access routers, hosts, Wi-Fi drivers): sparse
//! flows (DNS, voice, the first packets of everything) overtake, bulk flows get equal shares, and each is held by its
//! own CoDel. Not inside tunnels, where all flows look like one, nor where shares must follow something other than
//! the number of flows. Use `hash perfect` to leave hash collisions out of an experiment.

use crate::codel::{self, Version};
use crate::flow_queue;

flow_queue! {
    /// FQ-CoDel's configuration; the default is RFC 8290.
    pub struct Config: flows under codel::Codel;
    profiles {
        "rfc8290", "RFC 8290 (2018), CoDel as in RFC 8289" => |c| c.aqm.ecn = true;
        "linux", "Linux since 4.7: drops from the fattest flow in batches" => linux;
        "linux-3.10", "Linux 3.5 to 4.6: one packet of the fattest flow per arrival, CoDel is not told" => linux_3_10;
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
    // There is no memory limit: one that is never reached.
    c.queue.memory_limit.0 = 1 << 40;
}
