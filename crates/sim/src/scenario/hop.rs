//! Bottlenecks with a name: in a row behind the first one, which is called `link`, or between the nodes of a graph.

use super::keys::{Key, Kind, Need, Table, as_table, mismatch, write};
use super::{Error, LinkSpec};
use serde_json::{Map, Value};
use sojourn_aqm::params::unknown;
use sojourn_aqm::registry::Catalogue;
use std::path::Path;

/// A bottleneck with its two directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// How routes call it; no other hop has this name.
    pub name: String,
    /// The forward direction.
    pub link: LinkSpec,
    /// The reverse path.
    pub reverse: LinkSpec,
}

impl Hop {
    /// Reads the list `links`, of a graph or behind a first link.
    pub(super) fn read_all(
        value: Option<&Value>,
        base: &Path,
        own: &dyn Catalogue,
        in_a_graph: bool,
    ) -> Result<Vec<Self>, Error> {
        let hops = match value {
            None => &[],
            Some(Value::Array(hops)) => hops.as_slice(),
            Some(other) => return Err(Error::new("links", mismatch(other, "a list of tables, [[links]]"))),
        };
        if hops.len() > MOST_HOPS {
            return Err(Error::new("links", format!("{} links; at most {MOST_HOPS}", hops.len())));
        }
        // What results call the links, too: a hop gives its name to its forward direction.
        let taken = if in_a_graph { &["forward", "reverse"][..] } else { &[FIRST, "forward", "reverse"] };
        let mut names: Vec<String> = taken.iter().map(|name| name.to_string()).collect();
        hops.iter()
            .enumerate()
            .map(|(i, value)| Self::read(&format!("links[{i}]"), value, base, own, &mut names))
            .collect()
    }

    fn read(
        place: &str,
        value: &Value,
        base: &Path,
        own: &dyn Catalogue,
        names: &mut Vec<String>,
    ) -> Result<Self, Error> {
        let mut values = as_table(place, value)?.clone();
        let table = Table::new(place, &values, KEYS);
        let name: String = table.field("name")?;
        if name.is_empty() || names.contains(&name) {
            return Err(table.error("name", format!("{name:?} is no name of its own; write another one")));
        }
        let reverse = values.remove("reverse");
        ["name", "from", "to"].iter().for_each(|key| drop(values.remove(*key)));
        names.extend([name.clone(), format!("{name} reverse")]);
        let link = LinkSpec::read(place, &Value::Object(values), base, own)?;
        let reverse = link.read_way_back(&format!("{place}.reverse"), reverse.as_ref(), base, own)?;
        Ok(Self { name, link, reverse })
    }

    pub(super) fn write(&self) -> Map<String, Value> {
        write_hop(&self.name, &self.link, &self.reverse)
    }
}

/// A hop as an entry of `links`.
pub(super) fn write_hop(name: &str, link: &LinkSpec, reverse: &LinkSpec) -> Map<String, Value> {
    let mut out = Map::new();
    write(KEYS, "name", &name.to_string(), &mut out);
    out.extend(link.write());
    out.insert("reverse".into(), reverse.write().into());
    out
}

/// The first and the last hop of a route along the hops called `names`; the first one where nothing is given.
pub(super) fn ends(route: Option<&Vec<String>>, names: &[&str]) -> Result<(usize, usize), String> {
    let Some(route) = route else { return Ok((0, 0)) };
    let find = |name: &String| {
        names.iter().position(|n| n == name).ok_or_else(|| unknown("link", name, names.iter().copied()))
    };
    let numbers = route.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let (&[first, ..], &[.., last]) = (&numbers[..], &numbers[..]) else {
        return Err(format!(r#"the list is empty; write e.g. [{FIRST:?}]"#));
    };
    match numbers.windows(2).zip(&route[..]).zip(&route[1..]).find(|((pair, _), _)| pair[1] != pair[0] + 1) {
        Some(((_, from), to)) => {
            Err(format!("no way leads from {from} to {to}; the links in their order are {}", names.join(", ")))
        }
        None => Ok((first, last)),
    }
}

/// The keys of a link with a name, apart from those that every link has.
pub(super) const KEYS: &[Key] = &[
    Key { name: "name", kind: Kind::Text, need: Need::Required("second"), doc: "How routes call the link." },
    Key {
        name: "from",
        kind: Kind::Text,
        need: Need::Optional,
        doc: "With nodes: the node where its forward direction begins.",
    },
    Key {
        name: "to",
        kind: Kind::Text,
        need: Need::Optional,
        doc: "With nodes: the node to which its forward direction leads.",
    },
    Key { name: "reverse", kind: Kind::Section, need: Need::Optional, doc: "The reverse path, as in [reverse]." },
];

/// The name of the first hop.
pub(super) const FIRST: &str = "link";

/// Most links with a name.
const MOST_HOPS: usize = 100;
