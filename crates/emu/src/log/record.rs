//! One record of a log: 32 bytes, or twice that for the arrival of a super-packet or of a packet with a class.

use sojourn_aqm::class::ClassId;
use sojourn_aqm::{DropReason, Duration, Ecn, Instant, Meta};

/// An event of a packet or of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Virtual time.
    pub at: Instant,
    /// Number of the packet among the arrivals of the direction.
    pub number: u32,
    /// Its flow.
    pub flow: u32,
    /// Its length in bytes, as the queue accounts it.
    pub bytes: u32,
    /// Kind of event.
    pub kind: RecordKind,
    /// ECN field of an arriving packet.
    pub ecn: Ecn,
    /// Differentiated services code point of an arriving packet.
    pub dscp: u8,
    /// Arrival: source host in the low, destination host in the high 32 bits. Fate: sojourn time in nanoseconds.
    /// Otherwise see the kind.
    pub value: u64,
    /// Segments of an arriving super-packet; otherwise 1.
    pub segments: u16,
    /// Class named by an arriving packet.
    pub class: ClassId,
}

/// Kind of event; numbers below 16 are the fates in the table `packets` of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RecordKind {
    /// Transmission began.
    Sent = 0,
    /// Transmission began, newly marked CE.
    Marked = 1,
    /// Dropped: the queue was full.
    Limit = 2,
    /// Dropped on arrival by the queue manager.
    Early = 3,
    /// Dropped on departure by the queue manager.
    Late = 4,
    /// Dropped by a hard bound on sojourn time.
    HardLimit = 5,
    /// Dropped: the queue discipline was replaced.
    Replaced = 6,
    /// Reached the queue.
    Arrival = 16,
    /// The link polled the queue and got no packet.
    Idle = 17,
    /// Lost on the medium after the link.
    Lost = 18,
    /// The kernel rejected the write.
    Refused = 19,
    /// Written `value` nanoseconds after it was due, more than 1 ms; `number` is the first packet of the write.
    Overdue = 20,
    /// The end of the run.
    End = 21,
    /// Left with `value` bytes of new payload. The record may follow records of later times.
    Payload = 22,
    /// Extension of the arrival that follows: segments in `bytes`, class in `flow`.
    More = 23,
    /// TCP header of the arrival that follows, if the queue can query it: sequence number in `flow`, acknowledgment
    /// number in `bytes`, payload length, flags and further fields in `value`.
    Tcp = 24,
    /// Its timestamps option: TSval in `flow`, TSecr in `bytes`.
    TcpTimes = 25,
    /// A block of its SACK option, in order: first sequence number in `flow`, one past the last in `bytes`.
    TcpSack = 26,
    /// The direction changed: entry `number` of the head's changes. The records of its text precede this one.
    Changed = 27,
    /// 16 bytes of the text of the change that follows, in `flow`, `bytes` and `value`.
    Text = 28,
}

impl RecordKind {
    /// Every kind.
    pub const ALL: [Self; 20] = [
        Self::Sent,
        Self::Marked,
        Self::Limit,
        Self::Early,
        Self::Late,
        Self::HardLimit,
        Self::Replaced,
        Self::Arrival,
        Self::Idle,
        Self::Lost,
        Self::Refused,
        Self::Overdue,
        Self::End,
        Self::Payload,
        Self::More,
        Self::Tcp,
        Self::TcpTimes,
        Self::TcpSack,
        Self::Changed,
        Self::Text,
    ];

    /// Kind of a drop for `reason`.
    pub const fn dropped(reason: DropReason) -> Self {
        match reason {
            DropReason::Limit => Self::Limit,
            DropReason::Early => Self::Early,
            DropReason::Late => Self::Late,
            DropReason::HardLimit => Self::HardLimit,
            DropReason::Replaced => Self::Replaced,
        }
    }

    /// Reason of a drop by the queue.
    pub fn reason(self) -> Option<DropReason> {
        DropReason::ALL.into_iter().find(|&reason| Self::dropped(reason) == self)
    }
}

impl Record {
    pub(crate) fn arrival(at: Instant, meta: &Meta, number: u32) -> Self {
        let value = meta.hosts.0 as u64 | (meta.hosts.1 as u64) << 32;
        let (segments, class) = (meta.segments, meta.class);
        Self { value, segments, class, ..Self::fate(at, RecordKind::Arrival, meta, number, Duration::ZERO) }
    }

    pub(crate) fn fate(at: Instant, kind: RecordKind, meta: &Meta, number: u32, sojourn: Duration) -> Self {
        let event = Self::event(at, kind, number, sojourn.as_nanos() as u64);
        Self { flow: meta.flow, bytes: meta.len, ecn: meta.ecn, dscp: meta.dscp, ..event }
    }

    pub(crate) fn event(at: Instant, kind: RecordKind, number: u32, value: u64) -> Self {
        let (segments, class) = (1, ClassId::NONE);
        Self { at, number, flow: 0, bytes: 0, kind, ecn: Ecn::NotEct, dscp: 0, value, segments, class }
    }

    /// Metadata of the packet, of an arrival.
    pub fn meta(&self) -> Meta {
        let hosts = (self.value as u32, (self.value >> 32) as u32);
        let (dscp, class, segments) = (self.dscp, self.class, self.segments);
        Meta { hosts, dscp, class, segments, ..Meta::new(self.bytes, self.flow).with_ecn(self.ecn) }
    }

    /// Extension record that precedes the arrival of a super-packet or of a packet with a class.
    pub(crate) fn more(&self) -> Option<Self> {
        let holds_more = self.kind == RecordKind::Arrival && (self.segments != 1 || !self.class.is_none());
        let more = Self::event(self.at, RecordKind::More, self.number, 0);
        let flow = u32::from(self.class.major()) << 16 | u32::from(self.class.minor());
        holds_more.then_some(Self { bytes: u32::from(self.segments), flow, ..more })
    }

    /// Records of a change: its text in parts, then change `number`.
    pub(crate) fn of_change(at: Instant, number: u32, text: &str) -> impl Iterator<Item = Self> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(bytes.len().next_multiple_of(TEXT_BYTES), b' ');
        let part = move |part: &[u8]| {
            let word = |at: usize| u32::from_le_bytes(part[at..at + 4].try_into().expect("parts are whole"));
            let value = u64::from(word(8)) | u64::from(word(12)) << 32;
            Self { flow: word(0), bytes: word(4), ..Self::event(at, RecordKind::Text, number, value) }
        };
        let parts: Vec<Self> = bytes.chunks_exact(TEXT_BYTES).map(part).collect();
        parts.into_iter().chain([Self::event(at, RecordKind::Changed, number, 0)])
    }

    /// Text bytes of a record of kind [`RecordKind::Text`].
    pub(crate) fn text(&self) -> [u8; TEXT_BYTES] {
        let mut out = [0; TEXT_BYTES];
        out[..4].copy_from_slice(&self.flow.to_le_bytes());
        out[4..8].copy_from_slice(&self.bytes.to_le_bytes());
        out[8..].copy_from_slice(&self.value.to_le_bytes());
        out
    }

    /// Adds the extension record `more` to an arrival; `None` if it belongs to another arrival or has an invalid number
    /// of segments.
    pub(crate) fn with(self, more: &Self) -> Option<Self> {
        let belongs = self.kind == RecordKind::Arrival && (self.at, self.number) == (more.at, more.number);
        let segments = u16::try_from(more.bytes).ok().filter(|&segments| belongs && segments > 0)?;
        Some(Self { segments, class: ClassId::new((more.flow >> 16) as u16, more.flow as u16), ..self })
    }

    /// The record in the file format, little-endian, without its extension record.
    pub fn to_bytes(&self) -> [u8; RECORD_BYTES] {
        let mut out = [0; RECORD_BYTES];
        out[..8].copy_from_slice(&self.at.as_nanos().to_le_bytes());
        out[8..12].copy_from_slice(&self.number.to_le_bytes());
        out[12..16].copy_from_slice(&self.flow.to_le_bytes());
        out[16..20].copy_from_slice(&self.bytes.to_le_bytes());
        (out[20], out[21], out[22]) = (self.kind as u8, self.ecn as u8, self.dscp);
        out[24..].copy_from_slice(&self.value.to_le_bytes());
        out
    }

    /// Parses the file format; `None` if the bytes are not a record. Segments and class are the defaults.
    pub fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        Some(Self {
            at: Instant::from_nanos(long(0)),
            number: word(8),
            flow: word(12),
            bytes: word(16),
            kind: RecordKind::ALL.into_iter().find(|&kind| kind as u8 == bytes[20])?,
            ecn: *Ecn::ALL.get(bytes[21] as usize)?,
            dscp: bytes[22],
            value: long(24),
            segments: 1,
            class: ClassId::NONE,
        })
    }
}

/// Text bytes per record.
const TEXT_BYTES: usize = 16;

/// Bytes of a record in a file.
pub const RECORD_BYTES: usize = 32;
