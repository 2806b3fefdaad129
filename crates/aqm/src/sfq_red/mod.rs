//! SFQ-RED: Linux's SFQ with a RED for each flow (sch_sfq.c since 3.3, tc's `redflowlimit`).
//!
//! With `headdrop`, RED's verdict on an arriving packet applies to the head of its flow. As in sch_sfq.c, the limit on
//! flows applies before RED, the depth of a flow after it.
//!
//! # When to use
//!
//! As one of the combinations that khademi2013 names as future work, and to see the effect of per-flow RED on fair
//! queueing: it controls each flow's queue by its length in bytes. To control delay use [FQ-CoDel](crate::fq_codel).

mod slot;

use crate::flow_queue;

flow_queue! {
    /// SFQ-RED's configuration.
    pub struct Config: flows under slot::SlotRed;
    profiles { "linux", "Linux's SFQ, and tc's rules for RED with redflowlimit 100kB" => |c| crate::sfq::linux(&mut c.queue); }
}
