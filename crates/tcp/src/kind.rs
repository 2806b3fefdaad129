//! Kinds of acknowledgment. `Sender::on_ack` and the state machines of recovery are compiled once per kind, without the
//! branches that its constants exclude. So the code exists once for all kinds, and a change of recovery, growth or
//! sending is made once.
//!
//! [`AnyAck`] excludes nothing. The others give the same results for the acknowledgments that `Sender::classify`
//! assigns to them; `tests/fast_paths.rs` compares them.

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
    /// It carries no SACKs, and the sender is in the [fast path](crate::transmission::Transmission::is_fast_path).
    const FAST_PATH: bool = false;
}

/// Any acknowledgment.
pub(crate) struct AnyAck<const RECOVERY_FIRST: bool>;

impl<const RECOVERY_FIRST: bool> AckKind for AnyAck<RECOVERY_FIRST> {
    const RECOVERY_FIRST: bool = RECOVERY_FIRST;
}

/// Header prediction: new data and nothing else, with the sender in the fast path.
pub(crate) struct PredictedAck<const RECOVERY_FIRST: bool>;

impl<const RECOVERY_FIRST: bool> AckKind for PredictedAck<RECOVERY_FIRST> {
    const RECOVERY_FIRST: bool = RECOVERY_FIRST;
    const ADVANCES: Option<bool> = Some(true);
    const MAY_ECHO: bool = false;
    const MAY_TEST: bool = false;
    const FAST_PATH: bool = true;
}

/// New data, without an ECN echo or an F-RTO test, up to Linux 3.9.
pub(crate) struct NewDataAck;

impl AckKind for NewDataAck {
    const RECOVERY_FIRST: bool = false;
    const ADVANCES: Option<bool> = Some(true);
    const MAY_ECHO: bool = false;
    const MAY_TEST: bool = false;
}

/// No new data, ECN echo or F-RTO test, up to Linux 3.9: mostly the next SACK during recovery.
pub(crate) struct DuplicateAck;

impl AckKind for DuplicateAck {
    const RECOVERY_FIRST: bool = false;
    const ADVANCES: Option<bool> = Some(false);
    const MAY_ECHO: bool = false;
    const MAY_TEST: bool = false;
}
