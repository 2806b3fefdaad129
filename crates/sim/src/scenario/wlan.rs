//! A wireless LAN in place of the bottleneck: an access point and its stations on one channel of 802.11g or 802.11n.

use super::keys::{self, table};
use super::keys::{
    Datum, Field, Key, Kind, Need, Own, Table, as_table, check_known, join, mismatch, of_word, text, word_of,
};
use super::service::WlanService;
use super::{Error, Files, LinkSpec, Service, Unit, ValueError};
use crate::radio::{Bitrate, ErrorModel};
use serde_json::{Map, Value, json};
use sojourn_aqm::registry::Catalogue;
use sojourn_aqm::{Duration, Rate};

table! {
    /// What the stations have in common.
    pub struct ChannelSpec {
        /// Rates of the cell: those of 802.11g (ofdm), or also the four of 802.11b (bg).
        rates: Rates = Kind::Word("set of rates", || RATES.iter().map(|&(word, _)| word).collect()), Need::Default("ofdm");
        /// Who waits for an EIFS after a collision: all that hear it (listeners, as in the standard), or nobody (none).
        eifs: Eifs = Kind::Word("EIFS rule", || EIFS.iter().map(|&(word, _)| word).collect()), Need::Default("listeners");
        /// Slot: short, or long as where a station knows 802.11b only.
        slot: SlotTime = Kind::Word("slot", || SLOTS.iter().map(|&(word, _)| word).collect()), Need::Default("short");
        /// Slots after a SIFS for which the access point waits before it counts others (hostapd's tx_queue_data2_aifs);
        /// without it 2, or 3 with stations of 802.11n.
        ap_aifs: Option<u32> = AIFS, Need::Optional;
        /// Largest back-off of the access point's first attempt (tx_queue_data2_cwmin).
        ap_cwmin: u32 = WINDOW, Need::Default("15");
        /// Largest back-off of all its attempts (tx_queue_data2_cwmax).
        ap_cwmax: u32 = WINDOW, Need::Default("1023");
        /// The access point's queues: one (shared), or one for each station, which take turns by accesses to the channel
        /// (round-robin: a packet each, or an aggregate) or by the airtime that their frames take (airtime).
        queues: Queues = Kind::Word("kind of queues", || QUEUES.iter().map(|&(word, _)| word).collect()), Need::Default("shared");
        /// Bytes of the beacon that the access point sends every 102.4 ms, without header; 0 B for none.
        beacon: u32 = Kind::Size(0, 2_304), Need::Default("126 B");
        /// Loss of frames by their signal-to-noise ratio: ns-3's table or NIST's formulas.
        errors: ErrorModel = Kind::Word("error model", || ERRORS.iter().map(|&(word, _)| word).collect()), Need::Default("table");
        /// Packets of a connection that may wait below TCP in a station (TCP small queues); 0 for any number.
        tsq: u32 = Kind::Count(0, 1_000_000), Need::Default("57");
        /// Time between two packets that a driver takes from its queue.
        cpu_gap: Duration = Kind::Time, Need::Default("12 us");
        /// Rate of a shaper (HTB) between queue and driver of the access point; without it, none.
        htb_rate: Option<Rate> = Kind::Rate, Need::Optional;
    }
}

table! {
    /// A group of like stations.
    pub struct StationSpec {
        /// Number of stations of this group.
        count: u32 = Kind::Count(1, MOST_STATIONS), Need::Default("1");
        /// Rate control in both directions: minstrel, a rate of the cell such as 54 Mbit/s, or a scheme of 802.11n, mcs0 to
        /// mcs15, with which packets are sent in aggregates.
        rate: RateSpec = Kind::Own(&RATE), Need::Default("minstrel");
        /// Most packets in an aggregate of 802.11n, e.g. 32 as in ath9k; without it 64.
        aggregate: Option<u32> = Kind::Count(1, MOST_AGGREGATED), Need::Optional;
        /// Signal-to-noise ratio in both directions, in dB; without it, frames are lost by collisions only.
        snr: Option<Decibels> = Kind::Own(&SNR), Need::Optional;
        /// Standard deviation of the ratio's fading, in dB; without it, the ratio does not change.
        fading: Option<Decibels> = Kind::Own(&FADING), Need::Optional;
        /// Time over which the fading forgets itself, to 1/e.
        coherence: Duration = Kind::PositiveTime, Need::Default("300 ms");
        /// Slots after a SIFS for which a station waits before it counts others; without it 2, or 3 at a station of 802.11n.
        aifs: Option<u32> = AIFS, Need::Optional;
        /// Largest back-off of the first attempt.
        cwmin: u32 = WINDOW, Need::Default("15");
        /// Largest back-off of all attempts.
        cwmax: u32 = WINDOW, Need::Default("1023");
    }
}

/// A cell: the channel and who is on it.
#[derive(Clone, Debug, PartialEq)]
pub struct WlanSpec {
    /// What the stations have in common.
    pub channel: ChannelSpec,
    /// Groups of stations; 1 to [`MOST_STATIONS`] in all.
    pub stations: Vec<StationSpec>,
}

/// The rates of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rates {
    /// The eight of 802.11g.
    Ofdm,
    /// Also the four of 802.11b.
    Bg,
}

/// What follows a frame that was not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eifs {
    /// An EIFS at all that heard it.
    Listeners,
    /// A DIFS, as if nobody had noticed.
    None,
}

/// How long a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotTime {
    /// 9 µs.
    Short,
    /// 20 µs.
    Long,
}

/// The queues of an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queues {
    /// One for all stations.
    Shared,
    /// One for each station, a packet from each in turn.
    RoundRobin,
    /// One for each station, equal airtime for each.
    Airtime,
}

/// How a sender chooses its rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateSpec {
    /// By Minstrel.
    Minstrel,
    /// Always this one.
    Fixed(Bitrate),
}

/// A ratio on a logarithmic scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decibels(pub f64);

/// Most stations of a cell.
pub const MOST_STATIONS: u64 = 250;

/// Most packets in an aggregate: as many as a Block Ack can tell of.
const MOST_AGGREGATED: u64 = 64;

impl StationSpec {
    /// Most packets in an aggregate, at a rate of 802.11n.
    pub fn longest_aggregate(&self) -> u32 {
        self.aggregate.unwrap_or(MOST_AGGREGATED as u32)
    }
}

impl WlanSpec {
    /// Reads the section `wlan` at `place`.
    pub(super) fn read(place: &str, value: &Value) -> Result<Self, Error> {
        let values = as_table(place, value)?;
        check_known(place, values, ChannelSpec::KEYS.iter().chain(OWN_KEYS))?;
        let table = Table::new(place, values, ChannelSpec::KEYS);
        let channel = ChannelSpec::read(&table)?;
        check_windows(&table, ["ap_cwmin", "ap_cwmax"], [channel.ap_cwmin, channel.ap_cwmax])?;
        // As TOML calls it: in the last entry of a list of tables.
        let header = format!("{}wlan.{STATIONS}", if place == KEY { "" } else { "links." });
        let groups = match values.get(STATIONS) {
            None => &[],
            Some(Value::Array(groups)) => groups.as_slice(),
            Some(other) => {
                return Err(
                    table.error(STATIONS, mismatch(other, &format!("a list of tables, [[{header}]]")).to_string())
                );
            }
        };
        if groups.is_empty() {
            return Err(table.error(STATIONS, format!("there are none; write e.g. [[{header}]] with count = 4")));
        }
        let read = |(i, value)| read_station(&format!("{place}.{STATIONS}[{i}]"), value, channel.rates);
        let stations = groups.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        let spec = Self { channel, stations };
        match spec.station_count() {
            n if n > MOST_STATIONS => {
                Err(table.error(STATIONS, format!("{n} stations in all; at most {MOST_STATIONS}")))
            }
            _ => Ok(spec),
        }
    }

    pub(super) fn write(&self) -> Map<String, Value> {
        let mut out = Map::new();
        self.channel.write(&mut out);
        let group = |spec: &StationSpec| {
            let mut out = Map::new();
            spec.write(&mut out);
            Value::Object(out)
        };
        out.insert(STATIONS.into(), self.stations.iter().map(group).collect());
        out
    }

    /// Number of stations of all groups.
    pub fn station_count(&self) -> u64 {
        self.stations.iter().map(|group| u64::from(group.count)).sum()
    }

    /// Every station in its order.
    pub fn each_station(&self) -> impl Iterator<Item = &StationSpec> {
        self.stations.iter().flat_map(|group| (0..group.count).map(move |_| group))
    }

    /// Gives a link's table what a link over the channel has where it says nothing else; `down` is that of the access
    /// point.
    pub(super) fn complete_link(&self, place: &str, value: Option<&Value>, down: bool) -> Result<Value, Error> {
        let mut values = value.map_or_else(|| Ok(Map::new()), |value| as_table(place, value).cloned())?;
        if !Service::is_given(&values) {
            values.insert(WlanService::KEY.into(), WlanService::USUAL.into());
        }
        // What is in the ring has had its turn, so queues that take turns have a short one.
        let takes_turns = down && self.channel.queues != Queues::Shared;
        values.entry("below").or_insert_with(|| if takes_turns { SHORT_RING } else { RING }.into());
        Ok(values.into())
    }

    /// Refuses what a link over the channel cannot have.
    pub(super) fn check_link(place: &str, link: &LinkSpec) -> Result<(), Error> {
        let error = |key: &str, text: &str| Err(Error::new(format!("{place}.{key}"), text));
        if !matches!(link.service, Service::Wlan(_)) {
            let text = "the channel of [wlan] serves it; leave out the keys of another service";
            return Err(Error::new(place, text));
        }
        if link.delays.changes() || link.delay > Duration::ZERO {
            return error("delay", "a channel has none; write rtt or access_delay in the flows");
        }
        if link.gro.is_some() {
            return error("gro", "what reaches a wireless LAN stays apart; leave it out");
        }
        if link.tick.is_some() {
            return error("tick", "nothing delays behind a channel; leave it out");
        }
        if link.loss.is_some() {
            return error("loss", "a channel loses by its stations' snr; write that");
        }
        match link.below {
            Some(ring) if ring.unit == Unit::Packets && ring.bql.is_none() => Ok(()),
            _ => error("below", r#"a driver's ring holds packets; write e.g. "50 packets wake 24 packets""#),
        }
    }
}

fn read_station(place: &str, value: &Value, rates: Rates) -> Result<StationSpec, Error> {
    let values = as_table(place, value)?;
    check_known(place, values, StationSpec::KEYS.iter())?;
    let table = Table::new(place, values, StationSpec::KEYS);
    let spec = StationSpec::read(&table)?;
    if let RateSpec::Fixed(rate) = spec.rate {
        if rates == Rates::Ofdm && rate.ofdm_index().is_none() && rate.mcs().is_none() {
            let text = format!(r#"{} is a rate of 802.11b; write rates = "bg" in [wlan] too"#, rate.rate());
            return Err(table.error("rate", text));
        }
    }
    let is_ht = matches!(spec.rate, RateSpec::Fixed(rate) if rate.mcs().is_some());
    if spec.aggregate.is_some() && !is_ht {
        return Err(table.error("aggregate", r#"goes with a rate of 802.11n; write e.g. rate = "mcs15" too"#));
    }
    if rates == Rates::Bg && spec.snr.is_some() {
        let text = r#"the error models do not know the rates of 802.11b; leave it out, or rates = "bg""#;
        return Err(table.error("snr", text));
    }
    if spec.fading.is_some() && spec.snr.is_none() {
        return Err(table.error("fading", r#"goes with snr; write e.g. snr = "25 dB" too"#));
    }
    check_windows(&table, ["cwmin", "cwmax"], [spec.cwmin, spec.cwmax])?;
    Ok(spec)
}

/// Refuses contention windows that a card cannot have: other than a power of two less one, or the least above the most.
fn check_windows(table: &Table, keys: [&str; 2], [least, most]: [u32; 2]) -> Result<(), Error> {
    for (key, window) in keys.into_iter().zip([least, most]) {
        if !(window + 1).is_power_of_two() {
            let near = (window + 1).next_power_of_two() - 1;
            return Err(table.error(key, format!("{window} is no power of two less one; write e.g. {near}")));
        }
    }
    if least > most {
        return Err(table.error(keys[0], format!("{least} is above {}, {most}; write at most that", keys[1])));
    }
    Ok(())
}

/// The keys of the section that are no values.
pub(super) const OWN_KEYS: &[Key] = &[Key {
    name: STATIONS,
    kind: Kind::Section,
    need: Need::Required("list"),
    doc: "Groups of like stations; they are numbered from 0, in this order.",
}];

const STATIONS: &str = "stations";

/// As a card counts them: 1 makes a PIFS, 2 a DIFS.
const AIFS: Kind = Kind::Count(1, 15);
const WINDOW: Kind = Kind::Count(0, 32_767);

/// One frame on the air, and the next one.
const SHORT_RING: &str = "2 packets";

/// ath5k: at most 50 frames; the queue is asked again when fewer than 25 are left.
const RING: &str = "50 packets wake 24 packets";

const RATES: &[(&str, Rates)] = &[("ofdm", Rates::Ofdm), ("bg", Rates::Bg)];
const QUEUES: &[(&str, Queues)] =
    &[("shared", Queues::Shared), ("round-robin", Queues::RoundRobin), ("airtime", Queues::Airtime)];
const SLOTS: &[(&str, SlotTime)] = &[("short", SlotTime::Short), ("long", SlotTime::Long)];
const EIFS: &[(&str, Eifs)] = &[("listeners", Eifs::Listeners), ("none", Eifs::None)];
const ERRORS: &[(&str, ErrorModel)] = &[("table", ErrorModel::Table), ("nist", ErrorModel::Nist)];

macro_rules! words {
    ($( $type:ty: $words:ident; )*) => {$(
        impl Field for $type {
            fn some(datum: Datum) -> Self {
                let Datum::Text(word) = datum else { unreachable!("a word is a text") };
                of_word($words, &word)
            }
            fn datum(&self) -> Option<Datum> {
                Some(Datum::Text(word_of($words, self)))
            }
        }
    )*};
}

words! {
    Rates: RATES;
    Eifs: EIFS;
    SlotTime: SLOTS;
    Queues: QUEUES;
    ErrorModel: ERRORS;
}

impl RateSpec {
    fn parse(value: &Value) -> Result<Self, ValueError> {
        let text = text(value, r#"a text such as "minstrel", "54 Mbit/s" or "mcs15""#)?;
        if text.trim() == MINSTREL {
            return Ok(Self::Minstrel);
        }
        if text.to_lowercase().contains(MCS) {
            let number = text.trim().strip_prefix(MCS).filter(|digits| digits.bytes().all(|c| c.is_ascii_digit()));
            let found = number.and_then(|digits| digits.parse().ok()).and_then(Bitrate::of_mcs).map(Self::Fixed);
            let most = Bitrate::MOST_MCS;
            return found.ok_or_else(|| {
                let text = format!("{text:?} is no scheme of 802.11n with one or two streams");
                ValueError::Form(format!(r#"{text}; write "mcs0" to "mcs{most}""#))
            });
        }
        let rate = keys::rate_of(text).map_err(|e| ValueError::Form(format!(r#"{e}, "minstrel" or "mcs15""#)))?;
        let known = || Bitrate::OFDM.iter().map(|rate| (rate.rate().as_bps() / 1_000_000).to_string());
        Bitrate::find(rate).map(Self::Fixed).ok_or_else(|| {
            let known = known().collect::<Vec<_>>().join(", ");
            let text = format!("{text:?} is no rate of 802.11g; write {known} Mbit/s");
            ValueError::Form(format!(r#"{text}, "minstrel", or e.g. "mcs15" of 802.11n"#))
        })
    }
}

impl Field for RateSpec {
    fn some(datum: Datum) -> Self {
        let Datum::Own(value) = datum else { unreachable!("a rate control has a form of its own") };
        Self::parse(&value).expect("the key has checked the rate control")
    }
    fn datum(&self) -> Option<Datum> {
        let text = match self {
            Self::Minstrel => MINSTREL.to_string(),
            Self::Fixed(rate) => rate.mcs().map_or_else(|| rate.rate().to_string(), |mcs| format!("{MCS}{mcs}")),
        };
        Some(Datum::Own(text.into()))
    }
}

const MINSTREL: &str = "minstrel";

/// Before the number of a modulation and coding scheme.
const MCS: &str = "mcs";

static RATE: Own = Own {
    check: |value| RateSpec::parse(value).map(|_| ()),
    schema: || {
        let schemes = (0..=Bitrate::MOST_MCS).map(|mcs| format!("{MCS}{mcs}"));
        let words: Vec<_> = std::iter::once(MINSTREL.to_string()).chain(schemes).collect();
        json!({ "anyOf": [{ "enum": words }, { "$ref": "#/$defs/rate" }] })
    },
};

impl Decibels {
    fn parse(value: &Value, least: f64, most: f64) -> Result<f64, ValueError> {
        let text = text(value, r#"a text with a unit such as "25 dB""#)?;
        let number = text.trim().strip_suffix("dB").map(str::trim);
        let number = number.ok_or_else(|| ValueError::Form(format!(r#"{text:?} has no unit; write e.g. "25 dB""#)))?;
        let number = number.parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.ok_or_else(|| ValueError::Form(format!(r#"{text:?} is no number; write e.g. "25 dB""#)))?;
        if !(least..=most).contains(&number) {
            let range = format!("from {least} dB to {most} dB");
            return Err(ValueError::OutOfRange { value: format!("{number} dB"), range });
        }
        Ok(number)
    }
}

impl Field for Decibels {
    fn some(datum: Datum) -> Self {
        let Datum::Own(value) = datum else { unreachable!("decibels have a form of their own") };
        Self(Self::parse(&value, f64::NEG_INFINITY, f64::INFINITY).expect("the key has checked the number"))
    }
    fn datum(&self) -> Option<Datum> {
        Some(Datum::Own(format!("{} dB", self.0).into()))
    }
}

fn decibels_schema() -> Value {
    json!({ "type": "string", "pattern": r"^\s*-?[0-9.]+\s*dB\s*$" })
}

static SNR: Own = Own { check: |value| Decibels::parse(value, -20.0, 100.0).map(|_| ()), schema: decibels_schema };

static FADING: Own = Own { check: |value| Decibels::parse(value, 0.0, 30.0).map(|_| ()), schema: decibels_schema };

/// Reads the queues of an access point and of its stations, each with its place.
pub(super) fn read_links(
    wlan: &WlanSpec,
    [down, up]: [(&str, Option<&Value>); 2],
    files: &dyn Files,
    own: &dyn Catalogue,
) -> Result<[LinkSpec; 2], Error> {
    let read = |(place, value): (&str, Option<&Value>), is_down| {
        let link = LinkSpec::read_any(place, &wlan.complete_link(place, value, is_down)?, files, own)?;
        WlanSpec::check_link(place, &link)?;
        Ok(link)
    };
    Ok([read(down, true)?, read(up, false)?])
}

/// Refuses keys of a wireless LAN in a table that is none.
pub(super) fn refuse_keys(place: &str, values: &Map<String, Value>) -> Result<(), Error> {
    let mut keys = ChannelSpec::KEYS.iter().chain(OWN_KEYS).map(|key: &Key| key.name);
    keys.find(|&key| values.contains_key(key)).map_or(Ok(()), |key| {
        Err(Error::new(
            join(place, key),
            "is a key of a wireless LAN; write it in [links.wlan] at a link from an access point",
        ))
    })
}

/// What the section is called.
pub(super) const KEY: &str = "wlan";
