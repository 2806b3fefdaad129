//! Wireless LANs: reading and errors.

use super::super::*;
use super::parse_with;
use crate::radio::Bitrate;

const CELL: &str = "duration = \"10 s\"\n[wlan]\n[[wlan.stations]]\n[[flows]]\nkind = \"tcp\"";

fn read(sets: &[(&str, &str)]) -> Result<Scenario, Error> {
    parse_with(CELL, sets)
}

#[test]
fn a_cell_of_one_station_has_all_defaults() {
    let scenario = read(&[]).unwrap();
    let wlan = scenario.wlan.as_ref().unwrap();
    assert_eq!((wlan.station_count(), wlan.stations[0].rate), (1, RateSpec::Minstrel));
    assert_eq!((wlan.channel.rates, wlan.channel.eifs, wlan.channel.tsq), (Rates::Ofdm, Eifs::Listeners, 57));
    for link in [&scenario.link, &scenario.reverse] {
        assert_eq!(link.below.unwrap().to_string(), "50 packets wake 24 packets");
        assert_eq!(link.service.nominal_rate(1500).as_bps(), 24_600_000);
    }
    assert_eq!(scenario.queues().count(), 2);
    assert_eq!(scenario.flows[0].paths, Paths { data: [0].into(), acks: [1].into() }, "as over any link");
    let (channel, station) = (&wlan.channel, &wlan.stations[0]);
    assert_eq!((channel.slot, channel.ap_aifs, channel.ap_cwmin, channel.ap_cwmax), (SlotTime::Short, None, 15, 1023));
    assert_eq!((station.aifs, station.cwmin, station.cwmax), (None, 15, 1023));
    let in_turns = read(&[("wlan.queues", "airtime")]).unwrap();
    let rings = [&in_turns.link, &in_turns.reverse].map(|link| link.below.unwrap().stop);
    assert_eq!(rings, [2, 50], "what is in a ring has had its turn");
}

#[test]
fn the_canonical_form_is_read_back() {
    let sets = [
        ("wlan.rates", "ofdm"),
        ("wlan.queues", "round-robin"),
        ("wlan.slot", "long"),
        ("wlan.ap_cwmax", "63"),
        ("wlan.stations.0.aifs", "7"),
        ("wlan.stations.0.count", "4"),
        ("wlan.stations.0.rate", "54mbit"),
        ("wlan.stations.0.snr", "-2.5 dB"),
        ("wlan.stations.0.fading", "3dB"),
        ("wlan.htb_rate", "27 Mbit/s"),
        ("link.aqm", "codel"),
        ("link.wlan_rate", "27 Mbit/s"),
        ("link.below", "5 packets"),
        ("flows.0.station", "3"),
        ("probes.accesses", "true"),
    ];
    let scenario = read(&sets).unwrap();
    assert_eq!(Scenario::parse(&scenario.canonical(), &[], Path::new("/")).unwrap(), scenario);
    let station = &scenario.wlan.as_ref().unwrap().stations[0];
    assert_eq!((station.snr, station.fading), (Some(Decibels(-2.5)), Some(Decibels(3.0))));
    assert_eq!(station.rate, RateSpec::Fixed(*Bitrate::OFDM.last().unwrap()));
    assert_eq!(scenario.queues().count(), 5);
}

#[test]
fn schemes_of_802_11n_are_read_and_written() {
    for mcs in 0..=15 {
        let word = format!("mcs{mcs}");
        let scenario = read(&[("wlan.stations.0.rate", &word), ("wlan.stations.0.aggregate", "32")]).unwrap();
        let station = &scenario.wlan.as_ref().unwrap().stations[0];
        assert_eq!(station.rate, RateSpec::Fixed(Bitrate::of_mcs(mcs).unwrap()));
        assert_eq!((station.aggregate, station.longest_aggregate()), (Some(32), 32));
        assert!(scenario.canonical().contains(&format!("\"{word}\"")));
        assert_eq!(Scenario::parse(&scenario.canonical(), &[], Path::new("/")).unwrap(), scenario);
    }
    let all = read(&[("wlan.stations.0.rate", "mcs7")]).unwrap();
    assert_eq!(all.wlan.unwrap().stations[0].longest_aggregate(), 64);
}

#[test]
fn what_no_cell_can_be_is_refused_with_a_mend() {
    for (key, value, error) in [
        (
            "wlan.stations.0.rate",
            "55 Mbit/s",
            r#"wlan.stations[0].rate: "55 Mbit/s" is not a rate of 802.11g; write 6, 9, 12, 18, 24, 36, 48, 54 Mbit/s, "minstrel", or e.g. "mcs15" of 802.11n"#,
        ),
        (
            "wlan.stations.0.rate",
            "11 Mbit/s",
            r#"wlan.stations[0].rate: 11 Mbit/s is a rate of 802.11b; write rates = "bg" in [wlan] too"#,
        ),
        (
            "wlan.stations.0.rate",
            "mcs16",
            r#"wlan.stations[0].rate: "mcs16" is not a scheme of 802.11n with one or two streams; write "mcs0" to "mcs15""#,
        ),
        (
            "wlan.stations.0.rate",
            "HtMcs7",
            r#"wlan.stations[0].rate: "HtMcs7" is not a scheme of 802.11n with one or two streams; write "mcs0" to "mcs15""#,
        ),
        (
            "wlan.stations.0.rate",
            "fast",
            r#"wlan.stations[0].rate: "fast" is not a rate; write e.g. "10 Mbit/s", "minstrel" or "mcs15""#,
        ),
        ("wlan.stations.0.aggregate", "0", "wlan.stations[0].aggregate: 0 is out of range; from 1 to 64"),
        ("wlan.stations.0.aggregate", "65", "wlan.stations[0].aggregate: 65 is out of range; from 1 to 64"),
        (
            "wlan.stations.0.aggregate",
            "32",
            r#"wlan.stations[0].aggregate: needs a rate of 802.11n; write e.g. rate = "mcs15" too"#,
        ),
        ("wlan.stations.0.count", "0", "wlan.stations[0].count: 0 is out of range; from 1 to 250"),
        ("wlan.stations", "[]", "wlan.stations: none given; write e.g. [[wlan.stations]] with count = 4"),
        ("wlan.stations.0.snr", "250 dB", "wlan.stations[0].snr: 250 dB is out of range; from -20 dB to 100 dB"),
        ("wlan.stations.0.snr", "\"25\"", r#"wlan.stations[0].snr: "25" has no unit; write e.g. "25 dB""#),
        ("wlan.stations.0.snr", "high dB", r#"wlan.stations[0].snr: "high dB" is not a number; write e.g. "25 dB""#),
        ("wlan.stations.0.fading", "3 dB", r#"wlan.stations[0].fading: needs snr; write e.g. snr = "25 dB" too"#),
        ("wlan.stations.0.rates", "ofdm", r#"wlan.stations[0].rates: unknown key; did you mean "rate"?"#),
        ("wlan.slot", "9 us", r#"wlan.slot: unknown slot "9 us"; expected one of short, long"#),
        ("wlan.ap_aifs", "0", "wlan.ap_aifs: 0 is out of range; from 1 to 15"),
        ("wlan.ap_cwmax", "64", "wlan.ap_cwmax: 64 is not a power of two minus one; write e.g. 127"),
        ("wlan.stations.0.cwmin", "2047", "wlan.stations[0].cwmin: 2047 is above cwmax, 1023; write at most that"),
        ("wlan.beacons", "5", r#"wlan.beacons: unknown key; did you mean "beacon"?"#),
        (
            "link.below",
            "0 packets",
            r#"link.below: "0 packets" leaves no room for a packet; write at least 1, or leave the key out"#,
        ),
        (
            "link.below",
            "1514 B",
            r#"link.below: a driver's ring counts packets; write e.g. "50 packets wake 24 packets""#,
        ),
        ("wlan", "5", "wlan: expected a table, found a number"),
        ("link.rate", "10 Mbit/s", "link: the channel of [wlan] serves it; leave out the keys of another service"),
        ("link.delay", "5 ms", "link.delay: a channel has no delay; write rtt or access_delay in the flows"),
        ("reverse.loss", "0.1", "reverse.loss: a channel loses packets by its stations' snr; write that instead"),
        ("flows.0.station", "1", "flows[0].station: no station 1; write one from 0 to 0"),
        (
            "links",
            r#"[{"name": "second", "rate": "1 Mbit/s"}]"#,
            "links: a wireless LAN is the only bottleneck; leave them out, or write [[nodes]]",
        ),
    ] {
        assert_eq!(read(&[(key, value)]).map(|_| ()).unwrap_err().to_string(), error, "{key} = {value}");
    }
    let error = read(&[("wlan.rates", "bg"), ("wlan.stations.0.snr", "25 dB")]).unwrap_err().to_string();
    assert_eq!(
        error,
        r#"wlan.stations[0].snr: the error models do not cover the rates of 802.11b; leave it out, or rates = "bg""#
    );
    let many = r#"[{"count": 250}, {"count": 1}]"#;
    let error = read(&[("wlan.stations", many)]).unwrap_err().to_string();
    assert_eq!(error, "wlan.stations: 251 stations in all; at most 250");
}

#[test]
fn what_needs_a_cell_is_refused_without_one() {
    let text = "duration = \"10 s\"\n[link]\nrate = \"10 Mbit/s\"\n[[flows]]\nkind = \"tcp\"";
    let refused = |sets: &[(&str, &str)]| {
        let sets: Vec<_> = sets.iter().map(|&(key, value)| (key.to_string(), value.to_string())).collect();
        Scenario::parse(text, &sets, Path::new("/")).unwrap_err().to_string()
    };
    assert_eq!(refused(&[("flows.0.station", "0")]), "flows[0].station: needs [wlan]; leave it out");
    assert_eq!(refused(&[("probes.accesses", "true")]), "probes.accesses: needs [wlan]; leave it out");
    assert_eq!(
        refused(&[("link.rate", ""), ("link.wlan_rate", "27 Mbit/s")]),
        "link: its channel is missing; write [wlan] with [[wlan.stations]]"
    );
    assert_eq!(
        refused(&[("reverse.wlan_rate", "27 Mbit/s")]),
        "reverse: its channel is missing; write [wlan] with [[wlan.stations]]"
    );
    assert_eq!(
        refused(&[("links", r#"[{"name": "second", "wlan_rate": "27 Mbit/s"}]"#)]),
        "links[0]: its channel is missing; write [wlan] with [[wlan.stations]]"
    );
}
