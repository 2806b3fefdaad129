//! Adaptive video over TCP: segments of one length, each at one of several rates.

use super::TcpSpec;
use super::ladder::{LADDER, Ladder};
use crate::scenario::Error;
use crate::scenario::keys::{Kind, Need, Table, table};
use sojourn_aqm::Duration;

table! {
    /// Video player.
    pub struct VideoSpec with tcp: TcpSpec {
        /// Rates of the video in rising order, e.g. `["1 Mbit/s", "2.5 Mbit/s", "5 Mbit/s", "8 Mbit/s"]`.
        ladder: Ladder = Kind::Custom(&LADDER), Need::Required("[\"1 Mbit/s\", \"4 Mbit/s\"]");
        /// Length of a segment.
        segment: Duration = Kind::PositiveTime, Need::Default("4 s");
        /// Maximum video in the player's buffer; it requests the next segment when there is room for it.
        buffer: Duration = Kind::PositiveTime, Need::Default("30 s");
        /// Video in the buffer before it plays, at the start and after a stall. Default: one segment.
        startup: Option<Duration> = Kind::PositiveTime, Need::Optional;
        /// Bytes of a request.
        request: u64 = Kind::Size(1, 1 << 50), Need::Default("300 B");
        /// Time that the server takes for each response.
        think: Duration = Kind::Time, Need::Default("0 s");
    }
}

impl VideoSpec {
    /// Buffer level at which playback starts.
    pub(crate) fn startup_level(&self) -> Duration {
        self.startup.unwrap_or(self.segment)
    }

    pub(super) fn check(&self, table: &Table) -> Result<(), Error> {
        let Self { segment, buffer, .. } = *self;
        if segment > buffer {
            return Err(table.error("buffer", format!("{buffer} is shorter than a segment of {segment}; write more")));
        }
        if self.startup_level() > buffer {
            let text = format!("{} do not fit into a buffer of {buffer}; write less", self.startup_level());
            return Err(table.error("startup", text));
        }
        Ok(())
    }
}
