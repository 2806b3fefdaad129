//! SFQ-RED: Linux's SFQ with a RED for each flow (sch_sfq.c since 3.3, tc's `redflowlimit`).
//!
//! With `headdrop` RED's decision about an arriving packet befalls the head of its flow.

mod slot;

use crate::flow_queue;

flow_queue! {
    /// SFQ-RED's configuration.
    pub struct Config: flows under slot::SlotRed;
    profiles { "linux", "Linux's SFQ, and tc's rules for RED with redflowlimit 100kB" => |c| crate::sfq::linux(&mut c.queue); }
}
