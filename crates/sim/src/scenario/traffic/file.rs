//! TCP with an application that always has data, or that sends files of one size.

use super::TcpSpec;
use crate::scenario::Error;
use crate::scenario::keys::{Kind, Need, Table, table};
use sojourn_aqm::Duration;

table! {
    /// What one source sends over TCP.
    pub struct FileSpec with tcp: TcpSpec {
        /// Bytes of a transfer; without it the source never runs dry.
        size: Option<u64> = Kind::Size(1, 1 << 50), Need::Optional;
        /// With it, another transfer over a new connection begins so long after the end of the one before.
        pause: Option<Duration> = Kind::Time, Need::Optional;
    }
}

impl FileSpec {
    pub(super) fn check(&self, table: &Table) -> Result<(), Error> {
        match self {
            Self { size: None, pause: Some(_), .. } => {
                Err(table.error("pause", r#"without size no transfer ends; write e.g. size = "10 MB""#))
            }
            _ => Ok(()),
        }
    }
}
