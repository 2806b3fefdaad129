//! Media flows: their rate on an idle path, the cost of reports, frames and accounting.

use crate::common::{run, whole};
use sojourn_media::control::CONTROLS;
use sojourn_sim::scenario::Scenario;
use sojourn_sim::{Column, MediaSummary, Output};
use std::path::Path;

fn media(duration: &str, link: &str, more: &str) -> Output {
    run(&format!(
        "duration = \"{duration}\"\n{link}\n[[flows]]\nkind = \"media\"\ncontrol = \"nada\"\n{more}\n[probes]\nmedia = true"
    ))
}

fn seen(output: &Output) -> &MediaSummary {
    output.summary.groups[0].media.as_ref().expect("a group of media")
}

fn targets(output: &Output) -> &[f64] {
    let table = output.tables.iter().find(|table| table.name == "media").expect("the probe is on");
    match table.columns.iter().find(|(name, _)| name == "target_bps") {
        Some((_, Column::F64(values))) => values,
        _ => panic!("a column of rates"),
    }
}

const IDLE: &str = "[link]\nrate = \"80 Mbit/s\"\ndelay = \"31 ms\"\n[reverse]\nrate = \"9 Mbit/s\"\ndelay = \"17 ms\"";

#[test]
fn on_an_idle_path_the_rate_rises_to_the_highest_and_nothing_waits() {
    let output = media("40 s", IDLE, "max_rate = \"2.3 Mbit/s\"\nfps = 24\nsize_spread = 0");
    let seen = seen(&output);
    // A packet of 1240 B takes 124 us; the packets of a frame have equal sizes.
    assert!(seen.queueing_ms.max.unwrap() <= 0.124 && seen.queueing_ms.max.unwrap() > 0.11, "{seen:?}");
    assert_eq!(output.summary.flows[0].datagrams.loss_rate, Some(0.0));
    let targets = targets(&output);
    assert!(targets[0] < 500e3 && targets[targets.len() - 1] >= 0.95 * 2.3e6, "{targets:?}");
    // Frames at 0, 1/24 s, … up to 40 s; at most two frames are in transit at the end.
    assert_eq!((seen.frames, seen.frames_late), (961, 0));
    assert!(seen.frames - seen.frames_whole <= 2, "{seen:?}");
    // The pacer spreads a frame until the next one: a frame takes at least the path's delay, and at most two frame
    // intervals more.
    assert!(seen.frame_ms.p10.unwrap() > 31.0 && seen.frame_ms.max.unwrap() < 31.2 + 2.0 * 1000.0 / 24.0, "{seen:?}");
}

#[test]
fn the_source_makes_what_it_is_told_and_every_byte_is_in_the_books() {
    let output = media("30 s", IDLE, "start_rate = \"1.5 Mbit/s\"\nsize_spread = 0");
    let seen = seen(&output);
    let target = seen.target_bps.unwrap();
    // Packets have whole bytes, and part of the last frame may be queued.
    assert!((seen.sent_bps / target - 1.0).abs() < 0.002, "{seen:?}");
    let link = &output.summary.links.forward;
    assert_eq!(link.bytes as f64 * 8.0 / 30.0, seen.sent_bps);
    // Payload excludes the 40 B of RTP, UDP and IP headers per packet.
    let flow = &output.summary.flows[0];
    let arrived = seen.received_bps * 30.0 / 8.0;
    let packets = (arrived - flow.payload.bytes as f64) / 40.0;
    assert_eq!(packets.fract(), 0.0);
    assert!(flow.sent as f64 - packets < 9.0, "{} sent, {packets} arrived", flow.sent);
}

#[test]
fn reports_are_packets_of_the_size_that_rfc_8888_gives_them() {
    let output = media("20 s", IDLE, "");
    let (arrived, lost) = (whole(&output, "media", "arrived"), whole(&output, "media", "lost"));
    assert!(lost.iter().all(|&lost| lost == 0));
    // RTCP header and sender, stream, numbers: 16 B; 2 B per packet in whole words; timestamp; UDP and IP.
    let report_bytes: u64 = arrived.iter().map(|n| 28 + 16 + (2 * n).next_multiple_of(4) + 4).sum();
    let reverse = &output.summary.links.reverse;
    let under_way = reverse.packets - arrived.len() as u64;
    assert!(
        under_way <= 1 && reverse.bytes - report_bytes <= under_way * 120,
        "{} B, {report_bytes} B told",
        reverse.bytes
    );
    // Every 100 ms from the first arrival on.
    let times = whole(&output, "media", "time_ns");
    assert!(times.windows(2).all(|pair| (pair[1] - pair[0]).abs_diff(100_000_000) < 200_000), "{times:?}");
    assert_eq!(seen(&output).reports, reverse.packets);
}

#[test]
fn lost_reports_are_no_lost_packets() {
    let output = media("40 s", &format!("{IDLE}\nloss = \"30 %\""), "");
    let seen = seen(&output);
    let share = seen.reports_arrived as f64 / seen.reports as f64;
    // 400 reports: three standard deviations are 0.07.
    assert!((share - 0.7).abs() < 0.07, "{share}");
    assert_eq!(whole(&output, "media", "lost").iter().sum::<u64>(), 0);
    assert!(*targets(&output).last().unwrap() >= 0.95 * 1.5e6);
}

#[test]
fn a_link_below_the_least_rate_delays_and_loses_frames() {
    let output = media("20 s", "[link]\nrate = \"120 kbit/s\"\nlimit = \"15 packets\"", "min_rate = \"160 kbit/s\"");
    let (seen, link) = (seen(&output), &output.summary.links.forward);
    assert!((seen.target_bps.unwrap() / 160e3 - 1.0).abs() < 0.02, "{seen:?}");
    assert!(seen.frames_whole < seen.frames && seen.frames_late > seen.frames_whole * 9 / 10, "{seen:?}");
    assert!(link.dropped > 0 && (seen.received_bps / 120e3 - 1.0).abs() < 0.02, "{seen:?}");
    assert_eq!(whole(&output, "media", "lost").iter().sum::<u64>().abs_diff(link.dropped) / 10, 0);
}

#[test]
fn the_camera_is_off_in_a_pause() {
    let output = media("9 s", IDLE, "pause_at = \"3 s\"\nresume_at = \"7 s\"");
    let times = whole(&output, "media", "time_ns");
    let quiet = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!(quiet.abs_diff(4_000_000_000) < 250_000_000, "{quiet} ns without a report");
    assert_eq!(seen(&output).frames, 90 + 61);
}

/// A probe of every packet disables running ahead at the far side of a dumbbell.
#[test]
fn a_run_ahead_is_the_same_run() {
    let link = "[link]\nrate = \"1.7 Mbit/s@0s,0.9 Mbit/s@7s\"\ndelay = \"29 ms\"\nlimit = \"40 packets\"";
    for control in CONTROLS.iter().map(|entry| entry.name) {
        let numbers = |packets: bool| {
            let output = run(&format!(
                "duration = \"19 s\"\nseed = 613\n{link}\n[[flows]]\nkind = \"media\"\ncontrol = \"{control}\"\ncount = 2\n\
                 spread = \"2 s\"\n[[flows]]\nkind = \"tcp\"\nstart = \"5 s\"\n[probes]\nmedia = true\npackets = {packets}"
            ));
            let rows = output.tables.iter().find(|table| table.name == "media").cloned();
            (serde_json::to_string(&output.summary).unwrap(), rows)
        };
        assert_eq!(numbers(false), numbers(true), "{control}");
    }
}

/// SCReAM's packets are ECT(1) and get marks in place of drops by an RFC 3168 queue; without ECT(1) they are dropped.
#[test]
fn scream_takes_marks_of_a_dual_queue() {
    let numbers = |ecn: &str| {
        let output = run(&format!(
            "duration = \"41 s\"\nwarmup = \"11 s\"\n[link]\nrate = \"937 kbit/s\"\ndelay = \"19 ms\"\naqm = \"dualpi2\"\n\
             [[flows]]\nkind = \"media\"\ncontrol = \"scream@v2\"\n{ecn}\n[probes]\nmedia = true"
        ));
        let reported = whole(&output, "media", "marked").iter().sum::<u64>();
        (reported, output.summary.links.forward.clone(), seen(&output).clone())
    };
    let (reported, link, l4s) = numbers("");
    assert!(reported > 20 && link.marked > 20 && link.dropped == 0, "{reported} {link:?}");
    assert!(link.utilisation > 0.6 && l4s.queueing_ms.p95.unwrap() < 60.0, "{link:?} {l4s:?}");
    let (reported, link, _) = numbers("ecn = \"not-ect\"");
    assert_eq!((reported, link.marked), (0, 0));
    let (reported, link, classic) = numbers("ecn = \"ect0\"");
    assert!(reported > 20 && link.marked > 20, "{reported} {link:?}");
    // In the Classic queue, whose target is 15 ms.
    assert!(classic.queueing_ms.p95 > l4s.queueing_ms.p95, "{classic:?} {l4s:?}");
}

/// A probe is acknowledged after a round trip; without probes the rate grows by 8 % per second.
#[test]
fn probes_find_the_rate_at_once() {
    let numbers = |control: &str| {
        let output = run(&format!(
            "duration = \"9 s\"\n{IDLE}\n[[flows]]\nkind = \"media\"\ncontrol = \"{control}\"\nsize_spread = 0\n\
             [probes]\nmedia = true"
        ));
        let times = whole(&output, "media", "time_ns");
        let reached = targets(&output).iter().position(|&bps| bps >= 1.1e6).map(|row| times[row] / 1_000_000);
        let media = seen(&output).received_bps * 9.0 / 8.0;
        // Received bytes less headers exceed the frames by the padding of probes.
        let payload = output.summary.flows[0].payload.bytes as f64;
        (reached, media - payload - 40.0 * output.summary.flows[0].sent as f64)
    };
    let (probed, padding) = numbers("gcc");
    assert!(probed.is_some_and(|ms| ms < 500), "{probed:?}");
    assert!((500.0..9000.0).contains(&padding), "{padding} B");
    let (unprobed, padding) = numbers("gcc@unprobed");
    assert!(unprobed.is_none_or(|ms| ms > 4000), "{unprobed:?}");
    assert!(padding.abs() < 200.0, "{padding} B");
}

#[test]
fn a_control_refuses_marks_that_it_does_not_answer() {
    for (control, ecn, reason) in [
        ("gcc@unprobed", "ect0", "gcc@unprobed does not react to marks of ect0; write not-ect"),
        ("scream@rfc8298", "ect1", "scream@rfc8298 does not react to marks of ect1; write not-ect or ect0"),
    ] {
        let keys = format!("control = \"{control}\"\necn = \"{ecn}\"");
        let text = format!("duration = \"1 s\"\n{IDLE}\n[[flows]]\nkind = \"media\"\n{keys}");
        let error = Scenario::parse(&text, &[], Path::new("/")).unwrap_err().to_string();
        assert_eq!(error, format!("flows[0].ecn: {reason}"));
    }
}

#[test]
fn keys_that_contradict_each_other_are_refused() {
    for (keys, error) in [
        ("min_rate = \"2 Mbit/s\"", "flows[0].min_rate: 2 Mbit/s is above max_rate (1.5 Mbit/s); write less"),
        (
            "start_rate = \"7 kbit/s\"",
            "flows[0].start_rate: 7 kbit/s is out of range; from min_rate to max_rate (150 kbit/s to 1.5 Mbit/s)",
        ),
        ("pause_at = \"1 s\"", "flows[0].resume_at: missing, but pause_at is given; write e.g. \"60 s\""),
        ("resume_at = \"1 s\"", "flows[0].pause_at: missing, but resume_at is given; write e.g. \"40 s\""),
        ("pause_at = \"2 s\"\nresume_at = \"1 s\"", "flows[0].resume_at: 1 s is not after pause_at (2 s); write more"),
        ("cc = \"cubic\"", "flows[0].cc: not a key of media flows; leave it out"),
    ] {
        let text = format!("duration = \"1 s\"\n{IDLE}\n[[flows]]\nkind = \"media\"\ncontrol = \"nada\"\n{keys}");
        assert_eq!(Scenario::parse(&text, &[], Path::new("/")).unwrap_err().to_string(), error);
    }
}
