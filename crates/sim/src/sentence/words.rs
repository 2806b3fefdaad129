//! The words of sentences: metrics, their columns in a summary and their units.

/// A metric of a run or a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunWord {
    pub word: &'static str,
    /// Key of the summary.
    pub key: &'static str,
    pub unit: &'static str,
    pub scale: f64,
    /// Whether the key is in a link's summary, not in the run's.
    pub of_link: bool,
    /// Whether a flow group has it too.
    pub of_group: bool,
    /// Whether an emulated link of a shell has it.
    pub of_shell: bool,
}

const fn of_link(word: &'static str, key: &'static str, unit: &'static str, scale: f64) -> RunWord {
    RunWord { word, key, unit, scale, of_link: true, of_group: false, of_shell: true }
}

const fn of_run(word: &'static str, key: &'static str, unit: &'static str, scale: f64) -> RunWord {
    RunWord { word, key, unit, scale, of_link: false, of_group: false, of_shell: false }
}

pub(super) const OF_RUN: [RunWord; 7] = [
    of_link("utilisation", "utilisation", "%", 100.0),
    RunWord { of_group: true, ..of_run("goodput", "goodput_bps", "Mbit/s", 1e-6) },
    of_run("delivered", "delivered_bps", "Mbit/s", 1e-6),
    of_link("drops", "drop_rate", "%", 100.0),
    of_link("marks", "mark_rate", "%", 100.0),
    RunWord { of_group: true, ..of_run("jain", "jain", "", 1.0) },
    of_link("packets", "packets", "", 1.0),
];

/// A metric of a flow group: word, key of its summary, unit and scale.
pub(super) const OF_GROUP: [(&str, &str, &str, f64); 6] = [
    ("mos", "mos", "", 1.0),
    ("lost", "loss_rate", "%", 100.0),
    ("delay", "delay_ms", "ms", 1.0),
    ("timeouts", "timeouts", "", 1.0),
    ("retransmissions", "retransmissions", "", 1.0),
    ("loss", "loss_rate", "%", 100.0),
];

/// Words that only this module knows how to compute.
pub(super) const SHARE: &str = "share";
pub(super) const NOTE: &str = "note";

/// Quantity of a quantile or an extreme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Sojourn,
    Goodput,
    Completion,
    Delay,
    Note,
}

pub(super) const SUBJECTS: [(&str, Subject); 5] = [
    ("sojourn", Subject::Sojourn),
    ("goodput", Subject::Goodput),
    ("completion", Subject::Completion),
    ("delay", Subject::Delay),
    ("note", Subject::Note),
];

/// A statistic over the values of a subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Statistic {
    Min,
    Mean,
    Max,
    /// Quantile in per cent.
    Quantile(f64),
}

/// Words of extremes and of the mean.
pub(super) const EXTREMES: [(&str, Statistic); 4] =
    [("min", Statistic::Min), ("mean", Statistic::Mean), ("max", Statistic::Max), ("peak", Statistic::Max)];

/// Statistics of times that a summary has.
pub(super) const TIMES: [(&str, Statistic); 9] = [
    ("mean", Statistic::Mean),
    ("p10", Statistic::Quantile(10.0)),
    ("p25", Statistic::Quantile(25.0)),
    ("p50", Statistic::Quantile(50.0)),
    ("p75", Statistic::Quantile(75.0)),
    ("p90", Statistic::Quantile(90.0)),
    ("p95", Statistic::Quantile(95.0)),
    ("p99", Statistic::Quantile(99.0)),
    ("max", Statistic::Max),
];

impl Statistic {
    /// The statistic of a word: `p99`, `p99.9` (also `p99_9`), `min`, `mean`, `max`, `peak`; `None` for any other word.
    pub fn of(word: &str) -> Option<Self> {
        if let Some(&(_, extreme)) = EXTREMES.iter().find(|(name, _)| *name == word) {
            return Some(extreme);
        }
        let digits = word.strip_prefix('p')?;
        let (whole, fraction) = digits.split_once(['_', '.']).unwrap_or((digits, "0"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() > 2 || !is_number(whole) || !is_number(fraction) || whole.bytes().all(|byte| byte == b'0') {
            return None;
        }
        format!("{whole}.{fraction}").parse().ok().map(Self::Quantile)
    }

    /// Key in a summary of times; `None` if it lacks the statistic.
    pub fn key(self) -> Option<&'static str> {
        TIMES.iter().find(|(_, statistic)| *statistic == self).map(|&(key, _)| key)
    }

    /// The statistic of some values; quantiles interpolate linearly between order statistics. NaN without values.
    pub fn over(self, mut values: Vec<f64>) -> f64 {
        if values.is_empty() {
            return f64::NAN;
        }
        match self {
            Self::Min => values.into_iter().fold(f64::INFINITY, f64::min),
            Self::Max => values.into_iter().fold(f64::NEG_INFINITY, f64::max),
            Self::Mean => values.iter().sum::<f64>() / values.len() as f64,
            Self::Quantile(percent) => {
                values.sort_by(f64::total_cmp);
                let last = values.len() - 1;
                let rank = last as f64 * (percent / 100.0);
                let below = (rank as usize).min(last);
                let (low, high) = (values[below], values[(below + 1).min(last)]);
                let (share, step) = (rank - below as f64, high - low);
                if share >= 0.5 { high - step * (1.0 - share) } else { low + step * share }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_statistics() {
        for (word, expected) in [
            ("p99", Some(Statistic::Quantile(99.0))),
            ("p99.9", Some(Statistic::Quantile(99.9))),
            ("p99_9", Some(Statistic::Quantile(99.9))),
            ("p5", Some(Statistic::Quantile(5.0))),
            ("peak", Some(Statistic::Max)),
            ("p0", None),
            ("p0.5", None),
            ("p100", None),
            ("p", None),
            ("pie", None),
        ] {
            assert_eq!(Statistic::of(word), expected, "{word}");
        }
    }

    #[test]
    fn quantiles_interpolate() {
        let values = || vec![4.0, 1.0, 2.0];
        assert_eq!(Statistic::Quantile(50.0).over(values()), 2.0);
        assert_eq!(Statistic::Quantile(25.0).over(values()), 1.5);
        assert_eq!(Statistic::Quantile(90.0).over(values()), 3.6);
        assert_eq!(Statistic::Mean.over(values()), 7.0 / 3.0);
        assert!(Statistic::Min.over(Vec::new()).is_nan());
    }
}
