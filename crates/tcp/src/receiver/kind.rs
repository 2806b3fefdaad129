//! Kinds of data segments. `Receiver::on_data` is compiled once per kind, without the branches that its constants exclude.
//!
//! [`AnySegment`] excludes nothing. The others give the same results for the segments that `Receiver::on_segment`
//! assigns to them; `tests.rs` compares them.

use super::reassembly::Placement;

/// Capabilities of a kind of data segment.
pub(super) trait SegmentKind {
    /// Position of the segment, if the kind implies it.
    const PLACEMENT: Option<Placement> = None;
    /// Its codepoint needs no reaction, and only SACKs have to be reported.
    const FAST_PATH: bool = false;
    /// The receiver follows its window, the application's reads and the ends of bursts.
    const TRACKS_READS: bool = true;
}

/// Any segment.
pub(super) struct AnySegment;

impl SegmentKind for AnySegment {}

/// The next segment in order, without a hole, at a receiver that need not track reads.
pub(super) struct InOrderSegment;

impl SegmentKind for InOrderSegment {
    const PLACEMENT: Option<Placement> = Some(Placement::InOrder);
    const FAST_PATH: bool = true;
    const TRACKS_READS: bool = false;
}

/// The next segment in order, without a hole, at a receiver that tracks reads.
pub(super) struct TrackedInOrderSegment;

impl SegmentKind for TrackedInOrderSegment {
    const PLACEMENT: Option<Placement> = Some(Placement::InOrder);
    const FAST_PATH: bool = true;
}

/// The segment after the newest one beyond a hole, at a receiver that need not track reads.
pub(super) struct SackExtension;

impl SegmentKind for SackExtension {
    const PLACEMENT: Option<Placement> = Some(Placement::OutOfOrder);
    const FAST_PATH: bool = true;
    const TRACKS_READS: bool = false;
}
