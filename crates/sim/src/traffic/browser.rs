//! A browser: pages of many objects over several persistent connections.
//!
//! Source: Chromium `net/socket/client_socket_pool_manager.cc` for six connections per host. As in its socket pool, a
//! request takes the first connection that becomes free, an old one or one that was opened meanwhile. `Differs:` all
//! objects of a page are at one host, without DNS, TLS and priorities; the page's script takes no time.

use super::app::{ActionQueue, App, ConnectionEvent};
use super::exchange::Exchange;
use crate::scenario::{BrowserSpec, TcpSpec};
use sojourn_aqm::{Duration, Instant, Rng};
use std::collections::{BTreeSet, VecDeque};

pub(super) struct Browser {
    spec: BrowserSpec,
    /// When the next page is requested, unless that is after `stop`.
    due: Instant,
    stop: Instant,
    rng: Rng,
    /// Connections with a handshake in progress, idle ones, and busy ones.
    opening: u32,
    idle: BTreeSet<u32>,
    busy: u32,
    page: Page,
}

/// The page that is being loaded.
struct Page {
    started: Instant,
    /// Sizes of the objects not yet requested, and of those not yet discovered in the document.
    ready: VecDeque<u64>,
    undiscovered: VecDeque<u64>,
    /// Total bytes.
    bytes: u64,
}

impl Browser {
    /// A browser whose first click is at `start`; sizes are drawn from `rng`.
    pub fn new(spec: &BrowserSpec, (start, stop): (Instant, Instant), rng: Rng) -> Self {
        let page = Page { started: start, ready: VecDeque::new(), undiscovered: VecDeque::new(), bytes: 0 };
        Self { spec: spec.clone(), due: start, stop, rng, opening: 0, idle: BTreeSet::new(), busy: 0, page }
    }

    /// Requests as many objects as there are idle connections, and opens connections for the others.
    fn send_requests(&mut self, actions: &mut ActionQueue) {
        while let Some(&size) = self.page.ready.front() {
            let Some(number) = self.idle.pop_first() else { break };
            self.page.ready.pop_front();
            self.busy += 1;
            let BrowserSpec { request, think, .. } = self.spec;
            actions.request(number, Exchange { pause: Duration::ZERO, request, think, response: size });
        }
        while self.opening < self.page.ready.len() as u32 && self.opening + self.busy < self.spec.connections {
            self.opening += 1;
            actions.open();
        }
    }

    /// Handles a response on connection `number`.
    fn on_response(&mut self, now: Instant, number: u32, actions: &mut ActionQueue) {
        self.busy -= 1;
        self.idle.insert(number);
        if self.page.ready.is_empty() && self.busy == 0 {
            // It was the document, or the last object.
            self.page.ready = std::mem::take(&mut self.page.undiscovered);
            if self.page.ready.is_empty() {
                actions.completed(number, self.page.started, self.page.bytes);
                self.due = now + self.spec.pause;
            }
        }
    }

    fn is_over(&self) -> bool {
        self.due != Instant::NEVER && self.due >= self.stop
    }
}

impl App for Browser {
    fn due(&self) -> Instant {
        if self.is_over() { Instant::NEVER } else { self.due }
    }

    fn on_timer(&mut self, now: Instant, actions: &mut ActionQueue) {
        self.due = Instant::NEVER;
        let sizes: VecDeque<u64> = (0..self.spec.objects).map(|_| self.spec.size.draw(&mut self.rng)).collect();
        let bytes = sizes.iter().sum::<u64>() + self.spec.document.unwrap_or(0);
        let (ready, undiscovered) = match self.spec.document {
            None => (sizes, VecDeque::new()),
            Some(document) => ([document].into(), sizes),
        };
        self.page = Page { started: now, ready, undiscovered, bytes };
        self.send_requests(actions);
    }

    fn on_event(&mut self, now: Instant, number: u32, event: ConnectionEvent, actions: &mut ActionQueue) {
        match event {
            ConnectionEvent::Connected => {
                self.opening -= 1;
                self.idle.insert(number);
            }
            ConnectionEvent::ResponseReceived => self.on_response(now, number, actions),
            ConnectionEvent::ProbeAnswered { .. } | ConnectionEvent::Counted(_) => {}
        }
        if self.is_over() {
            std::mem::take(&mut self.idle).into_iter().for_each(|number| actions.close(number));
        } else {
            self.send_requests(actions);
        }
    }

    fn tcp(&self) -> &TcpSpec {
        &self.spec.tcp
    }
}
