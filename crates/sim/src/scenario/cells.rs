//! Wireless LANs among the links of a scenario: one instead of `link` and `reverse`, or links of a graph, each from an
//! access point to its stations.
//!
//! Such a link has the access point's queue in its forward direction, and in its reverse direction a queue at every station.

use super::keys::join;
use super::{Error, FlowSpec, LinkSpec, Scenario, WlanSpec};
use sojourn_aqm::Duration;

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
