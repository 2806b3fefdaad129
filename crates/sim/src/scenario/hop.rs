//! Named links with two directions: in a row behind the first one, which is named `link`, or between nodes of a graph.

use super::keys::{Key, Kind, Need, Table, as_table, join, mismatch, write};
use super::service::WlanService;
use super::{Error, Files, LinkSpec, WlanSpec, wlan};
use serde_json::{Map, Value};
use sojourn_aqm::params::{listed, unknown};
use sojourn_aqm::registry::Catalogue;
use std::collections::{BTreeMap, BTreeSet};

/// A link with its two directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// Name in routes and results; unique.
    pub name: String,
    /// Forward direction.
    pub link: LinkSpec,
    /// Reverse direction; in a wireless LAN the queue of every station.
    pub reverse: LinkSpec,
    /// Wireless LAN that serves both directions, in a graph only.
    pub wlan: Option<WlanSpec>,
}

impl Hop {
    /// Reads the list `links`: all links of a graph, or those behind the first one.
    pub(super) fn read_all(
        value: Option<&Value>,
        files: &dyn Files,
        own: &dyn Catalogue,
        in_a_graph: bool,
    ) -> Result<Vec<Self>, Error> {
        let hops = match value {
            None => &[],
            Some(Value::Array(hops)) => hops.as_slice(),
            Some(other) => return Err(Error::new("links", mismatch(other, "a list of tables, [[links]]").to_string())),
        };
        if hops.len() > MAX_HOPS {
            return Err(Error::new("links", format!("{} links; at most {MAX_HOPS}, write fewer", hops.len())));
        }
        // Names of the first link's queues in results; a hop's forward queue has the name of the hop.
        let taken = if in_a_graph { &["forward", "reverse"][..] } else { &[FIRST, "forward", "reverse"] };
        let mut names: BTreeSet<String> = taken.iter().map(|name| name.to_string()).collect();
        hops.iter()
            .enumerate()
            .map(|(i, value)| Self::read(&format!("links[{i}]"), value, (files, own), in_a_graph, &mut names))
            .collect()
    }

    fn read(
        place: &str,
        value: &Value,
        (files, own): (&dyn Files, &dyn Catalogue),
        in_a_graph: bool,
        names: &mut BTreeSet<String>,
    ) -> Result<Self, Error> {
        let mut values = as_table(place, value)?.clone();
        let table = Table::new(place, &values, KEYS);
        let name: String = table.field("name")?;
        if name.is_empty() {
            return Err(table.error("name", no_name_of_its_own(&name)));
        }
        if in_a_graph {
            wlan::refuse_keys(place, &values)?;
        }
        let [reverse, wlan] = ["reverse", wlan::KEY].map(|key| values.remove(key));
        if wlan.is_some() && !in_a_graph {
            let text = "needs [[nodes]]; write them, or the wireless LAN as [wlan] without [[links]]";
            return Err(Error::new(format!("{place}.{}", wlan::KEY), text));
        }
        // The reader of a link rejects keys that it does not know.
        ["name", "from", "to"].iter().for_each(|key| drop(values.remove(*key)));
        take_names(place, [name.clone(), format!("{name} reverse")], names)?;
        let (values, back) = (Value::Object(values), format!("{place}.reverse"));
        let Some(wlan) = wlan else {
            if in_a_graph && values.get(WlanService::KEY).is_some() {
                let text = "its channel is missing; write [links.wlan] with [[links.wlan.stations]]";
                return Err(Error::new(place, text));
            }
            let link = LinkSpec::read(place, &values, files, own)?;
            let reverse = link.read_reverse(&back, reverse.as_ref(), files, own)?;
            return Ok(Self { name, link, reverse, wlan: None });
        };
        let wlan = WlanSpec::read(&format!("{place}.{}", wlan::KEY), &wlan)?;
        let stations = (0..wlan.station_count()).map(|station| format!("{name} station {station}"));
        take_names(place, stations, names)?;
        let links = [(place, Some(&values)), (back.as_str(), reverse.as_ref())];
        let [link, reverse] = wlan::read_links(&wlan, links, files, own)?;
        Ok(Self { name, link, reverse, wlan: Some(wlan) })
    }

    pub(super) fn write(&self) -> Map<String, Value> {
        write_hop(&self.name, (&self.link, &self.reverse), self.wlan.as_ref())
    }
}

/// Adds the result names of the queues of the hop at `place` to `names`; a duplicate is an error.
fn take_names(
    place: &str,
    queues: impl IntoIterator<Item = String>,
    names: &mut BTreeSet<String>,
) -> Result<(), Error> {
    let queues: Vec<String> = queues.into_iter().collect();
    if let Some(taken) = queues.iter().find(|&name| names.contains(name)) {
        return Err(Error::new(join(place, "name"), no_name_of_its_own(taken)));
    }
    names.extend(queues);
    Ok(())
}

fn no_name_of_its_own(name: &str) -> String {
    format!("{name:?} is already taken; choose another name")
}

/// Writes a hop as an entry of `links`.
pub(super) fn write_hop(
    name: &str,
    (link, reverse): (&LinkSpec, &LinkSpec),
    wlan: Option<&WlanSpec>,
) -> Map<String, Value> {
    let mut out = Map::new();
    write(KEYS, "name", &name.to_string(), &mut out);
    out.extend(link.write());
    out.insert("reverse".into(), reverse.write().into());
    out.extend(wlan.map(|wlan| (wlan::KEY.into(), wlan.write().into())));
    out
}

/// Names of the hops, in their order and by name.
pub(super) struct HopNames<'a> {
    pub in_order: Vec<&'a str>,
    numbers: BTreeMap<&'a str, usize>,
}

impl<'a> HopNames<'a> {
    pub fn new(in_order: Vec<&'a str>) -> Self {
        let numbers = in_order.iter().enumerate().map(|(number, &name)| (name, number)).collect();
        Self { in_order, numbers }
    }

    /// Number of the hop called `name`.
    pub fn find(&self, name: &str) -> Result<usize, String> {
        let unknown = || unknown("link", name, self.in_order.iter().copied());
        self.numbers.get(name).copied().ok_or_else(unknown)
    }
}

/// Numbers of the first and the last hop of a route along a row; the first hop if there is no route.
pub(super) fn ends(route: Option<&Vec<String>>, names: &HopNames<'_>) -> Result<(usize, usize), String> {
    let Some(route) = route else { return Ok((0, 0)) };
    let numbers = route.iter().map(|name| names.find(name)).collect::<Result<Vec<_>, _>>()?;
    let (&[first, ..], &[.., last]) = (&numbers[..], &numbers[..]) else {
        return Err(format!(r#"the list is empty; write e.g. [{FIRST:?}]"#));
    };
    match numbers.windows(2).zip(&route[..]).zip(&route[1..]).find(|((pair, _), _)| pair[1] != pair[0] + 1) {
        Some(((_, from), to)) => {
            let order = listed(names.in_order.iter().copied());
            Err(format!("no path leads from {from} to {to}; the links in their order are {order}"))
        }
        None => Ok((first, last)),
    }
}

/// Keys of a named link beyond those of every link.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "name",
        kind: Kind::Text,
        need: Need::Required("second"),
        doc: "Name of the link in routes and results.",
    },
    Key {
        name: "from",
        kind: Kind::Text,
        need: Need::Optional,
        doc: "With `nodes`, required: node at which the forward direction begins.",
    },
    Key {
        name: "to",
        kind: Kind::Text,
        need: Need::Optional,
        doc: "With `nodes`, required: node to which the forward direction leads.",
    },
    Key {
        name: "reverse",
        kind: Kind::Section,
        need: Need::Optional,
        doc: "The other direction of the link. Default: as without `[reverse]`.",
    },
    Key {
        name: wlan::KEY,
        kind: Kind::Section,
        need: Need::Optional,
        doc: "With `nodes`: wireless LAN that serves the link, from an access point to its stations.",
    },
];

/// Name of the first hop of a row.
pub(super) const FIRST: &str = "link";

/// Maximum number of named links: paths number both directions of each in two bytes, with the first link of a row.
const MAX_HOPS: usize = 32_767;
