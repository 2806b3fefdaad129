//! The two queues of DualPI2 (RFC 9332) under a policy that sets p' in place of its controller: classic packets are
//! dropped or marked with p'², L4S packets marked with k p' or as their own queue asks. All else is DualPI2's: which
//! queue a packet joins, which one is served, the step or ramp of the L4S queue.

use super::standing::Standing;
use super::{Board, Entry, Law, Pilot};
use crate::aqm::{Cx, Popped, Verdict};
use crate::backlog::Backlog;
use crate::dual::{Both, DualAqm, DualQueue, Side};
use crate::dualpi2::{Config, DualPi2};
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::{Ecn, Meta};
use crate::qdisc::Host;
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

/// Two coupled queues under a policy.
pub struct Coupled {
    board: Arc<Board>,
    dualpi2: DualPi2,
    /// Until when its own controller rules, that included.
    start: Option<Instant>,
    pilot: Option<Box<Pilot>>,
    /// What has been judged and is about to leave.
    leaving: Option<(Instant, Meta)>,
}

impl Coupled {
    /// Queues of `config` whose agent writes on `board`; its own controller rules until `start`, that included.
    pub fn steered(board: Arc<Board>, config: &Config, start: Option<Instant>) -> Self {
        Self { board, dualpi2: DualPi2::new(config), start, pilot: None, leaving: None }
    }

    /// Queues with a policy of their own.
    pub fn piloted(pilot: Pilot, config: &Config) -> Self {
        let board = Arc::new(Board::new(pilot.observer.sight().has(Entry::Flows)));
        Self { pilot: Some(Box::new(pilot)), ..Self::steered(board, config, None) }
    }

    /// The queues, empty; `config` is the one that they were made of.
    pub fn queue<P>(mut self, config: &Config, limits: Limits, host: Host) -> DualQueue<Self, P> {
        self.board.attach(host.link);
        if let Some(pilot) = &mut self.pilot {
            pilot.act(Instant::ZERO, Law::Coupled, &self.board);
        }
        DualQueue::new(self, config.within(limits, host.link), host)
    }

    /// Puts the policy's p' in force, where it rules.
    fn steer(&mut self) {
        if self.start.is_none() {
            self.dualpi2.steer(self.board.probability());
        }
    }
}

impl DualAqm for Coupled {
    fn splits(&self) -> bool {
        self.dualpi2.splits()
    }

    fn classify(&self, meta: &Meta) -> Side {
        self.dualpi2.classify(meta)
    }

    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, side: Side) -> Verdict {
        self.board.arrival(cx.now, meta);
        self.steer();
        let verdict = self.dualpi2.enqueue(cx, meta, side);
        let Backlog { packets, bytes } = cx.total_backlog;
        let head = if packets > 0 { self.board.head() } else { None };
        self.board.judged(cx.now, meta, verdict, Standing { packets: packets.into(), bytes, head });
        verdict
    }

    fn overflowed(&mut self, now: Instant, meta: &Meta, waiting: Backlog) {
        self.board.overflowed(now, meta, false, waiting);
    }

    fn choose(&mut self, now: Instant, link: Link, queues: &Both) -> Option<Side> {
        let side = self.dualpi2.choose(now, link, queues);
        if side.is_none() {
            self.board.departure(now, None, Standing::default());
        }
        side
    }

    fn judge(&mut self, cx: &mut Cx, meta: &Meta, side: Side) -> Verdict {
        self.steer();
        let verdict = self.dualpi2.judge(cx, meta, side);
        match verdict {
            Verdict::Mark if meta.ecn.is_ect() => {
                if meta.ecn != Ecn::Ce {
                    self.board.marked();
                }
            }
            Verdict::Mark | Verdict::Drop => {
                self.board.dropped();
                return verdict;
            }
            Verdict::Accept => {}
        }
        self.leaving = Some((cx.now, *meta));
        verdict
    }

    fn sent(&mut self, side: Side, len: u32, queues: &Both) {
        self.dualpi2.sent(side, len, queues);
        if let Some((now, meta)) = self.leaving.take() {
            self.board.departure(now, Some(Popped { meta }), Standing::both(queues));
        }
    }

    fn next_update(&self) -> Instant {
        let of_start = self.start.map_or(Instant::NEVER, |until| self.dualpi2.next_update().min(until));
        self.pilot.as_ref().map_or(of_start, |pilot| pilot.next.min(of_start))
    }

    fn update(&mut self, at: Instant, queues: &Both) {
        if self.start.is_some() && self.dualpi2.next_update() == at {
            self.dualpi2.update(at, queues);
        } else if self.start == Some(at) {
            self.start = None;
        }
        if let Some(pilot) = self.pilot.as_mut().filter(|pilot| pilot.next == at) {
            pilot.act(at, Law::Coupled, &self.board);
        }
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.dualpi2.observe(see);
    }
}

impl fmt::Debug for Coupled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coupled").field("dualpi2", &self.dualpi2).field("pilot", &self.pilot).finish_non_exhaustive()
    }
}
