//! Slots of the components in the event set.

use super::Topology;
use crate::event::{EventSet as _, Slot};
use std::marker::PhantomData;

/// Assigns slots to components: by kind, in the order of simultaneous events.
#[derive(Debug)]
pub(crate) struct Layout<T> {
    links: u32,
    flows: u32,
    generators: u32,
    samplers: u32,
    channels: u32,
    /// The slot of the first channel.
    first_channel: u32,
    topology: PhantomData<fn() -> T>,
}

impl<T> Clone for Layout<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Layout<T> {}

/// A component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Component {
    /// A link's transmitter: departures.
    Server(usize),
    /// A link's pipe: arrivals at the far end.
    Pipe(usize),
    /// The end of the access links of all flows after a link's pipe: arrivals at the sources.
    Exit(usize),
    /// The end of the access links of all flows: arrivals at a link's queue.
    Entry(usize),
    /// A flow's access link towards the bottleneck, for packets that overtook others.
    Up(u32),
    /// A flow's access link from the bottleneck, for packets that overtook others.
    Down(u32),
    /// The timer of a flow's source.
    Source(u32),
    /// The timer of a flow's sink.
    Sink(u32),
    /// A generator of connections.
    Generator(usize),
    /// Poll of the NIC before a link's queue: arrivals. They come late in their instant, but before its samples.
    Poll(usize),
    /// A sampler.
    Sampler(usize),
    /// The channel of a wireless LAN: accesses start and end after everything else of their instant.
    Channel(usize),
}

impl<T: Topology> Layout<T> {
    /// Room for `flows` flows at a time.
    pub const fn new(links: u32, flows: u32, generators: u32, samplers: u32, channels: u32) -> Self {
        let topology = PhantomData;
        let layout = Self { links, flows, generators, samplers, channels, first_channel: 0, topology };
        Self { first_channel: layout.first_poll() + layout.links() + samplers, ..layout }
    }

    /// The same layout with room for `flows` flows; the order of the components stays.
    pub const fn with_flows(self, flows: u32) -> Self {
        Self::new(self.links, flows, self.generators, self.samplers, self.channels)
    }

    /// Number of flows that have room.
    pub const fn flows(self) -> u32 {
        self.flows
    }

    #[inline]
    pub fn slot(self, component: Component) -> Slot {
        let (links, flows, first_flow) = (self.links(), self.flows, self.first_flow());
        match component {
            Component::Server(link) => link as u32,
            Component::Pipe(link) => links + link as u32,
            Component::Exit(link) => 2 * links + link as u32,
            Component::Entry(link) => 3 * links + link as u32,
            Component::Up(flow) => first_flow + flow,
            Component::Down(flow) => first_flow + flows + flow,
            Component::Source(flow) => first_flow + 2 * flows + flow,
            Component::Sink(flow) => first_flow + 3 * flows + flow,
            Component::Generator(i) => first_flow + 4 * flows + i as u32,
            Component::Poll(link) => self.first_poll() + link as u32,
            Component::Sampler(i) => self.first_poll() + links + i as u32,
            Component::Channel(i) => self.first_channel + i as u32,
        }
    }

    #[inline]
    pub fn component(self, slot: Slot) -> Component {
        let links = self.links();
        match slot {
            // Channels first, because every access sets one.
            _ if T::HAS_CELLS && slot >= self.first_channel => Component::Channel((slot - self.first_channel) as usize),
            _ if slot < links => Component::Server(slot as usize),
            _ if slot < 2 * links => Component::Pipe((slot - links) as usize),
            _ if slot < 3 * links => Component::Exit((slot - 2 * links) as usize),
            _ if slot < self.first_flow() => Component::Entry((slot - 3 * links) as usize),
            _ => self.flow_component(slot - self.first_flow()),
        }
    }

    /// An empty event set for these slots.
    pub fn events(self) -> T::Events {
        let first_sink = self.first_flow() + 3 * self.flows;
        T::Events::new(self.first_flow() as usize, self.slots() as usize, first_sink..first_sink + self.flows)
    }

    /// Number of slots.
    pub fn slots(self) -> u32 {
        self.first_channel + self.channels
    }

    /// The NICs' slots come before those of the samplers.
    const fn first_poll(self) -> u32 {
        self.first_flow() + 4 * self.flows + self.generators
    }

    /// Number of links; a constant if they are an array.
    #[inline]
    const fn links(self) -> u32 {
        match T::LINKS {
            Some(links) => links,
            None => self.links,
        }
    }

    /// The links' components come first; those of two links fill the hot slots.
    const fn first_flow(self) -> u32 {
        4 * self.links()
    }

    /// The component of a slot after those of links and before those of channels, counted from there. Comparisons,
    /// because divisions are slow.
    fn flow_component(self, slot: u32) -> Component {
        let flows = self.flows;
        let polls = 4 * flows + self.generators;
        let samplers = polls + self.links();
        match slot {
            _ if slot < flows => Component::Up(slot),
            _ if slot < 2 * flows => Component::Down(slot - flows),
            _ if slot < 3 * flows => Component::Source(slot - 2 * flows),
            _ if slot < 4 * flows => Component::Sink(slot - 3 * flows),
            _ if slot < polls => Component::Generator((slot - 4 * flows) as usize),
            _ if slot < samplers => Component::Poll((slot - polls) as usize),
            _ => Component::Sampler((slot - samplers) as usize),
        }
    }
}
