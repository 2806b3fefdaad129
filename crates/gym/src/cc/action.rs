//! What an action means for a connection.

/// How an action becomes a window or a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// The window times 2^a, a from -1 to 1, over the group's own control, which goes on between the steps (S. Abbasloo et
    /// al., Classic meets modern: a pragmatic learning-based congestion control for the Internet, SIGCOMM 2020).
    CwndScale,
    /// The pacing rate times 1 + g a, or over 1 - g a where a is negative; a from -1 to 1 (N. Jay et al., A deep
    /// reinforcement learning perspective on Internet congestion control, ICML 2019; there g is 0.025).
    RateScale,
    /// The natural logarithm of the window in segments.
    Cwnd,
    /// The natural logarithm of the pacing rate, in Mbit/s of payload.
    Rate,
    /// One of five changes of the window: none, half, ten segments less, ten more, twice (V. Sivakumar et al., MVFST-RL: an
    /// asynchronous RL framework for congestion control with delayed actions, 2019).
    CwndChoice,
    /// The group's own control, or one by name, as it is: actions mean nothing.
    Native,
}

/// Range of a window that is set, in segments.
pub const RANGE_CWND: (f64, f64) = (2.0, 10_000.0);
/// Range of a rate that is set, in Mbit/s.
pub const RANGE_MBIT: (f64, f64) = (0.05, 1000.0);

impl ActionKind {
    /// What an agent chooses from, by name.
    pub const ALL: [(&'static str, Self); 5] = [
        ("cwnd-scale", Self::CwndScale),
        ("rate-scale", Self::RateScale),
        ("cwnd", Self::Cwnd),
        ("rate", Self::Rate),
        ("cwnd-choice", Self::CwndChoice),
    ];

    /// The law called `name`.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, law)| law)
    }

    /// The lowest and the highest action, and whether actions are choices counted from zero.
    pub fn range(self) -> (f64, f64, bool) {
        match self {
            Self::CwndScale | Self::RateScale => (-1.0, 1.0, false),
            Self::Cwnd => (libm::log(RANGE_CWND.0), libm::log(RANGE_CWND.1), false),
            Self::Rate => (libm::log(RANGE_MBIT.0), libm::log(RANGE_MBIT.1), false),
            Self::CwndChoice => (0.0, 4.0, true),
            Self::Native => (0.0, 0.0, false),
        }
    }

    /// Whether it sets the window or the rate by itself, with no control below.
    pub(super) fn sets_rate_or_cwnd(self) -> bool {
        !matches!(self, Self::CwndScale | Self::Native)
    }

    /// Whether it sets a pacing rate.
    pub(super) fn paces(self) -> bool {
        matches!(self, Self::RateScale | Self::Rate)
    }

    /// An action within its range: what lies outside, or is not a number, is the nearest end, or the lower one.
    pub(super) fn clamp(self, action: f64) -> f64 {
        let (least, most, _) = self.range();
        if action > least { action.min(most) } else { least }
    }

    /// What an action makes of `present`: segments, or bits per second where it sets a rate.
    pub(super) fn apply(self, action: f64, present: f64, gain: f64) -> f64 {
        let a = self.clamp(action);
        match self {
            Self::CwndScale => present * libm::exp2(a),
            Self::RateScale if a >= 0.0 => present * (1.0 + gain * a),
            Self::RateScale => present / (1.0 - gain * a),
            Self::Cwnd => libm::exp(a),
            Self::Rate => libm::exp(a) * 1e6,
            Self::CwndChoice => match a as u32 {
                0 => present,
                1 => present / 2.0,
                2 => present - 10.0,
                3 => present + 10.0,
                _ => present * 2.0,
            },
            Self::Native => present,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_as_documented() {
        for (law, action, present, expected) in [
            (ActionKind::CwndScale, 0.0, 37.0, 37.0),
            (ActionKind::CwndScale, -1.0, 37.0, 18.5),
            (ActionKind::CwndScale, 7.0, 37.0, 74.0),
            (ActionKind::CwndScale, f64::NAN, 37.0, 18.5),
            (ActionKind::RateScale, 0.4, 3e6, 3e6 * 1.01),
            (ActionKind::RateScale, -1.0, 3e6, 3e6 / 1.025),
            (ActionKind::Cwnd, 17.0_f64.ln(), 3.0, 17.0),
            (ActionKind::Cwnd, -5.0, 3.0, 2.0),
            (ActionKind::Rate, 3.3_f64.ln(), 1.0, 3.3e6),
            (ActionKind::Rate, 99.0, 1.0, 1e9),
            (ActionKind::CwndChoice, 0.0, 23.0, 23.0),
            (ActionKind::CwndChoice, 1.0, 23.0, 11.5),
            (ActionKind::CwndChoice, 2.0, 23.0, 13.0),
            (ActionKind::CwndChoice, 3.0, 23.0, 33.0),
            (ActionKind::CwndChoice, 4.0, 23.0, 46.0),
            (ActionKind::Native, 1.0, 23.0, 23.0),
        ] {
            let found = law.apply(action, present, 0.025);
            assert!((found / expected - 1.0).abs() < 1e-12, "{law:?} {action}: {found}, not {expected}");
        }
    }
}
