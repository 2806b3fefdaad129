//! Observes the calls of a control: fingerprint, faults, and reactions to time-outs, marks and needless reductions.

use super::recording::{CallObserver, CallRecord, Digest};
use crate::cc::foreign::{Call, CongestionCause, ForeignControl, SsthreshCause};
use crate::state::CaState;

/// Observations over all connections.
#[derive(Debug, Default)]
pub(super) struct Judge {
    /// Whether the control sets the window itself: its threshold has no effect.
    pub steers: bool,
    /// Hash of each call in random connections, in order.
    pub hashes: Vec<u64>,
    /// Whether calls belong to random connections.
    pub is_random: bool,
    /// Whether the connection gets marks and has no losses.
    pub is_marked: bool,
    pub calls: u64,
    pub digest: Digest,
    pub fault: Option<String>,
    pub timeouts: TimeoutWatch,
    pub undos: UndoWatch,
    pub marks: MarkWatch,
}

impl Judge {
    /// A connection begins.
    pub fn begin(&mut self, is_random: bool, is_marked: bool) {
        (self.is_random, self.is_marked) = (is_random, is_marked);
        (self.timeouts.reduction, self.undos.prior_cwnd, self.marks.round_end) = Default::default();
    }
}

impl CallObserver for Judge {
    fn called(&mut self, record: &CallRecord, _: &dyn ForeignControl) {
        let hash = record.digest();
        self.digest.add(hash);
        self.calls += 1;
        if self.is_random {
            self.hashes.push(hash);
        }
        self.timeouts.called(record, self.steers);
        self.undos.called(record);
        if self.is_marked {
            self.marks.called(record);
        }
    }

    fn failed(&mut self, text: &str) {
        self.fault.get_or_insert_with(|| text.to_string());
    }
}

/// Whether time-outs reduce the window.
#[derive(Debug, Default)]
pub(super) struct TimeoutWatch {
    /// Time of the last reduction, the window before it, and the threshold that it returned.
    reduction: Option<(i64, u32, u32)>,
    /// Time-outs with a window of at least [`LEAST_WINDOW`].
    pub count: u32,
    /// Those after which the control has set the window back at once.
    pub restored: u32,
    /// Those whose threshold is not below the window.
    pub unreduced: u32,
}

impl TimeoutWatch {
    fn called(&mut self, CallRecord { call, before, after, value }: &CallRecord, steers: bool) {
        match call {
            Call::Ssthresh(SsthreshCause::Loss) => {}
            Call::Ssthresh(_) => {
                self.reduction = Some((before.now, before.cwnd, if steers { 0 } else { *value }));
            }
            Call::TimedOut
            | Call::State(CaState::Loss)
            | Call::Congestion(CongestionCause::TimeOut | CongestionCause::Persistent) => {
                let Some((at, prior, threshold)) = self.reduction else { return };
                // A time-out in an earlier reduction asks for no threshold.
                if prior < LEAST_WINDOW || at != before.now {
                    return;
                }
                // Each time-out has two of these calls; the stack has set the window before them.
                let is_restored = after.cwnd > before.cwnd && after.cwnd >= prior;
                if is_restored || !matches!(call, Call::State(_)) {
                    self.count += 1;
                    self.restored += u32::from(is_restored);
                    self.unreduced += u32::from(threshold >= prior);
                    self.reduction = None;
                }
            }
            _ => {}
        }
    }
}

/// Whether undone reductions restore the window.
#[derive(Debug, Default)]
pub(super) struct UndoWatch {
    /// Window before the last reduction.
    prior_cwnd: Option<u32>,
    pub count: u32,
    /// Undone reductions that leave a smaller window than before them.
    pub short: u32,
}

impl UndoWatch {
    fn called(&mut self, CallRecord { call, before, value, .. }: &CallRecord) {
        match call {
            Call::Ssthresh(_) => self.prior_cwnd = Some(before.cwnd),
            Call::Undo => {
                let Some(prior) = self.prior_cwnd.take() else { return };
                self.count += 1;
                // Twice the half of an odd window is one less.
                self.short += u32::from(*value + 1 < prior);
            }
            _ => {}
        }
    }
}

/// Whether marks reduce the window at most once per round trip, by a control that does not steer.
#[derive(Debug, Default)]
pub(super) struct MarkWatch {
    /// A reduction lasts until this is acknowledged.
    round_end: u64,
    /// Reductions, and those in the round trip of another one.
    pub count: u32,
    pub repeated: u32,
}

impl MarkWatch {
    fn called(&mut self, CallRecord { call, before, after, value }: &CallRecord) {
        let result = match call {
            Call::Ssthresh(_) if *value > 0 => *value,
            Call::Ssthresh(_) | Call::Undo | Call::MinCwnd => return,
            _ => after.cwnd,
        };
        // A delay-based control lowers its window by a segment now and then, which is not a response to a mark.
        if before.cwnd < LEAST_WINDOW || result + before.cwnd / 20 >= before.cwnd {
            return;
        }
        self.count += 1;
        if before.una <= self.round_end && self.round_end > 0 {
            self.repeated += 1;
        } else {
            self.round_end = before.nxt;
        }
    }
}

/// Smaller windows are near their minimum, and a reduction may leave them as they are.
const LEAST_WINDOW: u32 = 10;
