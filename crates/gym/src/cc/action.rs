//! Actions of a congestion-control agent.

/// Maps an action to a congestion window or a pacing rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// Multiplies the window by 2^a, a from -1 to 1; the group's own congestion control runs between the steps (S.
    /// Abbasloo et al., Classic meets modern: a pragmatic learning-based congestion control for the Internet, SIGCOMM
    /// 2020).
    CwndScale,
    /// Multiplies the pacing rate by 1 + g a, or divides it by 1 - g a if a is negative; a from -1 to 1 (N. Jay et al.,
    /// A deep reinforcement learning perspective on Internet congestion control, ICML 2019, with g = 0.025).
    RateScale,
    /// Sets the window to e^a segments.
    Cwnd,
    /// Sets the pacing rate to e^a Mbit/s of payload.
    Rate,
    /// One of five changes of the window: none, halve, minus ten segments, plus ten segments, double (V. Sivakumar et
    /// al., MVFST-RL: an asynchronous RL framework for congestion control with delayed actions, 2019).
    CwndChoice,
    /// Ignores actions: the group's own congestion control, or a named one, runs unchanged.
    Native,
}

/// Range of [`ActionKind::Cwnd`] in segments.
pub const RANGE_CWND: (f64, f64) = (2.0, 10_000.0);
/// Range of [`ActionKind::Rate`] in Mbit/s.
pub const RANGE_MBIT: (f64, f64) = (0.05, 1000.0);

impl ActionKind {
    /// Actions that a user can select, by name.
    pub const ALL: [(&'static str, Self); 5] = [
        ("cwnd-scale", Self::CwndScale),
        ("rate-scale", Self::RateScale),
        ("cwnd", Self::Cwnd),
        ("rate", Self::Rate),
        ("cwnd-choice", Self::CwndChoice),
    ];

    /// Looks up an action by name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, law)| law)
    }

    /// Minimum and maximum action, and whether actions are discrete (0, 1, …).
    pub fn range(self) -> (f64, f64, bool) {
        match self {
            Self::CwndScale | Self::RateScale => (-1.0, 1.0, false),
            Self::Cwnd => (libm::log(RANGE_CWND.0), libm::log(RANGE_CWND.1), false),
            Self::Rate => (libm::log(RANGE_MBIT.0), libm::log(RANGE_MBIT.1), false),
            Self::CwndChoice => (0.0, 4.0, true),
            Self::Native => (0.0, 0.0, false),
        }
    }

    /// Whether the agent alone sets the window or the rate, with no congestion control below it.
    pub(super) fn sets_rate_or_cwnd(self) -> bool {
        !matches!(self, Self::CwndScale | Self::Native)
    }

    /// Whether the action sets a pacing rate.
    pub(super) fn paces(self) -> bool {
        matches!(self, Self::RateScale | Self::Rate)
    }

    /// Clamps an action to its range; NaN becomes the minimum.
    pub(super) fn clamp(self, action: f64) -> f64 {
        let (least, most, _) = self.range();
        if action > least { action.min(most) } else { least }
    }

    /// Applies an action to `present`, in segments, or in bit/s if the action sets a rate.
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
