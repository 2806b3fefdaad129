//! Adaptive video over TCP: segments of one length, each in one of several rates.

use super::TcpSpec;
use super::ladder::{LADDER, Ladder};
use crate::scenario::Error;
use crate::scenario::keys::{Kind, Need, Table, table};
use sojourn_aqm::Duration;

table! {
    /// A player of videos.
    pub struct VideoSpec with tcp: TcpSpec {
        /// Rates of the video, from the least to the highest.
        ladder: Ladder = Kind::Own(&LADDER), Need::Required("[\"1 Mbit/s\", \"4 Mbit/s\"]");
        /// Length of a segment.
        segment: Duration = Kind::PositiveTime, Need::Default("4 s");
        /// Most video that the player keeps; it asks for the next segment when there is room for it.
        buffer: Duration = Kind::PositiveTime, Need::Default("30 s");
        /// Video that has to be there before it plays, at the start and after a stall; without it, a segment.
        startup: Option<Duration> = Kind::PositiveTime, Need::Optional;
        /// Bytes of a request.
        request: u64 = Kind::Size(1, 1 << 50), Need::Default("300 B");
        /// Time that the server needs for each answer.
        think: Duration = Kind::Time, Need::Default("0 s");
    }
}

impl VideoSpec {
    /// Video that has to be there before it plays.
    pub(crate) fn enough(&self) -> Duration {
        self.startup.unwrap_or(self.segment)
    }

    pub(super) fn check(&self, table: &Table) -> Result<(), Error> {
        let Self { segment, buffer, .. } = *self;
        if segment > buffer {
            return Err(table.error("buffer", format!("{buffer} is less than a segment of {segment}; write more")));
        }
        if self.enough() > buffer {
            let text = format!("{} never come together in a buffer of {buffer}; write less", self.enough());
            return Err(table.error("startup", text));
        }
        Ok(())
    }
}
