//! Counters of the groups of flows: connections opened and closed, transfers completed.

use crate::histogram::Histogram;
use crate::media::{MediaCounts, MediaEvent, MediaRows};
use crate::playback::{Playback, VideoRows};
use crate::programs::ProgramCounts;
use crate::responsiveness::{ProbeRows, RpmSummary, class};
use crate::scenario::{Probes, Scenario, Traffic};
use crate::status::Status;
use crate::table::{Table, recorder};
use crate::traffic::{AppRecord, ConnectionEvent};
use crate::window::{Counters, PerInterval, Window};
use sojourn_aqm::Instant;
use std::collections::VecDeque;

/// Group counters of a run, and the tables recorded about them.
pub(crate) struct Ledger {
    counts: PerInterval<Vec<GroupCounts>>,
    pub groups: Vec<GroupTally>,
    /// Optional tables, recorded if the scenario has their probes.
    transfers: Option<Transfers>,
    video: Option<VideoRows>,
    probes: Option<ProbeRows>,
    media: Option<MediaRows>,
    /// Slots of closed connections that have not been released.
    pub ended: Vec<u32>,
    /// Events of connections, with their slots, that their clients have not received yet.
    pub notifications: VecDeque<(u32, ConnectionEvent)>,
}

/// A group of flows over the whole run.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupTally {
    /// Flows that last the whole run.
    pub lasting: u64,
    /// Status of all closed connections.
    pub ended_connections: Status,
    /// When a responsiveness test found its goodput saturated, and its result.
    pub saturated: Option<Instant>,
    pub rpm: Option<RpmSummary>,
}

/// A group of flows in one interval of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupCounts {
    /// Connections opened and closed.
    pub opened: u64,
    pub closed: u64,
    /// Payload bytes requested.
    pub offered: u64,
    /// Times from the start of each completed transfer to its last byte.
    pub completion: Histogram,
    /// Statistics of its video players.
    pub playback: Playback,
    /// Statistics of its media flows.
    pub media: MediaCounts,
    /// Datagrams of its endpoints.
    pub endpoint: ProgramCounts,
}

recorder! {
    Transfers("transfers") {
        group: u32 => U32,
        flow: u32 => U32,
        start_ns: u64 => U64,
        duration_ns: u64 => U64,
        bytes: u64 => U64,
    }
}

impl Ledger {
    /// Bytes per row of `media`, and of all rows of a transfer: one of a video client or a responsiveness test has a
    /// second row.
    pub const MEDIA_BYTES: u64 = MediaRows::ROW_BYTES;
    pub const TRANSFER_BYTES: u64 = Transfers::ROW_BYTES + VideoRows::ROW_BYTES + ProbeRows::ROW_BYTES;

    /// Counters of a run, and tables of transfers, video and media if the scenario has their probes.
    pub fn new(scenario: &Scenario, window: &Window) -> Self {
        let (flows, &Probes { transfers: recording, media, .. }) = (&scenario.flows, &scenario.probes);
        let (counts, transfers) = (PerInterval::new(window), recording.then(Transfers::default));
        let any_video = flows.iter().any(|flow| matches!(flow.traffic, Traffic::Video(_)));
        let video = (recording && any_video).then(VideoRows::default);
        let any_test = flows.iter().any(|flow| matches!(flow.traffic, Traffic::Rpm(_)));
        let probes = (recording && any_test).then(ProbeRows::default);
        Self {
            counts,
            groups: vec![GroupTally::default(); flows.len()],
            transfers,
            video,
            probes,
            media: (media == Some(true)).then(MediaRows::default),
            ended: Vec::new(),
            notifications: VecDeque::new(),
        }
    }

    #[inline]
    fn counts(&mut self, now: Instant, group: u32) -> &mut GroupCounts {
        of_group(self.counts.at(now), self.groups.len(), group)
    }

    /// Counts a connection of `group` opened at `now`.
    pub fn opened(&mut self, now: Instant, group: u32) {
        self.counts(now, group).opened += 1;
    }

    /// Counts `bytes` requested from a flow of `group`.
    pub fn offered(&mut self, now: Instant, group: u32, bytes: u64) {
        self.counts(now, group).offered += bytes;
    }

    /// Counts a closed connection of `group`.
    pub fn closed(&mut self, now: Instant, group: u32) {
        self.counts(now, group).closed += 1;
    }

    /// Counts a transfer whose last byte has arrived.
    pub fn completed(&mut self, now: Instant, (flow, group): (u32, u32), begun: Instant, bytes: u64) {
        self.counts(now, group).completion.record(now - begun);
        if let Some(transfers) = &mut self.transfers {
            transfers.push(group, flow, begun.as_nanos(), (now - begun).as_nanos() as u64, bytes);
        }
    }

    /// Counts a record of a client of `group`.
    pub fn record(&mut self, now: Instant, (group, client): (u32, u32), record: AppRecord) {
        let seen = &mut self.counts(now, group).playback;
        match record {
            AppRecord::Started(startup) => {
                seen.started += 1;
                seen.startup += startup;
            }
            AppRecord::Switched => seen.switches += 1,
            AppRecord::Stalled => seen.stalls += 1,
            AppRecord::StallEnded(from, to) => {
                let groups = self.groups.len();
                self.counts.split(from, to, |counts, from, to| {
                    counts.resize_with(groups, GroupCounts::default);
                    counts[group as usize].playback.stalled += to - from;
                });
            }
            AppRecord::Saturated(at) => self.groups[group as usize].saturated = Some(at),
            AppRecord::Probe { kind, sent_at, duration, in_socket } => {
                if let Some(probes) = &mut self.probes {
                    let [duration, in_socket] = [duration, in_socket].map(|span| span.as_nanos() as u64);
                    probes.push(group, kind as u8, sent_at.as_nanos(), duration, in_socket);
                }
            }
            AppRecord::Rpm(responsiveness, confidence, over, goodput_bps, connections) => {
                let tally = &mut self.groups[group as usize];
                tally.rpm = Some(RpmSummary {
                    class: responsiveness.rpm.map(class),
                    responsiveness,
                    confidence,
                    saturated_s: tally.saturated.map(Instant::as_secs_f64),
                    over_s: over.as_secs_f64(),
                    goodput_bps,
                    connections,
                });
            }
            AppRecord::Segment { number, requested_at, bytes, rate_bps, level, stalled_for } => {
                seen.segments += 1;
                seen.rates_bps += rate_bps;
                if let Some(video) = &mut self.video {
                    let spans = [now - requested_at, level, stalled_for].map(|span| span.as_nanos() as u64);
                    let ([duration, level, stalled], start) = (spans, requested_at.as_nanos());
                    video.push(group, client, number, start, duration, bytes, rate_bps, level, stalled);
                }
            }
        }
    }

    /// Counts an event of a media flow.
    pub fn media(&mut self, now: Instant, (flow, group): (u32, u32), event: &MediaEvent) {
        self.counts(now, group).media.record(event);
        if let (MediaEvent::ReportReceived { stats, target_bps }, Some(rows)) = (event, &mut self.media) {
            rows.record_report(now, (flow, group), stats, *target_bps);
        }
    }

    /// Datagrams of the endpoints of a group, at `now`.
    #[inline]
    pub fn endpoint(&mut self, now: Instant, group: u32) -> &mut ProgramCounts {
        &mut self.counts(now, group).endpoint
    }

    /// The same in the interval of any instant, which may be before the latest one.
    pub fn endpoint_of(&mut self, at: Instant, group: u32) -> &mut ProgramCounts {
        &mut of_group(self.counts.of(at), self.groups.len(), group).endpoint
    }

    /// The counts of each group from window start `number` on.
    pub fn counts_from(&self, number: usize) -> Vec<GroupCounts> {
        let mut counts = self.counts.sum(number);
        counts.resize_with(self.groups.len(), GroupCounts::default);
        counts
    }

    /// The counts of the groups in each interval between window starts.
    pub fn intervals(&self) -> impl Iterator<Item = &Vec<GroupCounts>> {
        self.counts.intervals()
    }

    /// Takes the rows of tables that have at least `min_rows`.
    pub fn take_rows(&mut self, min_rows: usize) -> impl Iterator<Item = Table> {
        let transfers = self.transfers.as_mut().and_then(|rows| rows.take(min_rows));
        let video = self.video.as_mut().and_then(|rows| rows.take(min_rows));
        let probes = self.probes.as_mut().and_then(|rows| rows.take(min_rows));
        let media = self.media.as_mut().and_then(|rows| rows.take(min_rows));
        transfers.into_iter().chain(video).chain(probes).chain(media)
    }

    /// Rows of the recorded tables that have not been taken.
    pub fn into_tables(self) -> impl Iterator<Item = Table> {
        let (video, probes) = (self.video.map(VideoRows::into_table), self.probes.map(ProbeRows::into_table));
        let media = self.media.map(MediaRows::into_table);
        self.transfers.map(Transfers::into_table).into_iter().chain(video).chain(probes).chain(media)
    }
}

/// The counts of a group in an interval, whose list may still be short of some of the `groups`.
#[inline]
fn of_group(counts: &mut Vec<GroupCounts>, groups: usize, group: u32) -> &mut GroupCounts {
    if counts.len() < groups {
        counts.resize_with(groups, GroupCounts::default);
    }
    &mut counts[group as usize]
}

impl Counters for GroupCounts {
    fn add(&mut self, other: &Self) {
        self.opened += other.opened;
        self.closed += other.closed;
        self.offered += other.offered;
        self.completion.merge(&other.completion);
        self.playback.add(&other.playback);
        self.media.add(&other.media);
        self.endpoint.add(&other.endpoint);
    }

    fn pack(&mut self) {
        self.completion.pack();
        self.media.pack();
        self.endpoint.pack();
    }
}
