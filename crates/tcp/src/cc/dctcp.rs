//! DCTCP: reduces the window by the fraction of packets that were marked.
//!
//! Source: Linux 6.1 `tcp_dctcp.c` (`dctcp_update_alpha`, `dctcp_ssthresh`, `dctcp_react_to_loss`, `dctcp_cwnd_undo`),
//! in its integers: `alpha` in 1/1024, gain 2^−dctcp_shift_g. The receiver's side, `dctcp_ece_ack_update`, is in
//! `receiver/ecn.rs`.
//!
//! The integer arithmetic has many fixed points: a fraction of marks that adds less than 1/1024 per window has no
//! effect, and `alpha` below 16 falls straight to zero.
//!
//! Differs: SACKed segments count in the next window, like cumulatively acknowledged ones; Linux 6.1 counts them in the
//! current one.
//!
//! # When to use
//!
//! In data centres and other closed networks in which every queue marks early, at a threshold of a few packets
//! (`ce_threshold`, `red`): the queue stays short and the rate follows the fraction of marks. DCTCP needs ECN. In one
//! queue with Reno or CUBIC it takes nearly all of the capacity.

use super::{
    Ack, CongestionControl, CongestionEvent, ControlDocs, DeliveryControl, Flight, Needs, Params, Window,
    WindowControl, reno,
};
use sojourn_aqm::config;
use sojourn_aqm::params::Value;

config! {
    /// Module parameters of DCTCP.
    pub struct Config {
        /// Gain g of the share of marks, as a right shift: 4 is 1/16.
        dctcp_shift_g: u32 = 4, in Value::Count(0) => Value::Count(10);
        /// Initial share of marks of a connection, in 1/1024.
        dctcp_alpha_on_init: u32 = MAX_ALPHA, in Value::Count(0) => Value::Count(MAX_ALPHA as u64);
    }
}

/// DCTCP as in Linux.
#[derive(Clone, Debug)]
pub struct Dctcp {
    /// Estimated fraction of marked packets, in 1/1024.
    alpha: u32,
    /// End of the observation window.
    next_seq: u64,
    old_delivered: u64,
    old_delivered_ce: u64,
    /// Window before the last reduction.
    loss_cwnd: u32,
    /// Gain of `alpha`, as a right shift.
    dctcp_shift_g: u32,
}

impl Default for Dctcp {
    fn default() -> Self {
        Self::from(Config::default())
    }
}

impl From<Config> for Dctcp {
    fn from(Config { dctcp_shift_g, dctcp_alpha_on_init: alpha }: Config) -> Self {
        Self { alpha, next_seq: 0, old_delivered: 0, old_delivered_ce: 0, loss_cwnd: 0, dctcp_shift_g }
    }
}

/// Needs of DCTCP, in either version.
pub(super) const NEEDS: Needs =
    Needs { samples: true, ecn: true, echo_per_packet: true, ect_on_control: true, ..Needs::NONE };

impl ControlDocs for Dctcp {
    const SOURCE: &'static str = "Linux 6.1 tcp_dctcp.c; RFC 8257; M. Alizadeh et al., SIGCOMM 2010";
    const PARAMS: Params<Self> = Params::of::<Config>();
}

impl CongestionControl for Dctcp {
    fn needs(&self) -> Needs {
        NEEDS
    }

    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }

    fn deliveries(&mut self) -> Option<&mut dyn DeliveryControl> {
        Some(self)
    }
}

impl WindowControl for Dctcp {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.loss_cwnd = window.cwnd;
        reduced(window.cwnd, self.alpha)
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack, _: bool) {
        reno::increase(window, ack.packets);
    }

    fn event_ssthresh(&mut self, window: &Window, _: CongestionEvent) -> Option<u32> {
        self.loss_cwnd = window.cwnd;
        Some(reno::halved(window))
    }

    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        window.cwnd.max(self.loss_cwnd)
    }
}

impl DeliveryControl for Dctcp {
    fn on_established(&mut self, flight: &mut Flight) {
        (self.next_seq, self.old_delivered, self.old_delivered_ce) =
            (flight.nxt, flight.delivered, flight.delivered_ce);
    }

    fn on_delivered(&mut self, flight: &mut Flight, packets: u32, ce: u32) {
        if flight.una < self.next_seq {
            return;
        }
        // `dctcp_update_alpha` runs before the kernel counts what this acknowledgment delivered (before Linux 6.16), so
        // a window's last acknowledgment counts in the next window.
        let (delivered, marked) = (flight.delivered - packets as u64, flight.delivered_ce - ce as u64);
        let window = ((marked - self.old_delivered_ce) as u32, (delivered - self.old_delivered) as u32);
        self.alpha = updated(self.alpha, window, self.dctcp_shift_g);
        (self.next_seq, self.old_delivered, self.old_delivered_ce) = (flight.nxt, delivered, marked);
    }
}

/// `alpha` after a window of `delivered` packets, of which `marked` were marked.
fn updated(alpha: u32, (marked, delivered): (u32, u32), shift_g: u32) -> u32 {
    let decay = match alpha >> shift_g {
        0 => alpha,
        decay => decay,
    };
    let share = (marked << (MAX_ALPHA.ilog2() - shift_g)) / delivered.max(1);
    (alpha - decay + share).min(MAX_ALPHA)
}

/// Threshold after a mark in a window of `cwnd`.
fn reduced(cwnd: u32, alpha: u32) -> u32 {
    (cwnd - ((cwnd as u64 * alpha as u64) >> (MAX_ALPHA.ilog2() + 1)) as u32).max(2)
}

/// A fraction of one.
const MAX_ALPHA: u32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// `alpha` after `windows` windows of 100 packets, of which `marked` are marked.
    fn after(mut alpha: u32, marked: u32, windows: usize) -> u32 {
        (0..windows).for_each(|_| alpha = updated(alpha, (marked, 100), 4));
        alpha
    }

    #[test]
    fn without_marks_alpha_decays_to_zero_in_75_windows() {
        // Test vectors of the specification, generated by its Python code.
        let first = [1, 2, 3, 4, 5, 6, 7, 8].map(|windows| after(MAX_ALPHA, 0, windows));
        assert_eq!(first, [960, 900, 844, 792, 743, 697, 654, 614]);
        assert_eq!((after(MAX_ALPHA, 0, 74) > 0, after(MAX_ALPHA, 0, 75)), (true, 0));
    }

    #[test]
    fn where_alpha_settles_depends_on_where_it_starts() {
        for (from, marked, settled) in [
            (1024, 10, 111),
            (111, 10, 111),
            (110, 10, 110),
            (103, 10, 103),
            (97, 10, 97),
            (96, 10, 96),
            (50, 10, 96),
            (16, 10, 96),
            (0, 50, 512),
            (1024, 1, 0),
            (5, 1, 0),
        ] {
            assert_eq!(after(from, marked, 400), settled, "{marked} of 100 from {from}");
        }
        // Below 16 alpha decays to zero at once: 6, 0 + 6, 6 - 6 + 6, …
        assert_eq!([1, 2, 3].map(|windows| after(0, 10, windows)), [6, 6, 6]);
        assert_eq!(after(15, 10, 1), 6);
    }

    /// By the arithmetic of `dctcp_update_alpha`: alpha − min_not_zero(alpha, alpha >> g) + (marked << (10 − g)) /
    /// delivered.
    #[test]
    fn the_gain_is_a_power_of_two() {
        for (shift_g, from, marked, expected) in [
            (0, 1024, 10, [102, 102, 102, 102]),
            (1, 1024, 10, [563, 333, 218, 160]),
            (3, 1024, 10, [908, 807, 719, 642]),
            (5, 1024, 0, [992, 961, 931, 902]),
            (7, 700, 33, [697, 694, 691, 688]),
            (10, 1024, 100, [1024, 1024, 1024, 1024]),
            (10, 500, 50, [0, 0, 0, 0]),
        ] {
            let mut alpha = from;
            let windows = [(); 4].map(|()| {
                alpha = updated(alpha, (marked, 100), shift_g);
                alpha
            });
            assert_eq!(windows, expected, "shift {shift_g} from {from} with {marked} of 100");
        }
    }

    #[test]
    fn a_connection_starts_with_its_own_gain_and_share() {
        let dctcp = Dctcp::from(Config { dctcp_shift_g: 3, dctcp_alpha_on_init: 300 });
        assert_eq!((dctcp.dctcp_shift_g, dctcp.alpha), (3, 300));
        assert_eq!(reduced(100, dctcp.alpha), 86);
    }

    #[test]
    fn the_threshold_falls_by_half_of_alpha_to_two_at_the_least() {
        for (cwnd, alpha, ssthresh) in
            [(10, 1024, 5), (100, 1024, 50), (100, 100, 96), (100, 16, 100), (3, 1024, 2), (2, 1024, 2)]
        {
            assert_eq!(reduced(cwnd, alpha), ssthresh, "{cwnd} with {alpha}");
        }
    }
}
