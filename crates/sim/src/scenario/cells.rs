//! Wireless LANs among the links of a scenario: one instead of `link` and `reverse`, or links of a graph, each from an
//! access point to its stations.
//!
//! Such a link has the access point's queue in its forward direction, and in its reverse direction a queue at every station.

use super::graph::{Graph, NodeKind};
use super::hop::Hop;
use super::keys::{Key, join};
use super::{ChannelSpec, Error, Files, FlowSpec, LinkSpec, Scenario, WlanSpec, wlan};
use serde_json::{Map, Value};
use sojourn_aqm::Duration;
use sojourn_aqm::registry::Catalogue;

/// A wireless LAN and its place in the scenario.
pub(crate) struct Cell<'a> {
    /// Number of its link.
    pub hop: usize,
    /// Number of the access point's queue; those of the stations follow.
    pub queue: usize,
    /// How many access points and stations there are in the wireless LANs before it.
    pub before: usize,
    /// The channel and who is on it.
    pub wlan: &'a WlanSpec,
    /// The queue of the access point.
    pub down: &'a LinkSpec,
    /// The queue of every station.
    pub up: &'a LinkSpec,
}

impl Scenario {
    /// By the number of the link: the wireless LAN that it is, if it is one.
    pub(super) fn wlans(&self) -> impl Iterator<Item = Option<&WlanSpec>> {
        std::iter::once(self.wlan.as_ref()).chain(self.links.iter().map(|hop| hop.wlan.as_ref()))
    }

    /// By the number of the link: how many queues its reverse direction has.
    pub(crate) fn reverse_queues(&self) -> impl Iterator<Item = usize> {
        self.wlans().map(|wlan| wlan.map_or(1, |wlan| wlan.station_count() as usize))
    }

    /// Every queue by its number: of each link that of its forward direction, then that of its reverse direction; of a
    /// wireless LAN that of the access point, then those of its stations.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &LinkSpec> {
        let hops = self.hops().zip(self.reverse_queues());
        hops.flat_map(|((_, link, reverse), count)| std::iter::once(link).chain((0..count).map(move |_| reverse)))
    }

    /// Every wireless LAN.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        let (mut queue, mut before) = (0, 0);
        self.hops().zip(self.wlans()).zip(self.reverse_queues()).enumerate().filter_map(move |(hop, found)| {
            let (((_, down, up), wlan), stations) = found;
            let cell = wlan.map(|wlan| Cell { hop, queue, before, wlan, down, up });
            queue += 1 + stations;
            before += cell.as_ref().map_or(0, |_| 1 + stations);
            cell
        })
    }

    /// Refuses flows to stations that are not there.
    pub(super) fn check_stations(&self) -> Result<(), Error> {
        let wlans: Vec<_> = self.wlans().collect();
        for (i, flow) in self.flows.iter().enumerate() {
            let place = format!("flows[{i}]");
            let error = |key: &str, text: String| Err(Error::new(join(&place, key), text));
            let (source, sink) = flow.paths.stations(|hop| wlans[hop].is_some());
            match (flow.station, source.or(sink)) {
                (Some(_), Some(_)) if source.is_some() && sink.is_some() => {
                    return error("station", "both ends are stations, which are taken in turn; leave it out".into());
                }
                (None, _) if source.is_some() && sink.is_some() && flow.has_access_link() => {
                    let text = "both ends are stations, which have no access links; leave out access_rate, access_delay, rtt \
                                and rtt_stagger";
                    return Err(Error::new(place, text));
                }
                (Some(station), Some(hop)) => {
                    let stations = wlans[hop].map_or(0, WlanSpec::station_count);
                    if u64::from(station) >= stations {
                        let text = format!("there is no station {station}; write one from 0 to {}", stations - 1);
                        return error("station", text);
                    }
                }
                (Some(_), None) => {
                    let of_graph = |(from, to)| format!("neither {from:?} nor {to:?} are stations; leave it out");
                    let ends = flow.from.as_ref().zip(flow.to.as_ref());
                    return error("station", ends.map_or_else(|| "goes with [wlan]; leave it out".into(), of_graph));
                }
                (None, _) => {}
            }
        }
        Ok(())
    }
}

impl FlowSpec {
    pub(super) fn has_access_link(&self) -> bool {
        self.access_rate.is_some() || self.access_delay > Duration::ZERO || self.rtt_stagger.is_some()
    }
}

/// Reads the queues of an access point and of its stations, each with its place.
pub(super) fn read_links(
    wlan: &WlanSpec,
    [down, up]: [(&str, Option<&Value>); 2],
    files: &dyn Files,
    own: &dyn Catalogue,
) -> Result<[LinkSpec; 2], Error> {
    let read = |(place, value): (&str, Option<&Value>), is_down| {
        let link = LinkSpec::read_any(place, &wlan.complete_link(place, value, is_down)?, files, own)?;
        WlanSpec::check_link(place, &link)?;
        Ok(link)
    };
    Ok([read(down, true)?, read(up, false)?])
}

/// Refuses wireless LANs that lead from anything but an access point to anything but stations, and other links to stations.
pub(super) fn check_ends(graph: &Graph, hops: &[Hop]) -> Result<(), Error> {
    let node = |number: usize| &graph.nodes[number];
    for (i, (hop, &(from, to))) in hops.iter().zip(&graph.ends).enumerate() {
        let error = |key: &str, text: String| Err(Error::new(format!("links[{i}].{key}"), text));
        if hop.wlan.is_none() {
            let stations =
                [("from", from), ("to", to)].into_iter().find(|&(_, end)| node(end).kind == NodeKind::Stations);
            let Some((key, end)) = stations else { continue };
            let text = "are stations, which only a link with [links.wlan] reaches; write that, or another node";
            return error(key, format!("{:?} {text}", node(end).name));
        }
        for (key, end, kind) in [("from", from, NodeKind::AccessPoint), ("to", to, NodeKind::Stations)] {
            if node(end).kind != kind {
                let (name, is, word) = (&node(end).name, node(end).kind.word(), kind.word());
                let text = "a wireless LAN leads from an access point to stations";
                return error(key, format!("the kind of {name:?} is {is}, but {text}; write kind = {word:?} there"));
            }
        }
        if let Some(other) = (0..i).find(|&other| graph.ends[other].1 == to) {
            let text =
                format!("{:?} belong to {:?} already; write a node of their own", node(to).name, hops[other].name);
            return error("to", text);
        }
    }
    let has_cell = |n: usize| hops.iter().zip(&graph.ends).any(|(hop, &(from, _))| from == n && hop.wlan.is_some());
    let without = (0..graph.nodes.len()).find(|&n| node(n).kind == NodeKind::AccessPoint && !has_cell(n));
    without.map_or(Ok(()), |n| {
        let text = r#"has no wireless LAN; write [links.wlan] at a link from it, or kind = "router""#;
        Err(Error::new(format!("nodes[{n}].kind"), format!("{:?} {text}", node(n).name)))
    })
}

/// Refuses keys of a wireless LAN in a table that is none.
pub(super) fn refuse_keys(place: &str, values: &Map<String, Value>) -> Result<(), Error> {
    let mut keys = ChannelSpec::KEYS.iter().chain(wlan::OWN_KEYS).map(|key: &Key| key.name);
    keys.find(|&key| values.contains_key(key)).map_or(Ok(()), |key| {
        Err(Error::new(
            join(place, key),
            "is a key of a wireless LAN; write it in [links.wlan] at a link from an access point",
        ))
    })
}

/// What the section is called.
pub(super) const KEY: &str = "wlan";
