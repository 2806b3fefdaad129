//! Snapshots of a sender for a host that observes it.

use crate::Wire;
use crate::control::Control;
use crate::recovery::Recovery;
use crate::sender_event::{SenderEvent, SenderState};
use crate::transmission::Transmission;

impl SenderState {
    fn capture(tx: &Transmission, control: &Control, recovery: &Recovery) -> Self {
        let (window, episode) = (&control.window, &recovery.episode);
        let sampled = tx.sampler.as_ref().and_then(|sampler| sampler.min_rtt());
        Self {
            state: recovery.state(),
            una: tx.queue.una(),
            nxt: tx.queue.nxt(),
            right_edge: tx.right_edge(),
            mss: window.mss,
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            in_flight: tx.board.in_flight(),
            pacing: tx.pacer.as_ref().and_then(|pacer| pacer.rate()),
            srtt_s: tx.rtt.srtt_s(),
            min_rtt: sampled.or(episode.rack.as_ref().and_then(|rack| rack.min_rtt())),
            timer: tx.timer.expiry().map(|_| (tx.timer.purpose(), tx.timer.deadline(tx.rtt.clock()))),
        }
    }
}

/// Reports the loss marks and the final state of an event.
#[inline(never)]
pub(crate) fn report_state(tx: &mut Transmission, control: &Control, recovery: &Recovery, wire: &mut impl Wire) {
    tx.board.take_log(|loss| wire.notify(|| SenderEvent::LossMarked(loss)));
    let state = SenderState::capture(tx, control, recovery);
    wire.notify(|| SenderEvent::State(&state));
}
