//! The slots of the components in the event set.

use super::LINKS;
use crate::event::{HOT, Slot};

/// Where the components have their slots: classes in the order of simultaneous events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    flows: u32,
    generators: u32,
    samplers: u32,
}

/// A component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Component {
    /// A link's transmitter: departures.
    Server(usize),
    /// A link's pipe: arrivals at the far end.
    Pipe(usize),
    /// The end of the access links of all flows behind a link's pipe: arrivals back at the sources.
    Exit(usize),
    /// The end of the access links of all flows: arrivals at a link's queue.
    Entry(usize),
    /// A flow's access link towards the bottleneck, for what overtook the others.
    Up(u32),
    /// A flow's access link back from the bottleneck, for what overtook the others.
    Down(u32),
    /// The timer of a flow's source.
    Source(u32),
    /// The timer of a flow's sink.
    Sink(u32),
    /// A generator of connections.
    Generator(usize),
    /// A sampler.
    Sampler(usize),
}

impl Layout {
    /// Room for `flows` flows at a time.
    pub const fn new(flows: u32, generators: u32, samplers: u32) -> Self {
        Self { flows, generators, samplers }
    }

    /// The same with room for `flows` flows. The components keep their order.
    pub const fn with_flows(self, flows: u32) -> Self {
        Self { flows, ..self }
    }

    /// How many flows there is room for.
    pub const fn flows(self) -> u32 {
        self.flows
    }

    #[inline]
    pub fn slot(self, component: Component) -> Slot {
        let flows = self.flows;
        match component {
            Component::Server(link) => link as u32,
            Component::Pipe(link) => L + link as u32,
            Component::Exit(link) => 2 * L + link as u32,
            Component::Entry(link) => 3 * L + link as u32,
            Component::Up(flow) => FIRST_FLOW + flow,
            Component::Down(flow) => FIRST_FLOW + flows + flow,
            Component::Source(flow) => FIRST_FLOW + 2 * flows + flow,
            Component::Sink(flow) => FIRST_FLOW + 3 * flows + flow,
            Component::Generator(i) => FIRST_FLOW + 4 * flows + i as u32,
            Component::Sampler(i) => FIRST_FLOW + 4 * flows + self.generators + i as u32,
        }
    }

    #[inline]
    pub fn component(self, slot: Slot) -> Component {
        match slot {
            _ if slot < L => Component::Server(slot as usize),
            _ if slot < 2 * L => Component::Pipe((slot - L) as usize),
            _ if slot < 3 * L => Component::Exit((slot - 2 * L) as usize),
            _ if slot < FIRST_FLOW => Component::Entry((slot - 3 * L) as usize),
            _ => self.flow_component(slot - FIRST_FLOW),
        }
    }

    /// Number of slots.
    pub fn slots(self) -> u32 {
        FIRST_FLOW + 4 * self.flows + self.generators + self.samplers
    }

    fn flow_component(self, slot: u32) -> Component {
        let (class, flow) = (slot / self.flows, slot % self.flows);
        match class {
            0 => Component::Up(flow),
            1 => Component::Down(flow),
            2 => Component::Source(flow),
            3 => Component::Sink(flow),
            _ => match slot - 4 * self.flows {
                i if i < self.generators => Component::Generator(i as usize),
                i => Component::Sampler((i - self.generators) as usize),
            },
        }
    }
}

const L: u32 = LINKS as u32;

/// The links' components have the hot slots to themselves.
const FIRST_FLOW: u32 = HOT as u32;
