//! Kinds of data segments. `Receiver::on_data` is compiled once per kind, without the branches that its constants exclude.
//!
//! [`Any`] excludes nothing. The others give the same results for the segments that `Receiver::on_segment` assigns to them;
//! `tests.rs` compares.

use super::reassembly::Place;

/// Capabilities of a kind of data segment.
pub(super) trait Kind {
    /// Position of the segment, if the kind implies it.
    const PLACE: Option<Place> = None;
    /// Its codepoint needs no answer, no mechanism looks at every segment, and there is nothing to report but SACKs.
    const CALM: bool = false;
}

/// Any segment.
pub(super) struct Any;

impl Kind for Any {}

/// The next segment in order, without a hole.
pub(super) struct Next;

impl Kind for Next {
    const PLACE: Option<Place> = Some(Place::Next);
    const CALM: bool = true;
}

/// The segment after the newest one beyond a hole.
pub(super) struct Growth;

impl Kind for Growth {
    const PLACE: Option<Place> = Some(Place::Beyond);
    const CALM: bool = true;
}
