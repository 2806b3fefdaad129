//! Keys of a wireless LAN: an access point and its stations on one channel of 802.11g or 802.11n.

use super::keys::{self, table};
use super::keys::{
    CustomForm, Datum, Field, Key, Kind, Need, Table, as_table, check_known, join, mismatch, of_word, text, word_of,
};
use super::service::WlanService;
use super::{Error, Files, LinkSpec, RingUnit, Service, ValueError};
use crate::radio::{Bitrate, ErrorModel};
use serde_json::{Map, Value, json};
use sojourn_aqm::registry::Catalogue;
use sojourn_aqm::{Duration, Rate};

table! {
    /// Channel and access point.
    pub struct ChannelSpec {
        /// Rates of the cell: the eight of 802.11g (`ofdm`), or also the four of 802.11b (`bg`).
        rates: Rates = Kind::Word("set of rates", || RATES.iter().map(|&(word, _)| word).collect()), Need::Default("ofdm");
        /// Stations that wait for an EIFS after a collision: all that received it (`listeners`, as in the standard), or
        /// none (`none`, as in ns-3, where colliding frames of equal power are not received at all).
        eifs: Eifs = Kind::Word("EIFS rule", || EIFS.iter().map(|&(word, _)| word).collect()), Need::Default("listeners");
        /// Slot time: 9 µs (`short`), or 20 µs (`long`), as when a station supports 802.11b only.
        slot: SlotTime = Kind::Word("slot", || SLOTS.iter().map(|&(word, _)| word).collect()), Need::Default("short");
        /// Slots after a SIFS for which the medium must have been idle before the access point counts others; 2 make a
        /// DIFS. hostapd's default for best effort without WMM is 3 too, with `ap_cwmax` 63 (`tx_queue_data2_aifs`).
        /// Default: 2, or 3 with stations of 802.11n.
        ap_aifs: Option<u32> = AIFS, Need::Optional;
        /// Maximum back-off of the access point's first attempt, which is drawn from 0 on (`tx_queue_data2_cwmin`); a
        /// power of two less one.
        ap_cwmin: u32 = WINDOW, Need::Default("15");
        /// Maximum back-off of all attempts of the access point (`tx_queue_data2_cwmax`): the bound doubles with every
        /// failure up to this.
        ap_cwmax: u32 = WINDOW, Need::Default("1023");
        /// One queue at the access point (`shared`), or one for each station, each as `[link]` describes, which take
        /// turns by accesses to the channel (`round-robin`: one packet or aggregate each) or by airtime (`airtime`:
        /// deficit round robin, as mac80211 since 2017).
        queues: Queues = Kind::Word("kind of queues", || QUEUES.iter().map(|&(word, _)| word).collect()), Need::Default("shared");
        /// Body of the beacon that the access point sends at 6 Mbit/s every 102.4 ms; `0 B` for no beacons.
        beacon: u32 = Kind::Size(0, 2_304), Need::Default("126 B");
        /// Model for the probability that the channel destroys a frame, by rate, `snr` and length: the curves of ns-3's
        /// `table` or of its `nist` model.
        errors: ErrorModel = Kind::Word("error model", || ERRORS.iter().map(|&(word, _)| word).collect()), Need::Default("table");
        /// Maximum packets of a connection below TCP in a station, in its queue and its ring (TCP small queues: 128 kB
        /// of kernel memory are 57 full packets); `0` for no maximum.
        tsq: u32 = Kind::Count(0, 1_000_000), Need::Default("57");
        /// Time between two packets that a driver takes from its queue.
        cpu_gap: Duration = Kind::Time, Need::Default("12 us");
        /// Rate of an HTB shaper between the access point's queue and its driver.
        htb_rate: Option<Rate> = Kind::Rate, Need::Optional;
    }
}

table! {
    /// A group of like stations.
    pub struct StationSpec {
        /// Number of such stations; at most 250 in all.
        count: u32 = Kind::Count(1, MAX_STATIONS), Need::Default("1");
        /// Rate control in both directions: `minstrel` as in Linux 3.10 over the rates of 802.11g, a fixed rate, e.g.
        /// `54 Mbit/s`, or a modulation and coding scheme of 802.11n, `mcs0` to `mcs15` (numbered as by `iw`; ns-3's
        /// HtMcs0 to HtMcs15).
        rate: RateSpec = Kind::Custom(&RATE), Need::Default("minstrel");
        /// With 802.11n: maximum packets in an aggregate (ath9k: 32, half the window). Default: `64`.
        aggregate: Option<u32> = Kind::Count(1, MAX_AGGREGATED), Need::Optional;
        /// Signal-to-noise ratio in both directions, e.g. `25 dB`. Default: only collisions destroy frames.
        snr: Option<Decibels> = Kind::Custom(&SNR), Need::Optional;
        /// Standard deviation of the signal-to-noise ratio about its mean, e.g. `3 dB`.
        fading: Option<Decibels> = Kind::Custom(&FADING), Need::Optional;
        /// Time over which the correlation of the fading falls to 1/e.
        coherence: Duration = Kind::PositiveTime, Need::Default("300 ms");
        /// As `ap_aifs`, for these stations. Default: 2, or 3 for stations of 802.11n.
        aifs: Option<u32> = AIFS, Need::Optional;
        /// As `ap_cwmin`, for these stations.
        cwmin: u32 = WINDOW, Need::Default("15");
        /// As `ap_cwmax`, for these stations.
        cwmax: u32 = WINDOW, Need::Default("1023");
    }
}

/// A cell: channel and stations.
#[derive(Clone, Debug, PartialEq)]
pub struct WlanSpec {
    /// Channel and access point.
    pub channel: ChannelSpec,
    /// Groups of stations; 1 to [`MAX_STATIONS`] stations in total.
    pub stations: Vec<StationSpec>,
}

/// Rates of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rates {
    /// The eight rates of 802.11g.
    Ofdm,
    /// Those and the four of 802.11b.
    Bg,
}

/// Wait after a frame that was received with errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eifs {
    /// An EIFS at all stations that received it.
    Listeners,
    /// A DIFS, as after a correct frame.
    None,
}

/// Slot time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotTime {
    /// 9 µs.
    Short,
    /// 20 µs.
    Long,
}

/// Queues of an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queues {
    /// One queue for all stations.
    Shared,
    /// One queue per station, served round-robin by channel accesses.
    RoundRobin,
    /// One queue per station, with equal airtime.
    Airtime,
}

/// Rate control of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateSpec {
    /// Minstrel.
    Minstrel,
    /// Fixed rate.
    Fixed(Bitrate),
}

/// Ratio in dB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decibels(pub f64);

/// Maximum stations of a cell.
pub const MAX_STATIONS: u64 = 250;

/// Maximum packets in an aggregate: the size of a Block Ack's bitmap.
const MAX_AGGREGATED: u64 = 64;

impl StationSpec {
    /// Maximum packets in an aggregate, at a rate of 802.11n.
    pub fn longest_aggregate(&self) -> u32 {
        self.aggregate.unwrap_or(MAX_AGGREGATED as u32)
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
        // Header in TOML: below `[[links]]` it refers to the last entry of the list.
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
            return Err(table.error(STATIONS, format!("none given; write e.g. [[{header}]] with count = 4")));
        }
        let read = |(i, value)| read_station(&format!("{place}.{STATIONS}[{i}]"), value, channel.rates);
        let stations = groups.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        let spec = Self { channel, stations };
        match spec.station_count() {
            n if n > MAX_STATIONS => Err(table.error(STATIONS, format!("{n} stations in all; at most {MAX_STATIONS}"))),
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

    /// Total number of stations.
    pub fn station_count(&self) -> u64 {
        self.stations.iter().map(|group| u64::from(group.count)).sum()
    }

    /// Stations in order.
    pub fn each_station(&self) -> impl Iterator<Item = &StationSpec> {
        self.stations.iter().flat_map(|group| (0..group.count).map(move |_| group))
    }

    /// Adds the defaults of a link over the channel to its table: service and ring. `down` is true for the access
    /// point.
    pub(super) fn complete_link(&self, place: &str, value: Option<&Value>, down: bool) -> Result<Value, Error> {
        let mut values = value.map_or_else(|| Ok(Map::new()), |value| as_table(place, value).cloned())?;
        if !Service::is_given(&values) {
            values.insert(WlanService::KEY.into(), WlanService::USUAL.into());
        }
        // Packets in the ring have already had their turn, so queues that take turns have a short ring.
        let takes_turns = down && self.channel.queues != Queues::Shared;
        values.entry("below").or_insert_with(|| if takes_turns { SHORT_RING } else { RING }.into());
        Ok(values.into())
    }

    /// Rejects keys that a link over the channel does not support.
    pub(super) fn check_link(place: &str, link: &LinkSpec) -> Result<(), Error> {
        let error = |key: &str, text: &str| Err(Error::new(format!("{place}.{key}"), text));
        if !matches!(link.service, Service::Wlan(_)) {
            let text = "the channel of [wlan] serves it; leave out the keys of another service";
            return Err(Error::new(place, text));
        }
        if link.delays.changes() || link.delay > Duration::ZERO {
            return error("delay", "a channel has no delay; write rtt or access_delay in the flows");
        }
        if link.gro.is_some() {
            return error("gro", "a wireless LAN has no receive offload; leave it out");
        }
        if link.tick.is_some() {
            return error("tick", "a channel has no delay that a clock could round; leave it out");
        }
        if link.loss.is_some() {
            return error("loss", "a channel loses packets by its stations' snr; write that instead");
        }
        match link.below {
            Some(ring) if ring.unit == RingUnit::Packets && ring.bql.is_none() => Ok(()),
            _ => error("below", r#"a driver's ring counts packets; write e.g. "50 packets wake 24 packets""#),
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
        return Err(table.error("aggregate", r#"needs a rate of 802.11n; write e.g. rate = "mcs15" too"#));
    }
    if rates == Rates::Bg && spec.snr.is_some() {
        let text = r#"the error models do not cover the rates of 802.11b; leave it out, or rates = "bg""#;
        return Err(table.error("snr", text));
    }
    if spec.fading.is_some() && spec.snr.is_none() {
        return Err(table.error("fading", r#"needs snr; write e.g. snr = "25 dB" too"#));
    }
    check_windows(&table, ["cwmin", "cwmax"], [spec.cwmin, spec.cwmax])?;
    Ok(spec)
}

/// Rejects contention windows that are not a power of two less one, and a minimum above the maximum.
fn check_windows(table: &Table, keys: [&str; 2], [least, most]: [u32; 2]) -> Result<(), Error> {
    for (key, window) in keys.into_iter().zip([least, most]) {
        if !(window + 1).is_power_of_two() {
            let near = (window + 1).next_power_of_two() - 1;
            return Err(table.error(key, format!("{window} is not a power of two minus one; write e.g. {near}")));
        }
    }
    if least > most {
        return Err(table.error(keys[0], format!("{least} is above {}, {most}; write at most that", keys[1])));
    }
    Ok(())
}

/// Keys of the section that hold tables.
pub(super) const OWN_KEYS: &[Key] = &[Key {
    name: STATIONS,
    kind: Kind::Section,
    need: Need::Required("list"),
    doc: "Groups of like stations; the stations are numbered from 0 in this order.",
}];

const STATIONS: &str = "stations";

/// AIFSN: 1 makes a PIFS, 2 a DIFS.
const AIFS: Kind = Kind::Count(1, 15);
const WINDOW: Kind = Kind::Count(0, 32_767);

/// Room for the frame on the air and the next one.
const SHORT_RING: &str = "2 packets";

/// ath5k: at most 50 frames; the queue wakes when fewer than 25 are left.
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
            let most = Bitrate::MAX_MCS;
            return found.ok_or_else(|| {
                let text = format!("{text:?} is not a scheme of 802.11n with one or two streams");
                ValueError::Form(format!(r#"{text}; write "mcs0" to "mcs{most}""#))
            });
        }
        let rate = keys::rate_of(text).map_err(|e| ValueError::Form(format!(r#"{e}, "minstrel" or "mcs15""#)))?;
        let known = || Bitrate::OFDM.iter().map(|rate| (rate.rate().as_bps() / 1_000_000).to_string());
        Bitrate::find(rate).map(Self::Fixed).ok_or_else(|| {
            let known = known().collect::<Vec<_>>().join(", ");
            let text = format!("{text:?} is not a rate of 802.11g; write {known} Mbit/s");
            ValueError::Form(format!(r#"{text}, "minstrel", or e.g. "mcs15" of 802.11n"#))
        })
    }
}

impl Field for RateSpec {
    fn some(datum: Datum) -> Self {
        let Datum::Custom(value) = datum else { unreachable!("a rate control has a form of its own") };
        Self::parse(&value).expect("the key has checked the rate control")
    }
    fn datum(&self) -> Option<Datum> {
        let text = match self {
            Self::Minstrel => MINSTREL.to_string(),
            Self::Fixed(rate) => rate.mcs().map_or_else(|| rate.rate().to_string(), |mcs| format!("{MCS}{mcs}")),
        };
        Some(Datum::Custom(text.into()))
    }
}

const MINSTREL: &str = "minstrel";

/// Prefix of the number of a modulation and coding scheme.
const MCS: &str = "mcs";

static RATE: CustomForm = CustomForm {
    check: |value| RateSpec::parse(value).map(|_| ()),
    schema: || {
        let schemes = (0..=Bitrate::MAX_MCS).map(|mcs| format!("{MCS}{mcs}"));
        let words: Vec<_> = std::iter::once(MINSTREL.to_string()).chain(schemes).collect();
        json!({ "title": "rate control", "anyOf": [{ "enum": words }, { "$ref": "#/$defs/rate" }] })
    },
};

impl Decibels {
    fn parse(value: &Value, least: f64, most: f64) -> Result<f64, ValueError> {
        let text = text(value, r#"a text with a unit such as "25 dB""#)?;
        let number = text.trim().strip_suffix("dB").map(str::trim);
        let number = number.ok_or_else(|| ValueError::Form(format!(r#"{text:?} has no unit; write e.g. "25 dB""#)))?;
        let number = number.parse::<f64>().ok().filter(|number| number.is_finite());
        let number =
            number.ok_or_else(|| ValueError::Form(format!(r#"{text:?} is not a number; write e.g. "25 dB""#)))?;
        if !(least..=most).contains(&number) {
            let range = format!("from {least} dB to {most} dB");
            return Err(ValueError::OutOfRange { value: format!("{number} dB"), range });
        }
        Ok(number)
    }
}

impl Field for Decibels {
    fn some(datum: Datum) -> Self {
        let Datum::Custom(value) = datum else { unreachable!("decibels have a form of their own") };
        Self(Self::parse(&value, f64::NEG_INFINITY, f64::INFINITY).expect("the key has checked the number"))
    }
    fn datum(&self) -> Option<Datum> {
        Some(Datum::Custom(format!("{} dB", self.0).into()))
    }
}

fn decibels_schema() -> Value {
    json!({ "title": "ratio in dB", "type": "string", "pattern": r"^\s*-?[0-9.]+\s*dB\s*$" })
}

static SNR: CustomForm =
    CustomForm { check: |value| Decibels::parse(value, -20.0, 100.0).map(|_| ()), schema: decibels_schema };

static FADING: CustomForm =
    CustomForm { check: |value| Decibels::parse(value, 0.0, 30.0).map(|_| ()), schema: decibels_schema };

/// Reads the queues of the access point and of the stations; each table has its place.
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

/// Rejects keys of a wireless LAN in another table.
pub(super) fn refuse_keys(place: &str, values: &Map<String, Value>) -> Result<(), Error> {
    let mut keys = ChannelSpec::KEYS.iter().chain(OWN_KEYS).map(|key: &Key| key.name);
    keys.find(|&key| values.contains_key(key)).map_or(Ok(()), |key| {
        Err(Error::new(
            join(place, key),
            "is a key of a wireless LAN; write it in [links.wlan] at a link from an access point",
        ))
    })
}

/// Key of the section.
pub(super) const KEY: &str = "wlan";
