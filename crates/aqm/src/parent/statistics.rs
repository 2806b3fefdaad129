//! Statistics of parents with the names of `tc -s -j qdisc` and `tc -s -j class`, so that programs can parse them like
//! tc's.

use super::leaf::{Accounting, Leaf};
use crate::backlog::Backlog;
use crate::qdisc::{Qdisc, Stats};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Counters of a discipline; `options` are tc's options of this kind, or empty. Classes follow in an array, for which
/// tc has a separate command.
pub(crate) fn of_parent(
    kind: &str,
    options: &str,
    accounting: &Accounting,
    overlimits: u64,
    classes: &[String],
) -> String {
    let options = if options.is_empty() { String::new() } else { format!(r#""options":{{{options}}},"#) };
    let counts = counts(&accounting.stats, accounting.total, overlimits);
    format!(r#"{{"kind":"{kind}",{options}{counts},"classes":[{}]}}"#, classes.join(","))
}

/// The class `handle` of a parent, with its child's statistics if tc has any for it.
pub(crate) fn of_class<P, Q: Qdisc<P> + ?Sized>(kind: &str, handle: &str, leaf: &Leaf<P, Q>) -> String {
    let (qdisc, backlog) = (leaf.qdisc(), leaf.backlog());
    let inside = qdisc.statistics().map_or_else(String::new, |text| format!(r#","qdisc":{text}"#));
    let counts = counts(qdisc.stats(), backlog, 0);
    format!(r#"{{"class":"{kind}","handle":"{handle}",{counts}{inside}}}"#)
}

/// The classes `minors` of the discipline `major`; `leaves` are their children.
pub(crate) fn of_classes<'a, P: 'a, Q: Qdisc<P> + ?Sized + 'a>(
    kind: &str,
    major: u16,
    minors: impl Iterator<Item = u16>,
    leaves: impl Iterator<Item = &'a Leaf<P, Q>>,
) -> Vec<String> {
    minors.zip(leaves).map(|(minor, leaf)| of_class(kind, &format!("{major:x}:{minor:x}"), leaf)).collect()
}

fn counts(stats: &Stats, backlog: Backlog, overlimits: u64) -> String {
    let (sent, drops) = (stats.departed, stats.dropped_total().packets);
    format!(
        r#""bytes":{},"packets":{},"drops":{drops},"overlimits":{overlimits},"requeues":0,"backlog":{},"qlen":{}"#,
        sent.bytes, sent.packets, backlog.bytes, backlog.packets
    )
}
