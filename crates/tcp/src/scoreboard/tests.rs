//! The scoreboard alone: blocks and acknowledgments in, counters out.

use super::*;
use crate::kind::AnyAck;
use sojourn_aqm::Rng;

/// `n` segments of a thousand bytes, starting at 0.
fn board(n: u64, sack: bool) -> Scoreboard {
    let mut board = Scoreboard::new(sack);
    for i in 0..n {
        let (seq, sent) = (1000 * i, Instant::from_nanos(i));
        board.push(Segment::new(seq, 1000, false, sent));
    }
    board
}

#[test]
fn what_is_in_flight_is_neither_sacked_nor_lost_or_was_sent_again() {
    let mut board = board(10, true);
    let tagged = board.tag(&[(5_000, 8_000)], 0, 0, |_, _| {});
    assert_eq!((tagged.new, tagged.duplicate, board.sacked_out, board.fackets_out), (true, false, 3, 8));
    board.mark_head_lost(5, 10_000, false);
    assert_eq!((board.lost_out, board.in_flight()), (5, 2));
    board.on_retransmitted(0, 10_000);
    board.retransmit(0, Instant::from_nanos(99));
    assert_eq!((board.retrans_out, board.in_flight()), (1, 3));
    let acked = board.acknowledge::<AnyAck<true>>(1_000, |_, _| {});
    assert_eq!((acked.packets, board.lost_out, board.retrans_out, board.in_flight()), (1, 4, 0, 2));
}

#[test]
fn a_hole_that_an_original_fills_is_reordering_and_one_that_a_retransmission_fills_is_not() {
    let mut board = board(10, true);
    board.tag(&[(6_000, 7_000)], 0, 0, |_, _| {});
    assert_eq!(board.tag(&[(2_000, 3_000), (6_000, 7_000)], 0, 0, |_, _| {}).reordered_at, Some(2));
    board.mark_lost(3);
    board.on_retransmitted(3, 10_000);
    board.retransmit(3, Instant::from_nanos(99));
    assert_eq!(board.tag(&[(3_000, 4_000), (6_000, 7_000)], 0, 0, |_, _| {}).reordered_at, None);
    assert_eq!((board.lost_out, board.retrans_out), (0, 0));
}

#[test]
fn data_sent_after_a_retransmission_tells_of_its_loss() {
    let mut board = board(10, true);
    board.tag(&[(5_000, 8_000)], 0, 0, |_, _| {});
    board.mark_head_lost(1, 10_000, false);
    board.on_retransmitted(0, 8_500);
    board.mark_lost_retransmissions(10_000);
    assert_eq!(board.retrans_out, 1, "what is SACKed was sent before it");
    board.tag(&[(5_000, 9_000)], 0, 0, |_, _| {});
    board.mark_lost_retransmissions(10_000);
    assert_eq!((board.retrans_out, board.lost_out), (0, 1));
}

#[test]
fn what_was_sent_again_is_touched_until_it_is_acknowledged() {
    let mut board = board(10, true);
    board.retransmit(2, Instant::from_nanos(99));
    let untouched = |board: &mut Scoreboard, una| {
        board.acknowledge::<AnyAck<true>>(una, |_, _| {});
        board.is_untagged_from(una)
    };
    assert_eq!([0, 2_000, 3_000].map(|una| untouched(&mut board, una)), [false, false, true]);
}

#[test]
fn the_next_segment_is_the_one_above_all_that_have_arrived() {
    let mut board = board(10, true);
    let first = [(4_000, 5_000)];
    assert_eq!([0, 4_001].map(|una| board.next_sacked(&first, una)), [Some(4), None]);
    board.sack_next(4, &first, 0);
    assert_eq!((board.sacked_out, board.fackets_out, board.highest_sack), (1, 5, 5_000));
    assert!(!board.is_untagged_from(0));
    let of_one = |board: &Scoreboard, blocks: &[SeqRange]| board.next_sacked(blocks, 0);
    assert_eq!(of_one(&board, &[(4_000, 6_000)]), Some(5), "the block has grown");
    assert_eq!(of_one(&board, &[(7_000, 8_000), (4_000, 5_000)]), Some(7), "a new one lies before it");
    for other in [
        vec![],
        vec![(4_000, 5_000)],
        vec![(4_000, 7_000)],
        vec![(4_000, 5_500)],
        vec![(2_000, 3_000), (4_000, 5_000)],
        vec![(7_000, 8_000), (2_000, 3_000)],
        vec![(9_000, 11_000)],
    ] {
        assert_eq!(of_one(&board, &other), None, "{other:?}");
    }
}

#[test]
fn the_next_segment_is_tagged_as_blocks_in_any_order_are() {
    let mut rng = Rng::stream(1, "next", 0);
    let mut next = 0;
    for _ in 0..3_000 {
        let mut quick = board(2 + rng.below(12), true);
        (0..rng.below(3)).for_each(|_| quick.mark_lost(rng.below(quick.packets_out().into()) as usize));
        let mut slow = quick.clone();
        let (mut una, mut blocks): (u64, Vec<SeqRange>) = (0, Vec::new());
        for step in 0..16 {
            let out = u64::from(quick.packets_out());
            let ends = una / 1_000 + out;
            match rng.below(8) {
                // The newest block grows, or a new one is added.
                0..4 if !blocks.is_empty() => blocks[0].1 += 1_000 * (1 + rng.below(7) / 6),
                4..6 => {
                    let from = 1_000 * (una / 1_000 + rng.below(out + 1)) + rng.below(40) / 39 * 500;
                    blocks.insert(0, (from, from + 1_000));
                    blocks.truncate(3);
                }
                6 => blocks.reverse(),
                _ => {
                    una = (una + 1_000 * rng.below(3)).min(1_000 * ends);
                    blocks.retain(|block| block.0 >= una || step % 5 == 0);
                }
            }
            if out > 0 && rng.below(9) == 0 {
                let i = rng.below(out) as usize;
                for board in [&mut quick, &mut slow] {
                    board.join_to_burst();
                    board.on_retransmitted(i, 1_000 * ends);
                    board.retransmit(i, Instant::from_nanos(50 + step));
                }
            }
            let highmark = 1_000 * rng.below(14);
            next += u32::from(quick.next_sacked(&blocks, una).is_some());
            let (mut seen, mut expected) = (Vec::new(), Vec::new());
            let tagged = quick.tag(&blocks, una, highmark, |i, segment| seen.push((i, *segment)));
            let any = slow.tag_any(&blocks, una, highmark, &mut |i, segment| expected.push((i, *segment)));
            assert_eq!(format!("{tagged:?} {seen:?}"), format!("{any:?} {expected:?}"), "{blocks:?} at {una}");
            for board in [&mut quick, &mut slow] {
                board.acknowledge::<AnyAck<true>>(una, |_, _| {});
            }
            assert_eq!(format!("{quick:?}"), format!("{slow:?}"), "{blocks:?} at {una}");
        }
    }
    assert!(next > 3_000, "{next}");
}

#[test]
fn what_is_marked_step_by_step_is_what_a_walk_from_the_hint_marks() {
    let mut rng = Rng::stream(1, "marks", 0);
    let mut marked = 0;
    for _ in 0..400 {
        let mut quick = board(2 + rng.below(12), true);
        let mut slow = quick.clone();
        for _ in 0..24 {
            let out = quick.packets_out() as u64;
            let (packets, high_seq, count_sacked) =
                (rng.below(out + 3) as u32, 1000 * rng.below(16), rng.below(5) == 0);
            let (from, una) = (1000 * rng.below(16), 1000 * rng.below(16));
            let action = rng.below(10);
            for board in [&mut quick, &mut slow] {
                let _ = match action {
                    0 => board.tag(&[(from, from + 2_000)], 0, 0, |_, _| {}).new,
                    1 if una < 8_000 => board.acknowledge::<AnyAck<true>>(una, |_, _| {}).retransmitted,
                    2 => board.mark_all_lost(false),
                    _ => false,
                };
            }
            quick.mark_head_lost(packets, high_seq, count_sacked);
            slow.mark_head_from_hint(packets, high_seq, count_sacked);
            assert_eq!(format!("{quick:?}"), format!("{slow:?}"), "{packets} up to {high_seq}, {count_sacked}");
            marked += quick.lost_out;
        }
    }
    assert!(marked > 10_000, "{marked}");
}

#[test]
fn a_time_out_loses_what_is_not_sacked() {
    let mut board = board(10, true);
    board.tag(&[(5_000, 8_000)], 0, 0, |_, _| {});
    assert!(!board.mark_all_lost(false), "nothing was sent again");
    assert_eq!((board.lost_out, board.in_flight()), (7, 0));
    board.unmark_lost();
    assert_eq!((board.lost_out, board.in_flight()), (0, 7));
    board.on_retransmitted(0, 10_000);
    board.retransmit(0, Instant::from_nanos(99));
    assert!(!board.mark_all_lost(true), "only the head, which stays in flight");
    assert_eq!((board.head_was_retransmitted(), board.in_flight()), (true, 1));
}

#[test]
fn without_sack_duplicates_count_until_there_are_more_than_can_be() {
    let mut board = board(4, false);
    assert_eq!([(); 4].map(|()| board.add_duplicate()), [0, 0, 0, 4], "the fourth was caused by no segment of four");
    assert_eq!((board.sacked_out, board.sacked_extent(), board.in_flight()), (3, 4, 1));
    board.acknowledge::<AnyAck<true>>(2_000, |_, _| {});
    assert_eq!((board.remove_duplicates(2), board.sacked_out), (4, 1));
    board.forget_duplicates();
    assert_eq!(board.sacked_out, 0);
}
