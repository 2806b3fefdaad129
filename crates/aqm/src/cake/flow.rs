//! Flow of a tin, and the lists of flows.

use crate::cobalt::law::State;
use crate::flow::packet_list::PacketList;
use crate::time::Instant;

/// Scheduling state of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Set {
    /// In no list: a free slot.
    #[default]
    None,
    /// New, or with credit left.
    Sparse,
    /// Credit used up, but empty: counts as sparse.
    SparseWait,
    /// Credit used up.
    Bulk,
    /// Empty, with a COBALT state that still decays.
    Decaying,
}

impl Set {
    /// Name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Sparse | Self::SparseWait => "sparse",
            Self::Bulk => "bulk",
            Self::Decaying => "decaying",
        }
    }
}

/// Lists of a tin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FlowList {
    #[default]
    New,
    Old,
    Decaying,
}

/// Flow slot. The state of its COBALT outlives the flow.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub queue: PacketList,
    pub state: State,
    pub deficit: i32,
    /// Slots of its hosts.
    pub hosts: (u16, u16),
    pub set: Set,
    /// List that contains the flow, if any.
    pub list: FlowList,
    prev: u16,
    next: u16,
}

impl Flow {
    /// Unused slot on a machine that booted at `boot`.
    pub fn new(boot: Instant) -> Self {
        let (queue, state) = (PacketList::default(), State::cleared(boot));
        Self { queue, state, deficit: 0, hosts: (0, 0), set: Set::None, list: FlowList::New, prev: NONE, next: NONE }
    }
}

/// Linked list of flow slots.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u16,
    tail: u16,
}

/// Three lists of a tin.
#[derive(Clone, Debug)]
pub(super) struct FlowLists([List; 3]);

impl Default for FlowLists {
    fn default() -> Self {
        Self([List { head: NONE, tail: NONE }; 3])
    }
}

impl FlowLists {
    /// First flow of a list.
    #[inline]
    pub fn first(&self, chain: FlowList) -> Option<usize> {
        let head = self.0[chain as usize].head;
        (head != NONE).then_some(head as usize)
    }

    /// Appends flow `i`, which is in no list, to a list.
    #[inline]
    pub fn append(&mut self, flows: &mut [Flow], i: usize, chain: FlowList) {
        let list = &mut self.0[chain as usize];
        (flows[i].prev, flows[i].next, flows[i].list) = (list.tail, NONE, chain);
        match list.tail {
            NONE => list.head = i as u16,
            tail => flows[tail as usize].next = i as u16,
        }
        list.tail = i as u16;
    }

    /// Removes flow `i` from its list.
    #[inline]
    pub fn unlink(&mut self, flows: &mut [Flow], i: usize) {
        let Flow { prev, next, list: chain, .. } = flows[i];
        let list = &mut self.0[chain as usize];
        match prev {
            NONE => list.head = next,
            prev => flows[prev as usize].next = next,
        }
        match next {
            NONE => list.tail = prev,
            next => flows[next as usize].prev = prev,
        }
    }

    /// Moves flow `i` to the end of a list.
    #[inline]
    pub fn shift(&mut self, flows: &mut [Flow], i: usize, chain: FlowList) {
        self.unlink(flows, i);
        self.append(flows, i, chain);
    }
}

/// Sentinel: no flow.
const NONE: u16 = u16::MAX;
