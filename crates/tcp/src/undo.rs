//! Undo of a spurious reduction: by timestamps (Eifel, RFC 3522) or by D-SACKs (RFC 3708).
//!
//! Source: Linux `tcp_may_undo`, `tcp_packet_delayed`, `tcp_undo_cwnd_reduction`, `tcp_check_dsack`.

use crate::control::Control;
use crate::ecn::EcnSender;
use crate::scoreboard::{Scoreboard, reports_dsack};
use crate::stack::{Stack, UndoWindow};
use crate::{Header, SeqRange, Ticks};

/// The state before a reduction, and the evidence against it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// The threshold before the reduction; zero if it is not restored.
    prior_ssthresh: u32,
    /// SND.UNA when the window was reduced (`undo_marker`); while set, the reduction may be undone.
    marker: Option<u64>,
    /// Retransmissions that no D-SACK has reported (`undo_retrans`); negative if there were none.
    retransmissions: i32,
    /// Tick of the first retransmission of the episode (`retrans_stamp`).
    retrans_stamp: Option<Ticks>,
    needs_retransmission: bool,
    needs_progress: bool,
    stamp_may_be_missing: bool,
    window: UndoWindow,
}

impl Undo {
    /// Nothing to undo.
    pub fn new(stack: &Stack) -> Self {
        let rules = stack.undo;
        Self {
            prior_ssthresh: 0,
            marker: None,
            retransmissions: 0,
            retrans_stamp: None,
            needs_retransmission: rules.needs_retransmission,
            needs_progress: rules.needs_progress,
            stamp_may_be_missing: rules.stamp_may_be_missing,
            window: rules.window,
        }
    }

    /// A reduction begins that restores no threshold, as on a congestion mark.
    pub fn restore_nothing(&mut self) {
        self.prior_ssthresh = 0;
    }

    /// An undo restores `ssthresh`.
    pub fn set_prior_ssthresh(&mut self, ssthresh: u32) {
        self.prior_ssthresh = ssthresh;
    }

    /// Collects evidence from now on, with SND.UNA at `una` and `retransmitted` retransmissions in flight.
    pub fn init_undo(&mut self, una: u64, retransmitted: u32) {
        self.marker = Some(una);
        self.expect_dsacks(retransmitted);
    }

    /// [`Self::init_undo`] after a time-out, unless there were retransmissions before: they would make the evidence
    /// ambiguous.
    pub fn init_undo_unless(&mut self, ambiguous: bool, una: u64) {
        self.marker = (!ambiguous).then_some(una);
    }

    /// `retransmitted` retransmissions are in flight: as many D-SACKs undo the reduction.
    pub fn expect_dsacks(&mut self, retransmitted: u32) {
        self.retransmissions = match retransmitted {
            0 if self.needs_retransmission => NOTHING_TO_UNDO,
            n => n as i32,
        };
    }

    /// Counts D-SACKs from zero.
    pub fn reset_expected(&mut self) {
        self.retransmissions = 0;
    }

    /// The reduction is final.
    pub fn discard(&mut self) {
        self.marker = None;
    }

    /// Whether the reduction may still be undone.
    pub fn is_open(&self) -> bool {
        self.marker.is_some()
    }

    /// A segment is retransmitted in tick `now`.
    #[inline]
    pub fn on_retransmission(&mut self, now: Ticks) {
        self.retrans_stamp.get_or_insert(now);
        self.retransmissions = self.retransmissions.max(0) + 1;
    }

    /// No retransmission is outstanding: echoes are no longer evidence.
    #[inline]
    pub fn forget_stamp(&mut self) {
        self.retrans_stamp = None;
    }

    /// A D-SACK for data retransmitted in this episode shows that the retransmission was needless.
    #[inline]
    pub fn count_duplicate(&mut self, header: &Header, prior_una: u64, board: &Scoreboard) {
        let blocks = header.sack.blocks();
        if let Some(marker) = self.marker.filter(|_| reports_dsack(blocks, header.ack)) {
            self.count_duplicate_beyond(marker, blocks, prior_una, board);
        }
    }

    #[inline(never)]
    fn count_duplicate_beyond(&mut self, marker: u64, blocks: &[SeqRange], prior_una: u64, board: &Scoreboard) {
        let (_, end) = blocks[0];
        let needless = match end <= prior_una {
            true => (end > marker) as u32,
            false => board.retransmitted_in(blocks[0], marker),
        };
        if self.retransmissions > 0 {
            self.retransmissions = (self.retransmissions - needless as i32).max(0);
        }
    }

    /// Whether after a time-out only an acknowledgment of new data counts as evidence.
    pub fn needs_progress(&self) -> bool {
        self.needs_progress
    }

    /// Whether D-SACKs have reported every retransmission as needless.
    pub fn all_spurious_by_dsack(&self) -> bool {
        self.marker.is_some() && self.retransmissions == 0
    }

    /// Whether the reduction was spurious, by all evidence including an acknowledgment that echoes the timestamp of
    /// tick `echoed`; `stamp_holds` unless the time of the first retransmission may have been discarded.
    pub fn is_due(&self, echoed: Ticks, stamp_holds: bool) -> bool {
        self.marker.is_some() && (self.retransmissions == 0 || self.original_arrived(echoed, stamp_holds))
    }

    /// [`Self::is_due`] by the timestamp alone.
    pub fn is_due_by_echo(&self, echoed: Ticks, stamp_holds: bool) -> bool {
        self.marker.is_some() && self.original_arrived(echoed, stamp_holds)
    }

    /// Eifel: the echoed timestamp is older than the first retransmission.
    fn original_arrived(&self, echoed: Ticks, stamp_holds: bool) -> bool {
        match self.retrans_stamp {
            Some(stamp) => echoed != 0 && echoed < stamp,
            // No retransmission yet.
            None => !self.stamp_may_be_missing || stamp_holds,
        }
    }

    /// Undoes the reduction; the window before it was `prior_cwnd`.
    pub fn apply(&self, restore_ssthresh: bool, prior_cwnd: u32, control: &mut Control, ecn: &mut EcnSender) {
        if self.prior_ssthresh > 0 {
            control.window.cwnd = match self.window {
                UndoWindow::Prior if !control.steers() => control.undo_from(prior_cwnd),
                UndoWindow::Prior | UndoWindow::Control => control.undo_cwnd(),
            };
            let window = &mut control.window;
            if restore_ssthresh && self.prior_ssthresh > window.ssthresh {
                window.ssthresh = self.prior_ssthresh;
                ecn.on_undo();
            }
        } else if self.window == UndoWindow::Control && !control.steers() {
            let window = &mut control.window;
            window.cwnd = window.cwnd.max(window.reduced_ssthresh());
        }
    }

    #[cfg(test)]
    pub fn retransmissions(&self) -> i32 {
        self.retransmissions
    }
}

/// Value of `retransmissions` if there were none: no D-SACK can undo anything.
const NOTHING_TO_UNDO: i32 = -1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sack;
    use crate::cc::{AnyCc, Needs, Window};

    fn undo(stack: &str) -> Undo {
        Undo::new(Stack::find(stack).expect("a stack"))
    }

    /// An acknowledgment of `ack` whose D-SACK reports `block`.
    fn duplicate(ack: u64, block: (u64, u64)) -> Header {
        let mut sack = Sack::default();
        sack.push(block);
        Header { ack, sack, ..Header::default() }
    }

    #[test]
    fn an_echo_from_before_the_first_retransmission_is_evidence() {
        let mut undo = undo("linux-6.1");
        undo.init_undo(1_000, 0);
        undo.on_retransmission(50);
        undo.on_retransmission(60);
        let due = [0, 49, 50, 70].map(|echoed| undo.is_due(echoed, true));
        assert_eq!(due, [false, true, false, false], "zero is no echo");
        undo.discard();
        assert!(!undo.is_due(49, true));
    }

    #[test]
    fn a_d_sack_for_each_retransmission_is_evidence() {
        let (mut undo, board) = (undo("linux-6.1"), Scoreboard::new(true));
        undo.init_undo(1_000, 0);
        assert!(!undo.all_spurious_by_dsack(), "nothing was sent again");
        undo.on_retransmission(50);
        undo.on_retransmission(50);
        undo.count_duplicate(&duplicate(4_000, (500, 1_000)), 4_000, &board);
        assert_eq!(undo.retransmissions(), 2, "from before the episode");
        undo.count_duplicate(&duplicate(4_000, (1_000, 2_000)), 4_000, &board);
        assert!(!undo.all_spurious_by_dsack());
        undo.count_duplicate(&duplicate(4_000, (2_000, 3_000)), 4_000, &board);
        assert!(undo.all_spurious_by_dsack());
    }

    #[test]
    fn without_a_stamp_nothing_was_sent_again_unless_it_was_forgotten() {
        for (stack, when_gone) in [("linux-2.6.29", true), ("linux-3.13", true), ("linux-6.1", false)] {
            let mut undo = undo(stack);
            undo.init_undo(1_000, 1);
            assert_eq!((undo.is_due(70, true), undo.is_due(70, false)), (true, when_gone), "{stack}");
        }
    }

    #[test]
    fn what_is_restored_is_the_control_s_window_or_the_one_before() {
        let restored = |stack, prior_ssthresh, restore_ssthresh| {
            let stack = Stack::find(stack).expect("a stack");
            let mut control = Control::new(stack, AnyCc::new("reno").expect("a control"), 7, 1000, 8);
            let (mut undo, mut ecn) = (Undo::new(stack), EcnSender::new(stack, true, &Needs::default()));
            undo.set_prior_ssthresh(prior_ssthresh);
            undo.apply(restore_ssthresh, 15, &mut control, &mut ecn);
            let once = (control.window.cwnd, control.window.ssthresh);
            if once.1 == Window::INFINITE_SSTHRESH {
                undo.apply(restore_ssthresh, 15, &mut control, &mut ecn);
                undo.set_prior_ssthresh(0);
                undo.apply(restore_ssthresh, 15, &mut control, &mut ecn);
                assert_eq!((control.window.cwnd, control.window.ssthresh), once, "from no threshold follows no window");
            }
            once
        };
        assert_eq!(restored("linux-3.13", Window::INFINITE_SSTHRESH, true), (16, Window::INFINITE_SSTHRESH));
        assert_eq!(restored("linux-2.6.29", 20, true), (16, 20), "Reno: twice the threshold");
        assert_eq!(restored("linux-2.6.29", 20, false), (16, 8));
        assert_eq!(restored("linux-2.6.29", 0, true), (8, 8), "nothing to restore: the threshold");
        assert_eq!(restored("linux-6.1", 20, true), (15, 20));
        assert_eq!(restored("linux-6.1", 0, true), (7, 8));
    }
}
