//! Kinds of acknowledgment. `Sender::on_ack` and the state machines of recovery are compiled once per kind, without the
//! branches that its constants exclude.
//!
//! [`AnyAck`] excludes nothing. The others give the same results for the acknowledgments that `Sender::classify` assigns to
//! them; `tests/short_ways.rs` compares.

/// Capabilities of a kind of acknowledgment.
pub(crate) trait AckKind {
    /// Recovery decides before the window moves (Linux 3.10 and later); otherwise the window grows first.
    const RECOVERY_FIRST: bool;
    /// Whether SND.UNA advances, if the kind implies it; otherwise the acknowledgment may also be old, or invalid.
    const ADVANCES: Option<bool> = None;
    /// It may echo a congestion mark.
    const MAY_ECHO: bool = true;
    /// It may arrive during F-RTO's test before the loss state (Linux up to 3.9).
    const MAY_TEST: bool = true;
    /// It brings no SACKs, and the sender is [calm](crate::transmission::Transmission::is_calm).
    const FAST_PATH: bool = false;
}

/// Any acknowledgment.
pub(crate) struct AnyAck<const RECOVERY_FIRST: bool>;

impl<const RECOVERY_FIRST: bool> AckKind for AnyAck<RECOVERY_FIRST> {
    const RECOVERY_FIRST: bool = RECOVERY_FIRST;
}

/// New data and nothing else, while nothing is suspicious: header prediction.
pub(crate) struct PredictedAck<const RECOVERY_FIRST: bool>;

impl<const RECOVERY_FIRST: bool> AckKind for PredictedAck<RECOVERY_FIRST> {
    const RECOVERY_FIRST: bool = RECOVERY_FIRST;
    const ADVANCES: Option<bool> = Some(true);
    const MAY_ECHO: bool = false;
    const MAY_TEST: bool = false;
    const FAST_PATH: bool = true;
}

/// New data, without a mark's echo or a test of a time-out, up to Linux 3.9.
pub(crate) struct NewDataAck;

impl AckKind for NewDataAck {
    const RECOVERY_FIRST: bool = false;
    const ADVANCES: Option<bool> = Some(true);
    const MAY_ECHO: bool = false;
    const MAY_TEST: bool = false;
}

/// No new data, without a mark's echo or a test of a time-out, up to Linux 3.9: mostly the next SACK of a recovery.
pub(crate) struct DuplicateAck;

impl AckKind for DuplicateAck {
    const RECOVERY_FIRST: bool = false;
    const ADVANCES: Option<bool> = Some(false);
    const MAY_ECHO: bool = false;
    const MAY_TEST: bool = false;
}
