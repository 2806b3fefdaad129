//! The probe of senders: its tables agree with one another, with the queues and with the samples of the flows.

use crate::common::{real, run, whole};
use proptest::prelude::*;
use sojourn_sim::Output;
use std::collections::BTreeMap;

/// Values of the column `loss`.
const FIRST: u64 = 0;
const AGAIN: u64 = 1;
/// Values of the loss probe and the retransmission time-out in the columns `expired` and `timer`.
const PROBE: u64 = 3;
const TIME_OUT: u64 = 1;
const SYN: u64 = 1;
const FIN: u64 = 2;

/// A lossy dumbbell with several connections.
#[derive(Clone, Debug)]
struct Case {
    kbps: u32,
    limit: u32,
    loss: f64,
    stack: &'static str,
    cc: &'static str,
    gso: bool,
    ecn: bool,
    size_kb: Option<u32>,
    seed: u64,
}

impl Case {
    fn output(&self) -> Output {
        let Self { kbps, limit, loss, stack, cc, gso, ecn, size_kb, seed } = self;
        let size = size_kb.map_or(String::new(), |kb| format!("size = \"{kb} kB\""));
        run(&format!(
            r#"
            duration = "5 s"
            seed = {}
            [link]
            rate = "{kbps} kbit/s"
            limit = "{limit} packets"
            aqm = "codel ecn {ecn}"
            loss = {loss:.4}
            [[flows]]
            kind = "tcp"
            count = 3
            stack = "{stack}"
            cc = "{cc}"
            rtt = "30 ms"
            spread = "300 ms"
            gso = {gso}
            ecn = {ecn}
            {size}
            [probes]
            senders = true
            packets = true
            headers = true
            flows = "70 ms"
            "#,
            seed % 1000
        ))
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let link = (800u32..20_000, 5u32..60, 0.0f64..0.04);
    let stacks = prop::sample::select(vec!["linux-3.13", "linux-6.1"]);
    let ends = (stacks, prop::sample::select(vec!["cubic", "reno"]), any::<bool>(), any::<bool>());
    (link, ends, prop::option::of(20u32..400), any::<u64>()).prop_map(
        |((kbps, limit, loss), (stack, cc, gso, ecn), size_kb, seed)| Case {
            kbps,
            limit,
            loss,
            stack,
            cc,
            gso,
            ecn,
            size_kb,
            seed,
        },
    )
}

/// Rows of some columns for one flow.
fn rows<const N: usize>(output: &Output, table: &str, names: [&str; N], flow: u64) -> Vec<[u64; N]> {
    let (flows, columns) = (whole(output, table, "flow"), names.map(|name| whole(output, table, name)));
    (0..flows.len()).filter(|&i| flows[i] == flow).map(|i| columns.each_ref().map(|column| column[i])).collect()
}

/// State of an outstanding segment: its end, and whether it is SACKed, lost, retransmitted.
#[derive(Clone, Copy, Debug, Default)]
struct SegmentState {
    end: u64,
    sacked: bool,
    lost: bool,
    retransmitted: bool,
}

/// A SACK scoreboard rebuilt from the events alone.
#[derive(Default)]
struct Scoreboard {
    out: BTreeMap<u64, SegmentState>,
    una: u64,
}

impl Scoreboard {
    fn acknowledge(&mut self, ack: u64, blocks: &[(u64, u64)]) {
        // RFC 2883: a first block below the acknowledgment, or within the second, reports a duplicate.
        let duplicate = match blocks {
            [first, ..] if first.0 < ack => true,
            [first, second, ..] => second.0 <= first.0 && first.1 <= second.1,
            _ => false,
        };
        if duplicate {
            let (from, to) = blocks[0];
            self.within(from, to).filter(|known| known.sacked).for_each(|known| known.retransmitted = false);
        }
        for &(from, to) in &blocks[usize::from(duplicate)..] {
            for known in self.within(from, to).filter(|known| !known.sacked) {
                // A retransmission without a preceding loss mark may still be in flight.
                known.retransmitted &= !known.lost;
                (known.sacked, known.lost) = (true, false);
            }
        }
        self.una = self.una.max(ack);
        let una = self.una;
        self.out.retain(|_, known| known.end > una);
    }

    fn within(&mut self, from: u64, to: u64) -> impl Iterator<Item = &mut SegmentState> {
        self.out.range_mut(from..to.max(from)).map(|(_, known)| known).filter(move |known| known.end <= to)
    }

    fn judge(&mut self, [seq, _, loss]: [u64; 3]) {
        match (loss, self.out.get_mut(&seq)) {
            (FIRST, Some(known)) => known.lost = true,
            (AGAIN, Some(known)) => known.retransmitted = false,
            (FIRST | AGAIN, None) => {}
            _ => self.out.values_mut().for_each(|known| known.lost = false),
        }
    }

    fn in_flight(&self) -> u64 {
        let of =
            |known: &SegmentState| 1 + i64::from(known.retransmitted) - i64::from(known.lost) - i64::from(known.sacked);
        self.out.values().map(of).sum::<i64>() as u64
    }
}

/// Replays the events of a flow and compares the packets in flight at each of them.
fn check_flow(output: &Output, flow: u64) -> Result<(), TestCaseError> {
    const SACKS: [&str; 8] =
        ["event", "ack", "sack1_from", "sack1_to", "sack2_from", "sack2_to", "sack3_from", "sack3_to"];
    let acks = rows(output, "acks", SACKS, flow);
    let losses = rows(output, "losses", ["event", "seq", "seq_end", "loss"], flow);
    let segments = rows(output, "segments", ["event", "seq", "payload", "flags", "again"], flow);
    let states = rows(output, "senders", ["event", "una", "nxt", "in_flight", "expired", "timer"], flow);
    let expired: BTreeMap<u64, u64> = states.iter().map(|row| (row[0], row[4])).collect();
    let mut events: BTreeMap<u64, [Vec<usize>; 4]> = BTreeMap::new();
    let numbers: [Vec<u64>; 4] = [
        acks.iter().map(|row| row[0]).collect(),
        losses.iter().map(|row| row[0]).collect(),
        segments.iter().map(|row| row[0]).collect(),
        states.iter().map(|row| row[0]).collect(),
    ];
    for (kind, numbers) in numbers.iter().enumerate() {
        prop_assert!(numbers.is_sorted(), "each table is in the order of events");
        numbers.iter().enumerate().for_each(|(row, &event)| events.entry(event).or_default()[kind].push(row));
    }
    let (mut board, mut nxt) = (Scoreboard::default(), 0);
    for (event, [of_acks, of_losses, of_segments, of_standings]) in events {
        prop_assert!(of_acks.len() <= 1 && of_standings.len() <= 1, "an event is one call");
        for row in of_acks {
            let [_, ack, a, b, c, d, e, f] = acks[row];
            prop_assert!(ack <= nxt, "acknowledged {} of {}", ack, nxt);
            let blocks: Vec<_> = [(a, b), (c, d), (e, f)].into_iter().filter(|block| block.1 > 0).collect();
            prop_assert!(blocks.iter().all(|block| block.1 <= nxt), "SACKed {:?} of {}", blocks, nxt);
            board.acknowledge(ack, &blocks);
        }
        for row in of_losses {
            let [_, seq, end, loss] = losses[row];
            board.judge([seq, end, loss]);
        }
        for row in of_segments {
            let [_, seq, payload, flags, is_retransmission] = segments[row];
            let end = seq + payload + u64::from(flags & (SYN | FIN) != 0);
            prop_assert_eq!(
                is_retransmission == 1,
                end > seq && end <= nxt,
                "sent again at {}: {}..{}",
                event,
                seq,
                end
            );
            nxt = nxt.max(end);
            if payload > 0 || flags & FIN != 0 {
                let probes = expired.get(&event) == Some(&PROBE);
                let known = board.out.entry(seq).or_insert(SegmentState { end, ..SegmentState::default() });
                known.retransmitted |= is_retransmission == 1 && !probes;
            }
        }
        for row in of_standings {
            let [_, una, column, in_flight, ..] = states[row];
            prop_assert_eq!((una, column), (board.una, nxt), "event {}", event);
            prop_assert_eq!(in_flight, board.in_flight(), "event {}", event);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn events_make_up_what_is_in_flight_and_every_byte_is_sent_once_but_for_retransmissions(case in cases()) {
        let output = case.output();
        for (flow, summary) in (0..).zip(&output.summary.flows) {
            check_flow(&output, flow)?;
            let segments = rows(&output, "segments", ["seq", "payload", "flags", "again"], flow);
            let data = || segments.iter().filter(|row| row[1] > 0 || row[2] & FIN != 0);
            let all: u64 = data().map(|row| row[1]).sum();
            let retransmitted: u64 = data().filter(|row| row[3] == 1).map(|row| row[1]).sum();
            let end = data().map(|row| row[0] + row[1]).max().unwrap_or(1);
            // The first byte has sequence number 1.
            prop_assert_eq!(all - retransmitted, end - 1);
            prop_assert_eq!(data().count() as u64, summary.sent);
            prop_assert_eq!(data().filter(|row| row[3] == 1).count() as u64, summary.retransmissions);
            let expired = rows(&output, "senders", ["expired"], flow);
            prop_assert_eq!(expired.iter().filter(|row| row[0] == TIME_OUT).count() as u64, summary.timeouts);
        }
    }

    #[test]
    fn the_samples_of_a_flow_are_how_its_sender_stood_last(case in cases()) {
        let output = case.output();
        for flow in 0..3u64 {
            let bits = |table: &str, name: &str| real(&output, table, name).iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let of = |table: &str, name: &str, all: Vec<u64>| -> Vec<u64> {
                let flows = whole(&output, table, "flow");
                prop_assume_len(table, name, flows.len(), all.len());
                (0..all.len()).filter(|&i| flows[i] == flow).map(|i| all[i]).collect()
            };
            let events = of("senders", "time_ns", whole(&output, "senders", "time_ns"));
            let samples = of("flows", "time_ns", whole(&output, "flows", "time_ns"));
            let cwnd = of("senders", "cwnd", whole(&output, "senders", "cwnd"));
            let flight = of("senders", "in_flight", whole(&output, "senders", "in_flight"));
            let [ssthresh, srtt] = ["ssthresh", "srtt_ms"].map(|name| of("senders", name, bits("senders", name)));
            let sampled = ["cwnd", "ssthresh", "srtt_ms"].map(|name| of("flows", name, bits("flows", name)));
            let in_flight = of("flows", "in_flight", whole(&output, "flows", "in_flight"));
            for (i, at) in samples.iter().enumerate() {
                let Some(last) = events.partition_point(|event| event <= at).checked_sub(1) else { continue };
                let state = [(cwnd[last] as f64).to_bits(), ssthresh[last], srtt[last]];
                prop_assert_eq!(state, sampled.each_ref().map(|column| column[i]), "flow {} at {}", flow, at);
                prop_assert_eq!(flight[last], in_flight[i]);
            }
        }
    }
}

fn prop_assume_len(table: &str, name: &str, flows: usize, rows: usize) {
    assert_eq!(flows, rows, "{table}.{name} has a number in every row");
}

#[test]
fn what_reaches_the_first_queue_is_what_was_sent() {
    let case = Case {
        kbps: 4_000,
        limit: 12,
        loss: 0.0,
        stack: "linux-6.1",
        cc: "cubic",
        gso: false,
        ecn: false,
        size_kb: None,
        seed: 7,
    };
    let output = case.output();
    for flow in 0..3 {
        let sent = rows(&output, "segments", ["seq", "payload", "flags", "ip_bytes"], flow);
        let arrivals: BTreeMap<u64, u64> = ["packets", "waiting"]
            .iter()
            .flat_map(|table| rows(&output, table, ["link", "arrival"], flow))
            .filter(|row| row[0] == 0)
            .map(|row| (row[1], row[0]))
            .collect();
        let names =
            ["link", "arrival", "seq", "payload", "flags", "ip_bytes"].map(|name| whole(&output, "headers", name));
        let [link, arrival, seq, payload, flags, ip_bytes] = &names;
        let own = (0..link.len()).filter(|&i| link[i] == 0 && arrivals.contains_key(&arrival[i]));
        let mut seen: Vec<_> = own.map(|i| [seq[i], payload[i], flags[i], ip_bytes[i]]).collect();
        // Packets on the access link at the end of the run have not arrived.
        let under_way = sent.len() - seen.len();
        assert!(under_way < 50, "{under_way} of {}", sent.len());
        let mut sent = sent[..seen.len()].to_vec();
        sent.sort_unstable();
        seen.sort_unstable();
        assert_eq!(sent, seen, "flow {flow}");
    }
}

#[test]
fn both_ends_of_a_conversation_have_a_sender_and_connections_follow_each_other() {
    let output = run(r#"
        duration = "10 s"
        [link]
        rate = "5 Mbit/s"
        [[flows]]
        kind = "web"
        interval = "200 ms"
        size = "30 kB"
        rtt = "40 ms"
        stop = "8 s"
        [[flows]]
        kind = "cbr"
        rate = "100 kbit/s"
        [probes]
        senders = true
        transfers = true
        "#);
    let [flows, ends, payload] = ["flow", "end", "payload"].map(|name| whole(&output, "segments", name));
    let mut sums: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    (0..flows.len()).for_each(|i| *sums.entry((flows[i], ends[i])).or_default() += payload[i]);
    let transfers = whole(&output, "transfers", "flow");
    assert!(transfers.len() > 30, "{} pages", transfers.len());
    for flow in &transfers {
        // The server is at the source; the client's request has the default of 500 bytes.
        assert_eq!((sums[&(*flow, 0)], sums[&(*flow, 1)] > 0), (30_000, true), "connection {flow}");
    }
    let events = whole(&output, "acks", "event");
    assert!(events.is_sorted() && whole(&output, "acks", "time_ns").is_sorted());
    assert!(sums.keys().all(|(flow, _)| transfers.contains(flow) || *flow > *transfers.last().unwrap()), "{sums:?}");
}
