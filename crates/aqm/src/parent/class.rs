//! Which of the classes of a parent a packet joins: the one that its sender names, else the first whose filter it matches.

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

/// What a filter looks at.
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
    /// Whether it applies to a packet.
    #[inline]
    pub fn holds(self, meta: &Meta) -> bool {
        match self {
            Self::Dscp(dscp) => meta.dscp == dscp,
            Self::Source(host) => meta.hosts.0 == host,
            Self::Destination(host) => meta.hosts.1 == host,
            Self::Flow(flow) => meta.flow == flow,
        }
    }

    /// Reads what is behind the word `match`: `dscp EF`, `src 3`, `dst 3`, `flow 7`.
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
                let text = format!("match: {} is none of dscp, src, dst, flow; write e.g. match dscp EF", quoted(kind));
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

/// Takes every `match …` out of `words`; the others are read by `other`, which gets each word and what follows it.
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

/// ` match dscp EF match src 3`.
pub(crate) fn spelled(matches: &[Match]) -> String {
    matches.iter().map(|one| format!(" {one}")).collect()
}

/// The filters of a parent, in the order in which they are tried.
#[derive(Clone, Debug)]
pub(crate) struct Filters(Vec<(Match, usize)>);

impl Filters {
    /// Of each child in turn.
    pub fn new<'a>(of_children: impl Iterator<Item = (usize, &'a [Match])>) -> Self {
        Self(of_children.flat_map(|(child, matches)| matches.iter().map(move |&one| (one, child))).collect())
    }

    /// The child whose filter matches first.
    #[inline]
    pub fn find(&self, meta: &Meta) -> Option<usize> {
        self.0.iter().find(|(one, _)| one.holds(meta)).map(|&(_, child)| child)
    }
}

/// The class of `text` below the handle `handle`; a parent's class is one of its own.
pub(crate) fn own(text: &str, handle: u16) -> Result<u16, ConfigError> {
    let class = ClassId::parse(text, handle).map_err(|reason| format!("class {reason}"))?;
    match (class.major() == handle, class.minor()) {
        (true, 0) => {
            Err(format!("class {text}: has the number 0, which is the discipline's own; write e.g. 1:10").into())
        }
        (true, minor) => Ok(minor),
        (false, _) => {
            let (major, right) = (class.major().to_string(), ClassId::new(handle, class.minor()));
            Err(format!(
                "class {text}: belongs to the handle {major}; this discipline has the handle {handle}, so write {right}"
            )
            .into())
        }
    }
}
