//! A flow of a tin, and the lists that it waits in.

use crate::cobalt::law::State;
use crate::flow::packet_list::PacketList;
use crate::time::Instant;

/// What a flow is to the scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Set {
    /// In no list: a free place.
    #[default]
    None,
    /// New, or with credit left.
    Sparse,
    /// It has spent its credit and is empty: it counts as sparse.
    SparseWait,
    /// It has spent its credit.
    Bulk,
    /// Empty, with a state that is not at rest yet.
    Decaying,
}

impl Set {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Sparse | Self::SparseWait => "sparse",
            Self::Bulk => "bulk",
            Self::Decaying => "decaying",
        }
    }
}

/// The lists of a tin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FlowList {
    #[default]
    New,
    Old,
    Decaying,
}

/// A place for a flow. What its queue manager knows outlives the flow.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub queue: PacketList,
    pub state: State,
    pub deficit: i32,
    /// Places of its hosts.
    pub hosts: (u16, u16),
    pub set: Set,
    /// The list that it is in, unless it is in none.
    pub list: FlowList,
    prev: u16,
    next: u16,
}

impl Flow {
    /// A place that no flow has had on a machine that booted then.
    pub fn new(boot: Instant) -> Self {
        let (line, state) = (PacketList::default(), State::cleared(boot));
        Self {
            queue: line,
            state,
            deficit: 0,
            hosts: (0, 0),
            set: Set::None,
            list: FlowList::New,
            prev: NONE,
            next: NONE,
        }
    }
}

/// Flows in a row, by their places.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u16,
    tail: u16,
}

/// The three lists of a tin.
#[derive(Clone, Debug)]
pub(super) struct FlowLists([List; 3]);

impl Default for FlowLists {
    fn default() -> Self {
        Self([List { head: NONE, tail: NONE }; 3])
    }
}

impl FlowLists {
    /// The first flow of a list.
    #[inline]
    pub fn first(&self, chain: FlowList) -> Option<usize> {
        let head = self.0[chain as usize].head;
        (head != NONE).then_some(head as usize)
    }

    /// Puts flow `i`, which is in no list, at the end of one.
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

    /// Takes flow `i` out of its list.
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

/// No flow.
const NONE: u16 = u16::MAX;
