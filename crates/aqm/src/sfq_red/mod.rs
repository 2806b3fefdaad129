//! SFQ-RED: Linux's SFQ with a RED for each flow (sch_sfq.c since 3.3, tc's `redflowlimit`).
//!
//! With `headdrop` RED's decision about an arriving packet befalls the head of its flow.
//!
//! # When to use
//!
//! As one of the combinations that khademi2013 names as future work, and to see what a RED for each flow adds to fair
//! queueing: it holds the queue of each flow by its length in bytes. Where delay is meant take
//! [FQ-CoDel](crate::fq_codel).

mod slot;

use crate::flow_queue;

flow_queue! {
    /// SFQ-RED's configuration.
    pub struct Config: flows under slot::SlotRed;
    profiles { "linux", "Linux's SFQ, and tc's rules for RED with redflowlimit 100kB" => |c| crate::sfq::linux(&mut c.queue); }
}
