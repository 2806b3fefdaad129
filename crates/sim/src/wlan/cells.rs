//! The wireless LANs of a run, and the mapping of queues to links and cells.

use super::{Wlan, WlanSummary};
use crate::link::MeteredQueue;
use crate::scenario::{FlowSpec, Paths, Scenario};
use crate::table::Table;

/// The wireless LANs of a network, if any. `()` is for networks without: code over [`WlanSet::cells`] compiles to
/// nothing.
pub(crate) trait WlanSet: Send {
    /// The wireless LANs.
    fn cells(&self) -> &[Wlan];
    /// The wireless LANs.
    fn cells_mut(&mut self) -> &mut [Wlan];
    /// Owner of a queue, by its index.
    fn owner(&self, queue: usize) -> QueueOwner;
    /// All queues by index, including those of `links`.
    fn with_links<'a>(
        &'a mut self,
        links: impl Iterator<Item = &'a mut dyn MeteredQueue>,
    ) -> impl Iterator<Item = &'a mut dyn MeteredQueue>;
    /// Paths over queues and hosts of the next flow of a group, whose hosts at wired ends are `wired`; `None` without
    /// wireless LANs.
    fn place_flow(&mut self, group: u32, spec: &FlowSpec, wired: (u32, u32)) -> Option<StationPlacement>;
    /// Airtimes of the nodes from each instant of the window on, starting with instant `first`.
    fn airtimes(&self, first: usize) -> Option<Table>;
    /// The report of each cell from instant `number` of the window on, with the index of its link in the scenario; and
    /// all recorded attempts, if the scenario enables them.
    fn report(self, number: usize) -> (Vec<(usize, WlanSummary)>, Option<Table>);
}

/// Owner of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueOwner {
    /// The link with this index among the links.
    Link(usize),
    /// A node of the wireless LAN with this index.
    Cell(usize),
}

/// Ends of a flow that may be at stations.
pub(crate) struct StationPlacement {
    pub paths: Paths,
    /// Hosts of source and sink.
    pub hosts: (u32, u32),
    /// Wireless LANs of source and sink, for those at stations.
    pub cells: (Option<u16>, Option<u16>),
}

impl WlanSet for () {
    #[inline(always)]
    fn cells(&self) -> &[Wlan] {
        &[]
    }
    #[inline(always)]
    fn cells_mut(&mut self) -> &mut [Wlan] {
        &mut []
    }
    #[inline(always)]
    fn owner(&self, queue: usize) -> QueueOwner {
        QueueOwner::Link(queue)
    }
    fn with_links<'a>(
        &'a mut self,
        links: impl Iterator<Item = &'a mut dyn MeteredQueue>,
    ) -> impl Iterator<Item = &'a mut dyn MeteredQueue> {
        links
    }
    fn place_flow(&mut self, _: u32, _: &FlowSpec, _: (u32, u32)) -> Option<StationPlacement> {
        None
    }
    fn airtimes(&self, _: usize) -> Option<Table> {
        None
    }
    fn report(self, _: usize) -> (Vec<(usize, WlanSummary)>, Option<Table>) {
        (Vec::new(), None)
    }
}

/// Networks with wireless LANs.
pub(crate) struct Cells {
    cells: Vec<Wlan>,
    /// Owner by queue.
    owners: Vec<QueueOwner>,
    /// By link of the scenario: the index of its first queue, and of its wireless LAN if it is one.
    hops: Vec<(u16, Option<u16>)>,
}

impl Cells {
    /// The wireless LANs of a scenario at the start of a run.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let specs: Vec<_> = scenario.cells().collect();
        let (mut owners, mut hops, mut links) = (Vec::new(), Vec::new(), 0);
        for (hop, reverse) in scenario.reverse_queues().enumerate() {
            let cell = specs.iter().position(|cell| cell.hop == hop);
            hops.push((owners.len() as u16, cell.map(|cell| cell as u16)));
            match cell {
                Some(cell) => owners.extend((0..=reverse).map(|_| QueueOwner::Cell(cell))),
                None => owners.extend((links..=links + reverse).map(QueueOwner::Link)),
            }
            links += if cell.is_none() { 1 + reverse } else { 0 };
        }
        let cells = specs.iter().map(|cell| Wlan::new(cell, scenario, seed)).collect();
        Self { cells, owners, hops }
    }
}

impl WlanSet for Cells {
    #[inline(always)]
    fn cells(&self) -> &[Wlan] {
        &self.cells
    }
    #[inline(always)]
    fn cells_mut(&mut self) -> &mut [Wlan] {
        &mut self.cells
    }
    #[inline(always)]
    fn owner(&self, queue: usize) -> QueueOwner {
        self.owners[queue]
    }

    fn with_links<'a>(
        &'a mut self,
        mut links: impl Iterator<Item = &'a mut dyn MeteredQueue>,
    ) -> impl Iterator<Item = &'a mut dyn MeteredQueue> {
        let mut nodes = self.cells.iter_mut().flat_map(|cell| &mut cell.interfaces);
        self.owners.iter().filter_map(move |owner| match owner {
            QueueOwner::Link(_) => links.next(),
            QueueOwner::Cell(_) => nodes.next().map(|node| node as &mut dyn MeteredQueue),
        })
    }

    fn place_flow(&mut self, group: u32, spec: &FlowSpec, wired: (u32, u32)) -> Option<StationPlacement> {
        let (source, sink) = spec.paths.stations(|hop| self.hops[hop].1.is_some());
        let mut station = |hop: Option<usize>| {
            let cell = hop.and_then(|hop| self.hops[hop].1)?;
            Some((cell, self.cells[usize::from(cell)].assign_station(group, spec.station)))
        };
        let (source, sink) = (station(source), station(sink));
        let host = |end: Option<(u16, u32)>, wired: u32| match end {
            Some((cell, station)) => self.cells[usize::from(cell)].station_host(station),
            None => wired,
        };
        let queue = |&link: &u16| match self.hops[usize::from(link / 2)] {
            (first, None) => first + link % 2,
            // Towards the stations: the access point's queue. Paths do not go through stations.
            (first, Some(_)) if link % 2 == 0 => first,
            (first, cell) => {
                let end = [source, sink].into_iter().flatten().find(|&(of, _)| Some(of) == cell);
                first + 1 + end.map_or(0, |(_, station)| station as u16)
            }
        };
        let [data, acks] = [&spec.paths.data, &spec.paths.acks].map(|path| path.iter().map(queue).collect());
        Some(StationPlacement {
            paths: Paths { data, acks },
            hosts: (host(source, wired.0), host(sink, wired.1)),
            cells: (source.map(|(cell, _)| cell), sink.map(|(cell, _)| cell)),
        })
    }

    fn airtimes(&self, first: usize) -> Option<Table> {
        Table::in_order(self.cells.iter().map(|cell| cell.airtimes(first)))
    }

    fn report(self, number: usize) -> (Vec<(usize, WlanSummary)>, Option<Table>) {
        let hops = self.hops.iter().enumerate().filter(|(_, (_, cell))| cell.is_some()).map(|(hop, _)| hop);
        let reports = self.cells.into_iter().map(|cell| cell.report(number));
        let (summaries, tables): (Vec<_>, Vec<_>) = reports.unzip();
        (hops.zip(summaries).collect(), Table::in_order(tables.into_iter().flatten()))
    }
}
