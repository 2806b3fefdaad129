//! Wireless LANs among the links of a scenario: one in place of `link` and `reverse`, or several in a graph, each from
//! an access point to its stations. The forward direction has one queue, at the access point; the reverse direction has
//! one queue per station.

use super::keys::join;
use super::{Error, FlowSpec, LinkSpec, Scenario, WlanSpec};
use sojourn_aqm::Duration;

/// A wireless LAN and its place in the scenario.
pub(crate) struct Cell<'a> {
    /// Number of its hop.
    pub hop: usize,
    /// Number of the access point's queue; the stations' queues follow.
    pub queue: usize,
    /// Number of access points and stations in the wireless LANs before it.
    pub stations_before: usize,
    /// Channel and stations.
    pub wlan: &'a WlanSpec,
    /// Queue of the access point.
    pub down: &'a LinkSpec,
    /// Queue of every station.
    pub up: &'a LinkSpec,
}

impl Scenario {
    /// Per hop, its wireless LAN if it has one.
    pub(super) fn wlans(&self) -> impl Iterator<Item = Option<&WlanSpec>> {
        std::iter::once(self.wlan.as_ref()).chain(self.links.iter().map(|hop| hop.wlan.as_ref()))
    }

    /// Per hop, the number of queues of its reverse direction.
    pub(crate) fn reverse_queues(&self) -> impl Iterator<Item = usize> {
        self.wlans().map(|wlan| wlan.map_or(1, |wlan| wlan.station_count() as usize))
    }

    /// Queues by number. Per hop: the forward queue, then the reverse queue; in a wireless LAN the access point's
    /// queue, then one per station.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &LinkSpec> {
        let hops = self.hops().zip(self.reverse_queues());
        hops.flat_map(|((_, link, reverse), count)| std::iter::once(link).chain((0..count).map(move |_| reverse)))
    }

    /// Iterates over the wireless LANs.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        let (mut queue, mut stations_before) = (0, 0);
        self.hops().zip(self.wlans()).zip(self.reverse_queues()).enumerate().filter_map(move |(hop, found)| {
            let (((_, down, up), wlan), stations) = found;
            let cell = wlan.map(|wlan| Cell { hop, queue, stations_before, wlan, down, up });
            queue += 1 + stations;
            stations_before += cell.as_ref().map_or(0, |_| 1 + stations);
            cell
        })
    }

    /// Rejects flows whose `station` does not exist or cannot be chosen.
    pub(super) fn check_stations(&self) -> Result<(), Error> {
        let wlans: Vec<_> = self.wlans().collect();
        for (i, flow) in self.flows.iter().enumerate() {
            let place = format!("flows[{i}]");
            let error = |key: &str, text: String| Err(Error::new(join(&place, key), text));
            let (source, sink) = flow.paths.stations(|hop| wlans[hop].is_some());
            match (flow.station, source.or(sink)) {
                (Some(_), Some(_)) if source.is_some() && sink.is_some() => {
                    return error("station", "both ends are stations, which are assigned in turn; leave it out".into());
                }
                (None, _) if source.is_some() && sink.is_some() && flow.has_access_link() => {
                    let text = "both ends are stations, which have no access links; leave out access_rate, access_delay, rtt \
                                and rtt_stagger";
                    return Err(Error::new(place, text));
                }
                (Some(station), Some(hop)) => {
                    let stations = wlans[hop].map_or(0, WlanSpec::station_count);
                    if u64::from(station) >= stations {
                        let text = format!("no station {station}; write one from 0 to {}", stations - 1);
                        return error("station", text);
                    }
                }
                (Some(_), None) => {
                    let of_graph = |(from, to)| format!("neither {from:?} nor {to:?} is a station; leave it out");
                    let ends = flow.from.as_ref().zip(flow.to.as_ref());
                    return error("station", ends.map_or_else(|| "needs [wlan]; leave it out".into(), of_graph));
                }
                (None, Some(_)) if !flow.other_paths.is_empty() => {
                    return error("station", "paths begin or end at one station; write its number".into());
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
