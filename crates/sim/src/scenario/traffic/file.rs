//! TCP with unlimited data, or with transfers of one size.

use super::TcpSpec;
use crate::scenario::Error;
use crate::scenario::keys::{Kind, Need, Table, table};
use sojourn_aqm::Duration;

table! {
    /// Source with unlimited data or with transfers.
    pub struct FileSpec with tcp: TcpSpec {
        /// Bytes of a transfer, e.g. `10 MB`. Default: the source always has data.
        size: Option<u64> = Kind::Size(1, 1 << 50), Need::Optional;
        /// With `size`: another transfer over a new connection begins this long after the end of the previous one;
        /// `0 s` for at once. Default: one transfer.
        pause: Option<Duration> = Kind::Time, Need::Optional;
    }
}

impl FileSpec {
    pub(super) fn check(&self, table: &Table) -> Result<(), Error> {
        match self {
            Self { size: None, pause: Some(_), .. } => {
                Err(table.error("pause", r#"missing, so no transfer would end; write e.g. size = "10 MB""#))
            }
            _ => Ok(()),
        }
    }
}
