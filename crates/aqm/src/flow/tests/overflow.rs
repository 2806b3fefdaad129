//! Packets dropped when a limit is reached.

use super::QdiscHarness;
use crate::aqm::DropReason;
use crate::qdisc::EnqueueResult;
use alloc::format;
use alloc::vec::Vec;

#[test]
fn a_batch_leaves_the_head_of_the_fattest_flow_and_only_it() {
    let mut bench = QdiscHarness::new("fq_codel@linux limit 100 hash modulo");
    for i in 0..20 {
        bench.push(5, 100);
        bench.push(7, 1500);
        if i % 2 == 0 {
            bench.push(9, 1400);
            bench.push(9, 1400);
        }
    }
    (0..40).for_each(|_| {
        bench.push(5, 100);
    });
    assert!(bench.dropped.is_empty());
    assert_eq!(bench.push(5, 100), EnqueueResult::Queued, "another flow lost packets");
    // Flow 7 has 30,000 bytes, the others less but more packets: half of its bytes are dropped from the head.
    let lost: Vec<_> = bench.dropped.iter().map(|&(flow, _)| flow).collect();
    assert_eq!(lost, [7; 10]);
    assert!(bench.dropped.is_sorted_by_key(|&(_, id)| id) && bench.dropped[0].1 == 2);
    assert_eq!(bench.queue.backlog().packets, 91);
    // Flow 7's CoDel counts them; other flows' do not.
    let counts: Vec<_> = (0..30).map(|_| (bench.pop().map(|(flow, ..)| flow), bench.state("count"))).collect();
    assert!(counts.contains(&(Some(7), 10.0)) && !counts.contains(&(Some(5), 10.0)), "{counts:?}");
}

#[test]
fn a_batch_ends_at_drop_batch_and_before_4_7_at_one() {
    for (aqm, lost, count) in [("fq_codel@linux drop_batch 3", 3, 3.0), ("fq_codel@linux-3.10", 1, 0.0)] {
        let mut bench = QdiscHarness::new(&format!("{aqm} limit 20"));
        (0..20).for_each(|_| {
            bench.push(1, 1000);
        });
        bench.push(1, 1000);
        let ids: Vec<_> = bench.dropped.iter().map(|&(_, id)| id).collect();
        assert_eq!(ids, (1..=lost).collect::<Vec<_>>(), "{aqm}");
        bench.pop();
        assert_eq!(bench.state("count"), count, "{aqm}");
    }
}

#[test]
fn of_equally_fat_flows_the_first_queue_loses() {
    let mut bench = QdiscHarness::new("fq_codel@linux-3.10 hash modulo limit 6");
    for flow in [9, 4, 6, 9, 4, 6] {
        bench.push(flow, 500);
    }
    bench.push(2, 100);
    assert_eq!(bench.dropped, [(4, 2)]);
}

#[test]
fn an_arrival_that_is_dropped_itself_is_said_to_be() {
    let mut bench = QdiscHarness::new("fq_codel memory_limit 3000B");
    bench.push(1, 1000);
    assert_eq!(bench.push(2, 2500), EnqueueResult::Dropped(DropReason::Limit), "the fattest flow is the new one");
    assert_eq!(bench.dropped, [(2, 2)]);
    assert_eq!(bench.push(3, 3001), EnqueueResult::Dropped(DropReason::Limit), "it never fits");
    assert_eq!((bench.dropped.len(), bench.queue.backlog().packets), (2, 1), "and nobody else had to go");
}

#[test]
fn sfq_makes_room_at_the_tail_of_the_longest_or_at_its_head() {
    for (params, id) in [("", 4), ("headdrop", 2)] {
        let mut bench = QdiscHarness::new(&format!("sfq limit 4 hash modulo {params}"));
        for flow in [1, 2, 2, 2] {
            bench.push(flow, 1000);
        }
        assert_eq!(bench.push(3, 1000), EnqueueResult::Queued);
        assert_eq!(bench.dropped, [(2, id)], "{params}");
    }
    // Ties go to the flow that grew last; if all have one packet, to the flow served next.
    let mut bench = QdiscHarness::new("sfq limit 4 hash modulo divisor 0");
    for flow in [1, 2, 2, 1] {
        bench.push(flow, 1000);
    }
    bench.push(3, 1000);
    bench.push(4, 1000);
    bench.push(5, 1000);
    assert_eq!(bench.dropped, [(1, 4), (2, 3), (1, 1)]);
    assert_eq!(bench.flows(9), [2, 3, 4, 5]);
}

#[test]
fn an_emptied_flow_that_is_still_scheduled_does_not_keep_others_from_making_room() {
    let mut bench = QdiscHarness::new("fq(droptail) overflow longest limit 2 hash modulo");
    bench.push(1, 1000);
    assert_eq!(bench.flows(1), [1]);
    for flow in [2, 3, 4] {
        bench.push(flow, 1000);
    }
    assert_eq!(bench.dropped, [(2, 2)]);
    assert_eq!(bench.flows(9), [3, 4]);
}

#[test]
fn sfq_bounds_each_flow_by_its_depth() {
    for (params, id) in [("", 3), ("headdrop", 1)] {
        let mut bench = QdiscHarness::new(&format!("sfq depth 2 {params}"));
        (0..3).for_each(|_| {
            bench.push(1, 1000);
        });
        assert_eq!(bench.dropped, [(1, id)], "{params}");
        assert_eq!(bench.push(2, 1000), EnqueueResult::Queued);
    }
}

#[test]
fn sfqcodel_drops_the_tail_of_the_longest_bin_and_spares_the_last_victim() {
    let mut bench = QdiscHarness::new("sfqcodel hash modulo limit 6");
    for flow in [1, 2, 1, 2, 1, 2] {
        bench.push(flow, 1000);
    }
    for flow in [0, 2, 0] {
        bench.push(flow, 1000);
    }
    // A tie: the higher number; then bin 1 is longest, then bin 2.
    assert_eq!(bench.dropped, [(2, 6), (1, 5), (2, 8)]);
    // A tie again, and bin 2 was the last victim.
    bench.push(4, 1000);
    assert_eq!(bench.dropped.last(), Some(&(1, 3)));
}
