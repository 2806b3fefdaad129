//! HighSpeed TCP: Reno with an increase that grows and a decrease that shrinks with the window, so that a large window
//! needs fewer losses than Reno's (RFC 3649).
//!
//! A table gives both by the window: row i, counted from 0, adds i + 1 segments per window, and a loss takes md / 256
//! of it. Integer arithmetic as in Linux 6.1 (`tcp_highspeed.c`) on every stack. The row changes only in congestion
//! avoidance, so a loss in the first slow start halves the window at any size; an acknowledgment counts once however
//! many packets it covers.
//!
//! # When to use
//!
//! As the conservative one of the controls for large windows: below 38 segments it is Reno, and RFC 3649 (table 3)
//! defines the window at a given loss rate. CUBIC has replaced it on today's links.

use super::{Ack, CongestionControl, Constant, ControlDocs, Window, WindowControl};

/// HighSpeed TCP.
#[derive(Clone, Debug, Default)]
pub struct HighSpeed {
    /// Current row of the table.
    ai: u32,
}

impl HighSpeed {
    /// Moves to the first row whose window is at least `cwnd`.
    fn follow(&mut self, cwnd: u32) {
        while cwnd > AIMD[self.ai as usize].0 && (self.ai as usize) < AIMD.len() - 1 {
            self.ai += 1;
        }
        while self.ai > 0 && cwnd <= AIMD[self.ai as usize - 1].0 {
            self.ai -= 1;
        }
    }
}

impl ControlDocs for HighSpeed {
    const SOURCE: &'static str = "RFC 3649, appendix B; Linux 6.1 tcp_highspeed.c";
    const CONSTANTS: &'static [Constant] = &[
        Constant::new("LOW_WINDOW", AIMD[0].0 as u64, "packets", "Window up to which it behaves as Reno."),
        Constant::new("HSTCP_AIMD_MAX", AIMD.len() as u64, "rows", "Rows of the table of increase and decrease."),
        Constant::new(
            "HIGH_DECREASE",
            AIMD[AIMD.len() - 1].1 as u64,
            "/ 256",
            "Share of the window that a loss takes in the last row.",
        ),
    ];
}

impl CongestionControl for HighSpeed {
    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }
}

impl WindowControl for HighSpeed {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        let decrease = (window.cwnd as u64 * AIMD[self.ai as usize].1 as u64) >> 8;
        (window.cwnd - decrease as u32).max(2)
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack, _: bool) {
        if window.in_slow_start() {
            window.slow_start(ack.packets);
            return;
        }
        self.follow(window.cwnd);
        window.cwnd_cnt += self.ai + 1;
        if window.cwnd_cnt >= window.cwnd {
            window.cwnd_cnt -= window.cwnd;
            window.cwnd += 1;
        }
    }
}

/// RFC 3649, appendix B: windows and the decrease at each in 1/256 (0.5 at 38, 0.1 at 83,000, linear in log(w)).
const AIMD: [(u32, u32); 72] = [
    (38, 128),
    (118, 112),
    (221, 104),
    (347, 98),
    (495, 93),
    (663, 89),
    (851, 86),
    (1058, 83),
    (1284, 81),
    (1529, 78),
    (1793, 76),
    (2076, 74),
    (2378, 72),
    (2699, 71),
    (3039, 69),
    (3399, 68),
    (3778, 66),
    (4177, 65),
    (4596, 64),
    (5036, 62),
    (5497, 61),
    (5979, 60),
    (6483, 59),
    (7009, 58),
    (7558, 57),
    (8130, 56),
    (8726, 55),
    (9346, 54),
    (9991, 53),
    (10661, 52),
    (11358, 52),
    (12082, 51),
    (12834, 50),
    (13614, 49),
    (14424, 48),
    (15265, 48),
    (16137, 47),
    (17042, 46),
    (17981, 45),
    (18955, 45),
    (19965, 44),
    (21013, 43),
    (22101, 43),
    (23230, 42),
    (24402, 41),
    (25618, 41),
    (26881, 40),
    (28193, 39),
    (29557, 39),
    (30975, 38),
    (32450, 38),
    (33986, 37),
    (35586, 36),
    (37253, 36),
    (38992, 35),
    (40808, 35),
    (42707, 34),
    (44694, 33),
    (46776, 33),
    (48961, 32),
    (51258, 32),
    (53677, 31),
    (56230, 30),
    (58932, 30),
    (61799, 29),
    (64851, 28),
    (68113, 28),
    (71617, 27),
    (75401, 26),
    (79517, 26),
    (84035, 25),
    (89053, 24),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_decrease_is_the_rfc_s_formula_at_every_row() {
        // b(w) = 0.5 − 0.4 · (ln w − ln 38) / (ln 83000 − ln 38), in 1/256, rounded down.
        for (row, &(w, md)) in AIMD.iter().enumerate() {
            let share = (libm::log(w as f64) - libm::log(38.0)) / (libm::log(83_000.0) - libm::log(38.0));
            assert_eq!(md, (256.0 * (0.5 - 0.4 * share)) as u32, "row {row}");
            assert!(row == 0 || w > AIMD[row - 1].0);
        }
    }
}
