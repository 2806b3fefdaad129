//! Paths of flows as lists of link numbers: link 2i is the forward direction of hop i, link 2i + 1 its reverse
//! direction.

use super::hop::{self, HopNames};
use super::keys::Table;
use super::{Error, Graph, LinkSpec};
use sojourn_aqm::Duration;
use std::sync::Arc;

/// Direction of a flow's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Over `link`; acknowledgments over `reverse`.
    Forward,
    /// Over `reverse`; acknowledgments over `link`.
    Reverse,
}

/// Links that a flow's packets cross, in order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Paths {
    /// Path of the data, from the source to the sink.
    pub data: Arc<[u16]>,
    /// Path of the acknowledgments, from the sink to the source.
    pub acks: Arc<[u16]>,
}

/// Links of the scenario and their arrangement.
pub(super) struct Topology<'a> {
    /// Per hop: name, forward direction, reverse direction.
    pub hops: Vec<(&'a str, &'a LinkSpec, &'a LinkSpec)>,
    pub form: TopologyForm<'a>,
    names: HopNames<'a>,
    /// Initial delays of the links, by number.
    delays: Vec<Duration>,
}

/// Arrangement of the hops.
pub(super) enum TopologyForm<'a> {
    Row,
    Graph(&'a Graph),
}

/// Keys of a flow group that determine its paths.
pub(super) struct PathRequest {
    pub direction: Direction,
    pub route: Option<Vec<String>>,
    pub return_route: Option<Vec<String>>,
}

impl<'a> Topology<'a> {
    pub fn new(hops: Vec<(&'a str, &'a LinkSpec, &'a LinkSpec)>, form: TopologyForm<'a>) -> Self {
        let names = HopNames::new(hops.iter().map(|&(name, ..)| name).collect());
        let delays = Graph::delays(&hops);
        Self { hops, form, names, delays }
    }

    /// Paths of the group at `table`.
    pub fn paths(&self, table: &Table, wanted: &PathRequest) -> Result<Paths, Error> {
        if let TopologyForm::Graph(graph) = self.form {
            return self.paths_in(graph, table, wanted);
        }
        if let Some(key) = ["from", "to", "return_route"].into_iter().find(|&key| table.values.contains_key(key)) {
            return Err(table.error(key, "needs [[nodes]]; leave it out"));
        }
        let ends = hop::ends(wanted.route.as_ref(), &self.names).map_err(|text| table.error("route", text))?;
        Ok(Paths::along_row(ends, wanted.direction))
    }

    fn paths_in(&self, graph: &Graph, table: &Table, wanted: &PathRequest) -> Result<Paths, Error> {
        if wanted.direction == Direction::Reverse {
            return Err(
                table.error("direction", "is not allowed beside [[nodes]]; leave it out, and exchange from and to")
            );
        }
        let (from, to) = (graph.node(table, "from")?, graph.node(table, "to")?);
        if from == to {
            let text = format!("{:?} is also where the flows begin; write another node", graph.nodes[to].name);
            return Err(table.error("to", text));
        }
        let find = |key, route: &Option<Vec<String>>, from: usize, to: usize| match route {
            Some(route) => graph.named(route, &self.names, (from, to)).map_err(|text| table.error(key, text)),
            None => graph.shortest(&self.delays, from, to).ok_or_else(|| {
                let name = |node: usize| &graph.nodes[node].name;
                let text = format!("no links lead from {:?} to {:?}; connect them in [[links]]", name(from), name(to));
                table.error("to", text)
            }),
        };
        let (data, acks) =
            (find("route", &wanted.route, from, to)?, find("return_route", &wanted.return_route, to, from)?);
        Ok(Paths { data: data.into(), acks: acks.into() })
    }

    /// Paths over the links `route` and back over the same ones, for the group at `table`, whose key `key` names them.
    pub fn there_and_back(
        &self,
        table: &Table,
        key: &str,
        (route, direction): (&[String], Direction),
    ) -> Result<Paths, Error> {
        let wrong = |text: String| table.error(key, text);
        let TopologyForm::Graph(graph) = self.form else {
            let route = route.to_vec();
            let ends = hop::ends(Some(&route), &self.names).map_err(wrong)?;
            return Ok(Paths::along_row(ends, direction));
        };
        let (from, to) = (graph.node(table, "from")?, graph.node(table, "to")?);
        let back: Vec<String> = route.iter().rev().cloned().collect();
        let data = graph.named(route, &self.names, (from, to)).map_err(wrong)?;
        let acks = graph.named(&back, &self.names, (to, from)).map_err(wrong)?;
        Ok(Paths { data: data.into(), acks: acks.into() })
    }

    /// Sum of the propagation delays on both paths.
    pub fn delay(&self, paths: &Paths) -> Duration {
        self.delay_of(&paths.data) + self.delay_of(&paths.acks)
    }

    /// Sum of the propagation delays of `links`.
    pub fn delay_of(&self, links: &[u16]) -> Duration {
        links.iter().fold(Duration::ZERO, |sum, &link| sum + self.delays[usize::from(link)])
    }

    /// Whether there is only one hop outside of a graph, with the delays `link.delay` and `reverse.delay`.
    pub fn is_dumbbell(&self) -> bool {
        self.hops.len() == 1 && !matches!(self.form, TopologyForm::Graph(_))
    }
}

impl Paths {
    /// For the source and the sink: the hop whose station it is, if any; `is_wlan` selects the hops with wireless LANs.
    /// Only the ends of a path matter, because stations do not forward.
    pub(crate) fn stations(&self, is_wlan: impl Fn(usize) -> bool) -> (Option<usize>, Option<usize>) {
        let hop = |link: Option<&u16>, is_reverse: bool| {
            let link = usize::from(*link?);
            (link % 2 == usize::from(is_reverse) && is_wlan(link / 2)).then_some(link / 2)
        };
        (hop(self.data.first(), true), hop(self.data.last(), false))
    }

    /// Paths along a row from hop `first` to hop `last` and back; data of reverse flows take the second one.
    fn along_row((first, last): (usize, usize), direction: Direction) -> Self {
        let out = (first..=last).map(|hop| 2 * hop as u16).collect();
        let back = (first..=last).rev().map(|hop| 2 * hop as u16 + 1).collect();
        match direction {
            Direction::Forward => Self { data: out, acks: back },
            Direction::Reverse => Self { data: back, acks: out },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_crossed_in_its_order_and_back() {
        let cases = [
            ((0, 0), vec![0], vec![1]),
            ((1, 1), vec![2], vec![3]),
            ((0, 2), vec![0, 2, 4], vec![5, 3, 1]),
            ((1, 2), vec![2, 4], vec![5, 3]),
        ];
        for (hops, out, back) in cases {
            let forward = Paths::along_row(hops, Direction::Forward);
            assert_eq!((&*forward.data, &*forward.acks), (&out[..], &back[..]), "{hops:?}");
            let reverse = Paths::along_row(hops, Direction::Reverse);
            assert_eq!((&*reverse.data, &*reverse.acks), (&back[..], &out[..]), "{hops:?}");
        }
    }
}
