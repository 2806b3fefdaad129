//! Adaptive video players: requests, waiting times and stalls.

use crate::common::{run, whole};
use sojourn_sim::{Output, VideoSummary};

/// 1 µs per byte and 50 ms in each direction.
const LINK: &str = "[link]\nrate = \"8 Mbit/s\"\ndelay = \"50 ms\"\n";

const MS: u64 = 1_000_000;

/// One-way delay of an idle link for a packet.
fn one_way_delay(bytes: u64) -> u64 {
    50 * MS + bytes * 1000
}

fn video(duration: &str, link: &str, more: &str) -> Output {
    run(&format!(
        "duration = \"{duration}\"\n{link}[[flows]]\nkind = \"video\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\n{more}\n\
         [probes]\ntransfers = true"
    ))
}

fn seen(output: &Output) -> VideoSummary {
    output.summary.groups[0].video.expect("a group of players")
}

#[test]
fn segments_follow_each_other_until_the_buffer_is_full_and_then_as_they_are_played() {
    // Segments of 1000 B for a second each, and a buffer for three.
    let output = video(
        "20 s",
        LINK,
        "ladder = [\"8 kbit/s\"]\nsegment = \"1 s\"\nbuffer = \"3 s\"\nthink = \"10 ms\"\nstart = \"100 ms\"",
    );
    let (syn, ack, request) = (60, 52, 352);
    // The server acknowledges a request before its response; the client acknowledges a response before its next
    // request.
    let exchange = one_way_delay(ack + request) + 10 * MS + one_way_delay(1052);
    let first = 100 * MS + 2 * one_way_delay(syn) + exchange;
    let requested_at = whole(&output, "video", "start_ns");
    assert_eq!(requested_at[0], 100 * MS + 2 * one_way_delay(syn));
    assert_eq!(whole(&output, "video", "duration_ns")[..2], [exchange; 2]);
    assert_eq!(requested_at[1..3], [first, first + exchange]);
    // One of the three segments starts to play at the arrival of the first; the fourth is requested when it ends.
    let seconds = 1_000 * MS;
    assert_eq!(requested_at[3..6], [1, 2, 3].map(|n| first + n * seconds), "{requested_at:?}");
    assert!(whole(&output, "video", "buffer_ns")[3..].iter().all(|&level| level < 3 * seconds && level > 2 * seconds));
    let seen = seen(&output);
    assert_eq!((seen.began, seen.startup_ms), (1, Some((first - 100 * MS) as f64 / 1e6)));
    assert_eq!((seen.segments, seen.rate_bps, seen.switches), (requested_at.len() as u64, Some(8_000.0), 0));
    assert_eq!((seen.stalls, seen.stalled_s), (0, 0.0));
    assert_eq!(output.summary.groups[0].transfers, seen.segments);
}

#[test]
fn the_rate_is_the_highest_below_nine_tenths_of_the_harmonic_mean() {
    let rates = [100_000, 400_000, 1_000_000, 2_500_000, 5_000_000, 7_500_000];
    let ladder = rates.map(|bps: u64| format!("\"{bps} bit/s\"")).join(", ");
    let output = video("60 s", LINK, &format!("ladder = [{ladder}]\nsegment = \"2 s\""));
    let [bytes, durations, chosen] = ["bytes", "duration_ns", "rate_bps"].map(|name| whole(&output, "video", name));
    assert!(chosen.len() > 20 && chosen[0] == rates[0] && chosen.contains(&5_000_000), "{chosen:?}");
    for (n, &rate) in chosen.iter().enumerate().skip(1) {
        let last = &mut (n.saturating_sub(4)..n).map(|i| durations[i] as f64 / (bytes[i] as f64 * 8e9));
        let count = n.min(4) as f64;
        let fits = 0.9 * count / last.sum::<f64>();
        let expected = rates.iter().rev().find(|&&step| step as f64 <= fits).unwrap_or(&rates[0]);
        assert_eq!(rate, *expected, "segment {n}");
    }
    let switches = chosen.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
    assert!((switches..=switches + 1).contains(&seen(&output).switches), "the last one may be under way");
    let mean = chosen.iter().sum::<u64>() as f64 / chosen.len() as f64;
    assert_eq!(seen(&output).rate_bps, Some(mean));
}

#[test]
fn the_picture_stands_while_the_link_does_and_goes_on_when_enough_is_there() {
    // The link stops from 10 s to 20 s; the buffer holds at most 2 s of video.
    let link = "[link]\nrate = \"8 Mbit/s@0s,0 bit/s@10s,8 Mbit/s@20s\"\ndelay = \"50 ms\"\n";
    let more = "ladder = [\"8 kbit/s\"]\nsegment = \"1 s\"\nbuffer = \"2 s\"\nstartup = \"2 s\"";
    let output = video("40 s", link, more);
    let [requested_at, durations, level, stalled] =
        ["start_ns", "duration_ns", "buffer_ns", "stalled_ns"].map(|name| whole(&output, "video", name));
    let late = requested_at
        .iter()
        .zip(&durations)
        .position(|(at, duration)| at + duration > 12_000 * MS)
        .expect("one waits for the link");
    // The buffer runs dry when the level at the previous arrival is used up; playback resumes with the second segment.
    let dry = requested_at[late - 1] + durations[late - 1] + level[late - 1];
    let on = requested_at[late + 1] + durations[late + 1];
    assert_eq!((level[late], level[late + 1]), (1_000 * MS, 2_000 * MS));
    assert_eq!(stalled[late + 1], on - dry);
    assert_eq!(stalled.iter().filter(|&&ns| ns > 0).count(), 1);
    let seen = seen(&output);
    assert_eq!((seen.stalls, seen.stalled_s, seen.began), (1, (on - dry) as f64 / 1e9, 1));
    assert!(seen.stalled_s > 7.0 && on > 20_000 * MS, "{seen:?}");
}

#[test]
fn a_stall_counts_where_it_happens_and_until_the_end_of_the_run() {
    let link = "[link]\nrate = \"8 Mbit/s@0s,0 bit/s@10s\"\ndelay = \"50 ms\"\n";
    let more = "ladder = [\"8 kbit/s\"]\nsegment = \"1 s\"\nbuffer = \"2 s\"";
    let output = video("40 s\"\nwarmup = \"30 s", link, more);
    let seen = seen(&output);
    assert_eq!((seen.stalls, seen.stalled_s, seen.segments), (0, 10.0, 0), "it began before the statistics");
    assert_eq!((seen.rate_bps, seen.startup_ms), (None, None));
}

#[test]
fn a_player_that_is_closed_fetches_nothing_more_and_does_not_stall() {
    let more =
        "ladder = [\"8 kbit/s\"]\nsegment = \"1 s\"\nbuffer = \"2 s\"\nstop = \"5 s\"\ncount = 2\nspread = \"1 s\"";
    let output = video("40 s", LINK, more);
    let group = &output.summary.groups[0];
    assert_eq!((group.opened, group.closed), (2, 2));
    assert!(whole(&output, "video", "start_ns").iter().all(|&at| at < 5_000 * MS));
    let seen = seen(&output);
    assert_eq!((seen.began, seen.stalls), (2, 0));
    let clients = whole(&output, "video", "client");
    assert!(clients.contains(&0) && clients.contains(&1));
}
