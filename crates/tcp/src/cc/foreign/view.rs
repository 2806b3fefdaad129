//! Structs of `sojourn_cc.h`: what a user's control sees of a connection, as plain integers.
//!
//! Times are nanoseconds; −1 means none. The header documents the fields; a test of `sojourn-capi` compares both.

use crate::cc::{Ack, Flight, GrowthCounting, LostSegment, Window};
use crate::rate_sample::RateSample;
use crate::state::CaState;
use sojourn_aqm::{Duration, Instant, Rate};

/// State of a connection. The control may change `cwnd`, `ssthresh`, `cwnd_cnt`, `bytes_acked`, and, if it steers,
/// `pacing_rate`, `burst` and `mss`; other changes have no effect.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct FlightView {
    pub size: u32,
    pub mss: u32,
    pub now: i64,
    pub srtt: i64,
    pub min_rtt: i64,
    pub cwnd: u32,
    pub ssthresh: u32,
    pub cwnd_cnt: u32,
    pub in_flight: u32,
    pub burst: u32,
    pub state: u32,
    pub pacing_rate: u64,
    pub delivered: u64,
    pub delivered_ce: u64,
    pub lost: u64,
    pub una: u64,
    pub nxt: u64,
    pub bytes_acked: u64,
    pub delivered_at: i64,
    pub next_departure: i64,
    pub packets_out: u32,
    pub flags: u32,
    pub counting: u32,
    pub prior_cwnd: u32,
}

impl FlightView {
    /// Flag: the window limits transmission.
    pub const CWND_LIMITED: u32 = 1;
    /// Flag: the application limits the rate.
    pub const APP_LIMITED: u32 = 2;
    /// Flag, set by the control: `burst` is the exact number of segments, not the minimum.
    pub const EXACT_BURST: u32 = 4;
    /// Flag, set by the control: it sends less than it could, so samples of now count as application-limited.
    pub const MARK_APP_LIMITED: u32 = 8;
    /// Value of `pacing_rate` without pacing.
    pub const UNPACED: u64 = u64::MAX;

    /// A connection before its first event.
    pub const EMPTY: Self = Self {
        size: size_of::<Self>() as u32,
        mss: 0,
        now: 0,
        srtt: 0,
        min_rtt: NONE,
        cwnd: 0,
        ssthresh: 0,
        cwnd_cnt: 0,
        in_flight: 0,
        burst: 0,
        state: 0,
        pacing_rate: Self::UNPACED,
        delivered: 0,
        delivered_ce: 0,
        lost: 0,
        una: 0,
        nxt: 0,
        bytes_acked: 0,
        delivered_at: 0,
        next_departure: 0,
        packets_out: 0,
        flags: 0,
        counting: 0,
        prior_cwnd: 0,
    };

    /// Copies the window.
    #[inline]
    pub(crate) fn load_window(&mut self, window: &Window) {
        (self.cwnd, self.ssthresh, self.cwnd_cnt) = (window.cwnd, window.ssthresh, window.cwnd_cnt);
        (self.bytes_acked, self.mss) = (window.bytes_acked, window.mss);
        self.counting = number_of(window.counting);
    }

    /// Copies changes of the control into `window`.
    #[inline]
    pub(crate) fn store_window(&self, window: &mut Window) {
        (window.cwnd, window.ssthresh, window.cwnd_cnt) = (self.cwnd, self.ssthresh, self.cwnd_cnt);
        (window.bytes_acked, window.mss) = (self.bytes_acked, self.mss);
    }

    /// The window that the view holds.
    #[inline]
    pub fn window(&self) -> Window {
        let &Self { cwnd, ssthresh, cwnd_cnt, bytes_acked, mss, .. } = self;
        Window { cwnd, ssthresh, cwnd_cnt, bytes_acked, mss, counting: counting_of(self.counting) }
    }

    /// Copies the state of the connection, with its window.
    #[inline]
    pub(crate) fn load(&mut self, flight: &Flight) {
        self.load_window(flight.window);
        self.now = time(flight.now);
        self.state = flight.state as u32;
        (self.una, self.nxt) = (flight.una, flight.nxt);
        (self.packets_out, self.in_flight) = (flight.packets_out, flight.in_flight);
        self.flags = flag(flight.is_cwnd_limited, Self::CWND_LIMITED)
            | flag(flight.is_app_limited, Self::APP_LIMITED)
            | self.flags & Self::EXACT_BURST;
        (self.delivered, self.delivered_ce, self.lost) = (flight.delivered, flight.delivered_ce, flight.lost);
        self.delivered_at = time(flight.delivered_at);
        self.srtt = flight.srtt.as_nanos();
        self.min_rtt = span(flight.min_rtt);
        self.next_departure = time(flight.next_departure);
        self.pacing_rate = flight.pacing_rate.map_or(Self::UNPACED, |rate| rate.as_bps());
    }

    /// Copies changes of the control into `flight`.
    #[inline]
    pub(crate) fn store(&self, flight: &mut Flight) {
        self.store_window(flight.window);
        flight.pacing_rate = self.rate();
        if self.flags & Self::MARK_APP_LIMITED != 0 {
            flight.mark_app_limited();
        }
    }

    /// Pacing rate, if any.
    pub fn rate(&self) -> Option<Rate> {
        (self.pacing_rate != Self::UNPACED).then(|| Rate::from_bps(self.pacing_rate))
    }

    /// State of the connection around `window`, which is this view's.
    #[inline]
    pub(crate) fn flight<'a>(&self, window: &'a mut Window) -> Flight<'a> {
        Flight {
            now: at(self.now),
            state: state_of(self.state),
            una: self.una,
            nxt: self.nxt,
            packets_out: self.packets_out,
            in_flight: self.in_flight,
            is_cwnd_limited: self.flags & Self::CWND_LIMITED != 0,
            delivered: self.delivered,
            delivered_ce: self.delivered_ce,
            delivered_at: at(self.delivered_at),
            lost: self.lost,
            is_app_limited: self.flags & Self::APP_LIMITED != 0,
            srtt: Duration::from_nanos(self.srtt),
            min_rtt: some_span(self.min_rtt),
            next_departure: at(self.next_departure),
            pacing_rate: self.rate(),
            window,
            limits_by_application: false,
        }
    }
}

/// An acknowledgment.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct AckView {
    pub size: u32,
    pub packets: u32,
    pub rtt: i64,
    pub one_way: i64,
    pub flags: u32,
    pub reserved: u32,
}

impl AckView {
    /// Flag: header prediction failed (Linux `CA_ACK_SLOWPATH`).
    pub const SLOW_PATH: u32 = 1;
    /// Flag of `grow`: the window was the limit.
    pub const LIMITED: u32 = 2;

    /// The acknowledgment `ack`, whose other fields are those of `view`.
    #[inline]
    pub(crate) fn load(ack: &Ack, is_limited: bool, view: &mut FlightView) -> Self {
        (view.now, view.una, view.nxt) = (time(ack.now), ack.una, ack.nxt);
        view.state = ack.state as u32;
        let flags = flag(ack.slow_path, Self::SLOW_PATH) | flag(is_limited, Self::LIMITED);
        let (size, reserved) = (size_of::<Self>() as u32, 0);
        Self { size, packets: ack.packets, rtt: span(ack.rtt), one_way: span(ack.one_way), flags, reserved }
    }

    /// Inverse of [`Self::load`].
    #[inline]
    pub(crate) fn ack(&self, view: &FlightView) -> Ack {
        Ack {
            now: at(view.now),
            packets: self.packets,
            rtt: some_span(self.rtt),
            one_way: some_span(self.one_way),
            una: view.una,
            nxt: view.nxt,
            state: state_of(view.state),
            slow_path: self.flags & Self::SLOW_PATH != 0,
        }
    }
}

/// Rate sample of an acknowledgment.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SampleView {
    pub size: u32,
    pub flags: u32,
    pub delivered: i64,
    pub interval: i64,
    pub send_interval: i64,
    pub ack_interval: i64,
    pub prior_delivered: u64,
    pub rtt: i64,
    pub acked_sacked: u32,
    pub ce: u32,
    pub losses: u32,
    pub prior_in_flight: u32,
    pub tx_in_flight: u32,
    pub lost: u32,
    pub delivered_ce: u32,
    pub reserved: u32,
}

impl SampleView {
    /// Flag: the application may have limited the rate.
    pub const APP_LIMITED: u32 = 1;
    /// Flag: the sampled segment was retransmitted.
    pub const RETRANSMITTED: u32 = 2;
    /// Flag: probably a delayed acknowledgment of a single short segment.
    pub const ACK_DELAYED: u32 = 4;
    /// Flag: it acknowledges a tail loss probe or its original.
    pub const ACKS_PROBE: u32 = 8;

    #[inline]
    pub(crate) fn load(sample: &RateSample) -> Self {
        Self {
            size: size_of::<Self>() as u32,
            flags: flag(sample.is_app_limited, Self::APP_LIMITED)
                | flag(sample.is_retransmitted, Self::RETRANSMITTED)
                | flag(sample.is_ack_delayed, Self::ACK_DELAYED)
                | flag(sample.acks_probe, Self::ACKS_PROBE),
            delivered: sample.delivered.map_or(NONE, i64::from),
            interval: span(sample.interval),
            send_interval: sample.send_interval.as_nanos(),
            ack_interval: sample.ack_interval.as_nanos(),
            prior_delivered: sample.prior_delivered,
            rtt: span(sample.rtt),
            acked_sacked: sample.acked_sacked,
            ce: sample.ce,
            losses: sample.losses,
            prior_in_flight: sample.prior_in_flight,
            tx_in_flight: sample.tx_in_flight,
            lost: sample.lost,
            delivered_ce: sample.delivered_ce,
            reserved: 0,
        }
    }

    /// Inverse of [`Self::load`].
    #[inline]
    pub(crate) fn sample(&self) -> RateSample {
        let has = |flag| self.flags & flag != 0;
        RateSample {
            delivered: u32::try_from(self.delivered).ok(),
            delivered_ce: self.delivered_ce,
            interval: some_span(self.interval),
            send_interval: Duration::from_nanos(self.send_interval),
            ack_interval: Duration::from_nanos(self.ack_interval),
            prior_delivered: self.prior_delivered,
            acked_sacked: self.acked_sacked,
            ce: self.ce,
            losses: self.losses,
            prior_in_flight: self.prior_in_flight,
            tx_in_flight: self.tx_in_flight,
            lost: self.lost,
            rtt: some_span(self.rtt),
            is_app_limited: has(Self::APP_LIMITED),
            is_retransmitted: has(Self::RETRANSMITTED),
            is_ack_delayed: has(Self::ACK_DELAYED),
            acks_probe: has(Self::ACKS_PROBE),
        }
    }
}

/// A segment marked lost.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LossView {
    pub size: u32,
    pub tx_in_flight: u32,
    pub lost: u32,
    pub flags: u32,
}

impl LossView {
    /// Flag: the application may have limited the rate when it was sent.
    pub const APP_LIMITED: u32 = 1;
    /// Flag: the preceding segment in sequence order is lost too.
    pub const CONTINUES: u32 = 2;

    pub(crate) fn load(loss: &LostSegment) -> Self {
        let flags = flag(loss.is_app_limited, Self::APP_LIMITED) | flag(loss.continues, Self::CONTINUES);
        Self { size: size_of::<Self>() as u32, tx_in_flight: loss.tx_in_flight, lost: loss.lost, flags }
    }

    /// Inverse of [`Self::load`].
    pub(crate) fn loss(&self) -> LostSegment {
        LostSegment {
            tx_in_flight: self.tx_in_flight,
            lost: self.lost,
            is_app_limited: self.flags & Self::APP_LIMITED != 0,
            continues: self.flags & Self::CONTINUES != 0,
        }
    }
}

/// A time or number that does not exist.
pub(super) const NONE: i64 = -1;

fn flag(is_set: bool, bit: u32) -> u32 {
    if is_set { bit } else { 0 }
}

/// Nanoseconds of a time; those beyond 292 years, such as never, are the largest number.
pub(super) fn time(at: Instant) -> i64 {
    i64::try_from(at.as_nanos()).unwrap_or(i64::MAX)
}

fn at(time: i64) -> Instant {
    Instant::from_nanos(time.max(0) as u64)
}

fn span(span: Option<Duration>) -> i64 {
    span.map_or(NONE, Duration::as_nanos)
}

fn some_span(span: i64) -> Option<Duration> {
    (span != NONE).then(|| Duration::from_nanos(span))
}

fn state_of(number: u32) -> CaState {
    [CaState::Open, CaState::Disorder, CaState::Cwr, CaState::Recovery][..]
        .get(number as usize)
        .copied()
        .unwrap_or(CaState::Loss)
}

/// Number of a unit of growth in `sojourn_cc.h`; byte counting has its limit in the second byte.
fn number_of(counting: GrowthCounting) -> u32 {
    match counting {
        GrowthCounting::Packets => 0,
        GrowthCounting::PacketsInSlowStart => 1,
        GrowthCounting::Acknowledgments => 2,
        GrowthCounting::Fractions => 3,
        GrowthCounting::Bytes(limit) => 4 | limit << 8,
    }
}

fn counting_of(number: u32) -> GrowthCounting {
    match number & 0xff {
        0 => GrowthCounting::Packets,
        1 => GrowthCounting::PacketsInSlowStart,
        2 => GrowthCounting::Acknowledgments,
        3 => GrowthCounting::Fractions,
        _ => GrowthCounting::Bytes(number >> 8),
    }
}
