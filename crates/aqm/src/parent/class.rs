//! Classification into a parent's classes: the class set by the sender, otherwise the first with a matching filter.

use crate::class::ClassId;
use crate::dscp;
use crate::error::ConfigError;
use crate::packet::Meta;
use crate::quote::quoted;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::iter::Peekable;
use core::str::SplitWhitespace;

/// Field and value of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// The differentiated services code point.
    Dscp(u8),
    /// The number of the sending host.
    Source(u32),
    /// The number of the receiving host.
    Destination(u32),
    /// The number of the flow.
    Flow(u32),
}

impl Match {
    /// Whether it matches a packet.
    #[inline]
    pub fn holds(self, meta: &Meta) -> bool {
        match self {
            Self::Dscp(dscp) => meta.dscp == dscp,
            Self::Source(host) => meta.hosts.0 == host,
            Self::Destination(host) => meta.hosts.1 == host,
            Self::Flow(flow) => meta.flow == flow,
        }
    }

    /// Parses the words after `match`: `dscp EF`, `src 3`, `dst 3`, `flow 7`.
    fn read(words: &mut Peekable<SplitWhitespace<'_>>) -> Result<Self, ConfigError> {
        let kind = words.next().unwrap_or("");
        let value = words.next().unwrap_or("");
        let number = || value.parse().map_err(|_| format!("match {kind}: {} is not a whole number", quoted(value)));
        Ok(match kind {
            "dscp" => Self::Dscp(dscp::parse(value).map_err(|reason| format!("match dscp: {reason}"))?),
            "src" => Self::Source(number()?),
            "dst" => Self::Destination(number()?),
            "flow" => Self::Flow(number()?),
            _ => {
                let text = format!(
                    "match: unknown kind {}; expected dscp, src, dst or flow, e.g. match dscp EF",
                    quoted(kind)
                );
                return Err(text.into());
            }
        })
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dscp(point) => write!(f, "match dscp {}", dscp::spelling(*point)),
            Self::Source(host) => write!(f, "match src {host}"),
            Self::Destination(host) => write!(f, "match dst {host}"),
            Self::Flow(flow) => write!(f, "match flow {flow}"),
        }
    }
}

/// Extracts every `match …` from `words`; `other` parses the remaining words, each with the iterator over those that
/// follow.
pub(crate) fn read_matches(
    words: &mut Peekable<SplitWhitespace<'_>>,
    mut other: impl FnMut(&str, &mut Peekable<SplitWhitespace<'_>>) -> Result<(), ConfigError>,
) -> Result<Vec<Match>, ConfigError> {
    let mut matches = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "match" => matches.push(Match::read(words)?),
            word => other(word, words)?,
        }
    }
    Ok(matches)
}

/// Formats as ` match dscp EF match src 3`.
pub(crate) fn spelled(matches: &[Match]) -> String {
    matches.iter().map(|filter| format!(" {filter}")).collect()
}

/// Filters of a parent, in order of precedence.
#[derive(Clone, Debug)]
pub(crate) struct Filters(Vec<(Match, usize)>);

impl Filters {
    /// Collects the filters of each child in turn.
    pub fn new<'a>(children: impl Iterator<Item = (usize, &'a [Match])>) -> Self {
        Self(children.flat_map(|(child, matches)| matches.iter().map(move |&filter| (filter, child))).collect())
    }

    /// The child of the first matching filter.
    #[inline]
    pub fn find(&self, meta: &Meta) -> Option<usize> {
        self.0.iter().find(|(filter, _)| filter.holds(meta)).map(|&(_, child)| child)
    }
}

/// Minor number of the class `text` of the parent with this `handle`.
pub(crate) fn own(text: &str, handle: u16) -> Result<u16, ConfigError> {
    let class = ClassId::parse(text, handle).map_err(|reason| format!("class {reason}"))?;
    match (class.major() == handle, class.minor()) {
        (true, 0) => Err(format!("class {text}: the minor number 0 is the discipline itself; write e.g. 1:10").into()),
        (true, minor) => Ok(minor),
        (false, _) => {
            let (major, right) = (class.major().to_string(), ClassId::new(handle, class.minor()));
            Err(format!(
                "class {text}: the major number {major} is not this discipline's handle {handle}; write {right}"
            )
            .into())
        }
    }
}
