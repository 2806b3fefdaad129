//! Real-time media: frames at the rate that a congestion control sets.

use crate::scenario::Error;
use crate::scenario::keys::{ECNS, Kind, Need, Table, table, word_of};
use sojourn_aqm::{Duration, Ecn, Rate};
use sojourn_media::control::{self, CONTROLS};

table! {
    /// One direction of a video call.
    pub struct MediaSpec {
        /// Congestion control: NADA, GCC or SCReAM, see below; `nada`, `gcc` and `scream` are short for
        /// `nada@ns3-rmcat`, `gcc@libwebrtc` and `scream@v2`.
        control: String = Kind::Word("congestion control of media", controls), Need::Required("nada");
        /// ECN field of the packets; one whose marks the control does not answer is refused. Default: `ect1` for
        /// `scream@v2`, which then is scalable (L4S), `not-ect` for the others.
        ecn: Option<Ecn> = Kind::Word("ECN field", || ECNS.iter().map(|&(word, _)| word).collect()), Need::Optional;
        /// Minimum rate of the encoder, in bits of IP packets.
        min_rate: Rate = Kind::Rate, Need::Default("150 kbit/s");
        /// Rate at the start. Default: `min_rate`.
        start_rate: Option<Rate> = Kind::Rate, Need::Optional;
        /// Maximum rate of the encoder.
        max_rate: Rate = Kind::Rate, Need::Default("1.5 Mbit/s");
        /// Frames per second.
        fps: u32 = Kind::Count(1, 1_000), Need::Default("30");
        /// Time from one key frame to the next. Default: all frames are alike.
        key_interval: Option<Duration> = Kind::PositiveTime, Need::Optional;
        /// Size of a key frame relative to other frames.
        key_ratio: u32 = Kind::Count(1, 100), Need::Default("4");
        /// Maximum deviation of frame sizes, in percent; drawn uniformly.
        size_spread: u32 = Kind::Count(0, 99), Need::Default("10");
        /// Maximum payload of a packet; a frame is cut into packets of equal size.
        payload: u32 = Kind::Size(1, 65_535 - 40), Need::Default("1200 B");
        /// Frames that take longer from the camera to their last packet count as late.
        late: Duration = Kind::PositiveTime, Need::Default("200 ms");
        /// Time of the run at which the camera is switched off. Default: never.
        pause_at: Option<Duration> = Kind::Time, Need::Optional;
        /// Time of the run at which it is switched on again. Default: never.
        resume_at: Option<Duration> = Kind::PositiveTime, Need::Optional;
    }
}

impl MediaSpec {
    /// Rate at the start.
    pub(crate) fn at_start(&self) -> Rate {
        self.start_rate.unwrap_or(self.min_rate)
    }

    /// ECN field of its packets.
    pub(crate) fn ecn(&self) -> Ecn {
        self.ecn.unwrap_or(self.entry().ecn[0])
    }

    fn entry(&self) -> &'static control::Entry {
        control::entry(&self.control).expect("the key admits known controls only")
    }

    pub(super) fn check(&self, table: &Table) -> Result<(), Error> {
        let Self { min_rate, max_rate, pause_at, resume_at, .. } = *self;
        let admitted = self.entry().ecn;
        if !admitted.contains(&self.ecn()) {
            let (word, control) = (word_of(ECNS, &self.ecn()), &self.control);
            let words: Vec<String> = admitted.iter().map(|ecn| word_of(ECNS, ecn).to_string()).collect();
            let text = format!("{control} does not react to marks of {word}; write {}", words.join(" or "));
            return Err(table.error("ecn", text));
        }
        if min_rate > max_rate {
            let text = format!("{min_rate} is above max_rate ({max_rate}); write less");
            return Err(table.error("min_rate", text));
        }
        if self.at_start() < min_rate || self.at_start() > max_rate {
            let text =
                format!("{} is out of range; from min_rate to max_rate ({min_rate} to {max_rate})", self.at_start());
            return Err(table.error("start_rate", text));
        }
        match (pause_at, resume_at) {
            (Some(_), None) => Err(table.error("resume_at", r#"missing, but pause_at is given; write e.g. "60 s""#)),
            (None, Some(_)) => Err(table.error("pause_at", r#"missing, but resume_at is given; write e.g. "40 s""#)),
            (Some(from), Some(to)) if to <= from => {
                Err(table.error("resume_at", format!("{to} is not after pause_at ({from}); write more")))
            }
            _ => Ok(()),
        }
    }
}

/// Registered names and aliases.
fn controls() -> Vec<&'static str> {
    let aliases = CONTROLS.iter().filter_map(|entry| entry.alias);
    CONTROLS.iter().map(|entry| entry.name).chain(aliases).collect()
}
