//! sfqCoDel of ns-2 (K. Nichols, sfqcodel.cc, 2012–13): bins under CoDel, one packet of each per turn, new bins first.
//!
//! Differs: each bin's CoDel keeps its own maximum packet size; ns-2 has one for all bins. In `2012` a bin that becomes
//! empty leaves the dropping state, which the first module kept until the bin's next packet.
//!
//! # When to use
//!
//! For results published with ns-2's module. Its turns count packets, so flows of small packets get less than an equal
//! share of bytes; for new work use [FQ-CoDel](crate::fq_codel).

use crate::codel::{self, SmallBacklog, Version, Window};
use crate::flow::{Hash, Overflow, Scheduler};
use crate::flow_queue;

flow_queue! {
    /// sfqCoDel's configuration; quantum 0 is a packet per turn.
    pub struct Config: flows under codel::Codel;
    profiles {
        "ns2", "ns-2, sfqcodel.cc" => ns2;
        "2012", "the first module for ns-2: 256 bins; a full queue refuses arrivals, a bin's last packet can be dropped, and a \
                 recent phase shortens the wait" => first;
    }
}

fn ns2(c: &mut Config) {
    c.queue.scheduler = Scheduler::Ns2;
    c.queue.quantum.0 = 0;
    c.queue.hash = Hash::Jenkins;
    c.queue.overflow = Overflow::LongestFirst;
    c.aqm.version = Version::Ns2_2012;
    c.aqm.small_backlog = SmallBacklog::AtMostOrLast;
}

/// sfqcodel.cc of 2012, before it dropped from the longest bin.
fn first(c: &mut Config) {
    ns2(c);
    c.queue.flows = 256;
    c.queue.overflow = Overflow::Arrival;
    c.aqm.small_backlog = SmallBacklog::AtMost;
    c.aqm.window = Window::Act;
}

#[cfg(test)]
mod tests {
    use crate::registry::parse;
    use alloc::string::{String, ToString};

    #[test]
    fn the_first_module_is_told_from_the_later_one_by_four_parameters() {
        let value = |aqm: &str, name| -> String { parse(aqm).unwrap().value(name).unwrap().to_string() };
        for (name, first, later) in [
            ("flows", "256", "1024"),
            ("overflow", "arrival", "longest-first"),
            ("small_backlog", "at-most", "at-most-or-last"),
            ("window", "act", "interval"),
            ("quantum", "0 B", "0 B"),
        ] {
            assert_eq!((value("sfqcodel@2012", name), value("sfqcodel", name)), (first.into(), later.into()), "{name}");
        }
    }
}
