//! One line of a log, as 32 bytes; of an arrival that is a super-packet or names a class, as twice 32.

use sojourn_aqm::class::ClassId;
use sojourn_aqm::{DropReason, Duration, Ecn, Instant, Meta};

/// Something that happened to a packet, or to the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, in virtual nanoseconds.
    pub at: Instant,
    /// Number of the packet among the arrivals of the direction.
    pub number: u32,
    /// Its flow.
    pub flow: u32,
    /// Its bytes, as the queue counts them.
    pub bytes: u32,
    /// What happened.
    pub kind: RecordKind,
    /// ECN field of an arriving packet.
    pub ecn: Ecn,
    /// Differentiated services code point of an arriving packet.
    pub dscp: u8,
    /// Of an arrival the sending host and, above it, the receiving one; of a fate the sojourn time in nanoseconds; else as
    /// the kind says.
    pub value: u64,
    /// Segments of an arriving super-packet; 1 for all else.
    pub segments: u16,
    /// Class that an arriving packet names.
    pub class: ClassId,
}

/// What happened; numbers below 16 are the fates of a result's table `packets`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RecordKind {
    /// Its transmission began.
    Sent = 0,
    /// The same, newly marked CE.
    Marked = 1,
    /// Dropped: the queue was full.
    Limit = 2,
    /// Dropped on arrival by the queue manager.
    Early = 3,
    /// Dropped on departure by the queue manager.
    Late = 4,
    /// Dropped by a hard bound on sojourn time.
    HardLimit = 5,
    /// Dropped: another queue discipline took the place of its own.
    Replaced = 6,
    /// It reached the queue.
    Arrival = 16,
    /// The link asked for a packet in vain.
    Idle = 17,
    /// Lost on the medium behind the link.
    Lost = 18,
    /// The kernel refused to take it.
    Refused = 19,
    /// Written more than a millisecond after it was due: `value` nanoseconds, `number` the first packet of the write.
    Overdue = 20,
    /// The end of the run.
    End = 21,
    /// It left, and `value` bytes of its payload for the first time. Told later than it happened.
    Payload = 22,
    /// More about the arrival that follows in the file: its segments as `bytes`, its class as `flow`.
    More = 23,
    /// The TCP header of the arrival that follows, where the queue may ask for it: sequence number as `flow`,
    /// acknowledgment number as `bytes`, payload, flags and what else it has as `value`.
    Tcp = 24,
    /// Its timestamps: TSval as `flow`, TSecr as `bytes`.
    TcpTimes = 25,
    /// A block of its SACK option, in its order: the first number as `flow`, one past the last as `bytes`.
    TcpSack = 26,
    /// The direction changed, as entry `number` of the changes in the head says; records with its text are before it.
    Changed = 27,
    /// Sixteen bytes of the text of the change that follows in the file: `flow`, `bytes`, `value`.
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

    /// The kind of a drop.
    pub const fn dropped(reason: DropReason) -> Self {
        match reason {
            DropReason::Limit => Self::Limit,
            DropReason::Early => Self::Early,
            DropReason::Late => Self::Late,
            DropReason::HardLimit => Self::HardLimit,
            DropReason::Replaced => Self::Replaced,
        }
    }

    /// Why, of a drop by the queue.
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

    /// The packet's metadata, of an arrival.
    pub fn meta(&self) -> Meta {
        let hosts = (self.value as u32, (self.value >> 32) as u32);
        let (dscp, class, segments) = (self.dscp, self.class, self.segments);
        Meta { hosts, dscp, class, segments, ..Meta::new(self.bytes, self.flow).with_ecn(self.ecn) }
    }

    /// What a file has before an arrival that 32 bytes do not hold.
    pub(crate) fn more(&self) -> Option<Self> {
        let holds_more = self.kind == RecordKind::Arrival && (self.segments != 1 || !self.class.is_none());
        let more = Self::event(self.at, RecordKind::More, self.number, 0);
        let flow = u32::from(self.class.major()) << 16 | u32::from(self.class.minor());
        holds_more.then_some(Self { bytes: u32::from(self.segments), flow, ..more })
    }

    /// A change as a file has it: its text in parts, then the record of number `number`.
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

    /// The bytes of a part of a text.
    pub(crate) fn text(&self) -> [u8; TEXT_BYTES] {
        let mut out = [0; TEXT_BYTES];
        out[..4].copy_from_slice(&self.flow.to_le_bytes());
        out[4..8].copy_from_slice(&self.bytes.to_le_bytes());
        out[8..].copy_from_slice(&self.value.to_le_bytes());
        out
    }

    /// The arrival with what was before it; `None` if that is about another one, or no packet has so many segments.
    pub(crate) fn with(self, more: &Self) -> Option<Self> {
        let belongs = self.kind == RecordKind::Arrival && (self.at, self.number) == (more.at, more.number);
        let segments = u16::try_from(more.bytes).ok().filter(|&segments| belongs && segments > 0)?;
        Some(Self { segments, class: ClassId::new((more.flow >> 16) as u16, more.flow as u16), ..self })
    }

    /// The bytes in a file, little-endian, but for the record of segments and class before it.
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

    /// Reads them back; `None` for what is no record. An arrival is a packet without a class.
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

/// Bytes of a text that a record holds.
const TEXT_BYTES: usize = 16;

/// Bytes of a record in a file.
pub const RECORD_BYTES: usize = 32;
