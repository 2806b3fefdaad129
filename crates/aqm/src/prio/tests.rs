use crate::class::ClassId;
use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc};
use crate::registry::{NamedConfig, parse};
use crate::{DropReason, Instant, Limits, Link, Meta, Rate, Rng};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

fn queue(text: &str, limits: Limits) -> Box<dyn Qdisc<u32> + Send> {
    let link = Link::new(Rate::from_bps(10_000_000), 1514);
    parse(text).expect(text).build(limits, Host { link, rng: Rng::from_state(1) })
}

fn drained(queue: &mut dyn Qdisc<u32>) -> Vec<u32> {
    let mut now = Instant::ZERO;
    let mut left = Vec::new();
    loop {
        match queue.dequeue(now, &mut |_, _, _| {}) {
            DequeueResult::Packet(_, id) => left.push(id),
            DequeueResult::NotBefore(at) => now = at,
            DequeueResult::Empty => return left,
        }
    }
}

fn with(dscp: u8, class: ClassId) -> Meta {
    Meta { dscp, class, ..Meta::new(100, 0) }
}

#[test]
fn bands_are_by_class_filter_and_priority() {
    let text = "prio bands 4 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 { band 4 match dscp CS1; band 1 match dscp EF }";
    let mut queue = queue(text, Limits::default());
    let none = ClassId::NONE;
    // (packet, its band from 0 on)
    let cases = [
        (with(0, none), 1),                // priority 0
        (with(34, none), 2),               // AF41: the old "throughput", priority 2
        (with(4, none), 0),                // the old "low delay", priority 6
        (with(46, none), 0),               // EF: priority 4 would be band 1, but the filter matches first
        (with(8, none), 3),                // CS1, by the filter
        (with(46, ClassId::new(1, 3)), 2), // the class named by the sender goes first
        (with(46, ClassId::new(1, 9)), 1), // an unknown class: priority 0
        (with(34, ClassId::new(2, 1)), 1), // another discipline's class: priority 0
        (with(34, ClassId::new(0, 7)), 0), // a priority set by the sender
        (with(0, ClassId::new(1, 0)), 1),  // the discipline itself
    ];
    for (id, (meta, _)) in cases.iter().enumerate() {
        queue.enqueue(Instant::ZERO, *meta, id as u32, &mut |_, _, _| {});
    }
    let mut expected: Vec<u32> = (0..cases.len() as u32).collect();
    expected.sort_by_key(|&id| cases[id as usize].1);
    assert_eq!(drained(&mut *queue), expected);
}

#[test]
fn a_shaped_band_does_not_hold_up_those_behind_it() {
    let mut queue = queue("prio { band 1 match dscp EF { tbf rate 8mbit burst 100B latency 5ms } }", Limits::default());
    for id in 0..2 {
        queue.enqueue(Instant::ZERO, with(46, ClassId::NONE), id, &mut |_, _, _| {});
    }
    queue.enqueue(Instant::ZERO, with(0, ClassId::NONE), 2, &mut |_, _, _| {});
    let mut next = |nanos| match queue.dequeue(Instant::from_nanos(nanos), &mut |_, _, _| {}) {
        DequeueResult::Packet(_, id) => Ok(id),
        DequeueResult::NotBefore(at) => Err(at.as_nanos()),
        DequeueResult::Empty => Err(0),
    };
    assert_eq!([next(0), next(0), next(0), next(100_000), next(100_000)], [Ok(0), Ok(2), Err(100_000), Ok(1), Err(0)]);
}

#[test]
fn each_band_has_a_limit_of_its_own() {
    let mut queue = queue(
        "prio { band 1 match dscp EF { drophead }; band 3 match dscp CS1 { fq_codel limit 2 drop_batch 1 } }",
        Limits::packets(3),
    );
    let offer = |queue: &mut dyn Qdisc<u32>, dscp, id| {
        let mut gone = Vec::new();
        let fate = queue.enqueue(Instant::ZERO, with(dscp, ClassId::NONE), id, &mut |_, id, _| gone.push(id));
        (fate, gone)
    };
    for id in 0..3 {
        assert_eq!(offer(&mut *queue, 46, id).0, EnqueueResult::Queued);
        assert_eq!(offer(&mut *queue, 0, 10 + id).0, EnqueueResult::Queued);
    }
    // One band drops at its head, one at its tail, and one has its own lower limit.
    assert_eq!(offer(&mut *queue, 46, 3).1, [0]);
    assert_eq!(offer(&mut *queue, 0, 13), (EnqueueResult::Dropped(DropReason::Limit), [13].to_vec()));
    (20..22).for_each(|id| assert!(offer(&mut *queue, 8, id).1.is_empty()));
    assert_eq!(offer(&mut *queue, 8, 22).1.len(), 1);
    assert_eq!(queue.backlog().packets, 8);
    assert_eq!(drained(&mut *queue).len(), 8);
}

#[test]
fn statistics_are_spelled_as_tcs() {
    let mut queue = queue("prio handle 5 bands 2 priomap 1 1 1 1 0 0 1 1 1 1 1 1 1 1 1 1", Limits::default());
    queue.enqueue(Instant::ZERO, Meta::new(700, 1), 1, &mut |_, _, _| {});
    let text = queue.statistics().expect("tc knows it");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_eq!((&json["options"]["bands"], &json["backlog"]), (&2.into(), &700.into()));
    let backlogs = [0, 1].map(|i| (&json["classes"][i]["handle"], &json["classes"][i]["backlog"]));
    assert_eq!(backlogs, [(&"5:1".into(), &0.into()), (&"5:2".into(), &700.into())]);
}

#[test]
fn spellings_and_what_is_refused() {
    for (text, spelling) in [
        ("prio", "prio"),
        ("prio bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1", "prio"),
        (
            "prio bands 2 priomap 1 1 1 1 1 1 0 0 1 1 1 1 1 1 1 1 {band 1:2 { fq_codel }}",
            "prio bands 2 priomap 1,1,1,1,1,1,0,0,1,1,1,1,1,1,1,1 { band 2 { fq_codel } }",
        ),
        (
            "prio { band 1 match dscp 46 match src 3\n band 3 match flow 7 match dst 9 { pie } }",
            "prio { band 1 match dscp EF match src 3; band 3 match flow 7 match dst 9 { pie } }",
        ),
        ("prio bands 16 { band 10 }", "prio bands 16 { band 10 }"),
    ] {
        let named = NamedConfig::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(named.spelling(), spelling, "{text}");
        assert_eq!(NamedConfig::parse(spelling).expect(spelling), named);
    }
    for (text, error) in [
        (
            "prio bands 2",
            "priomap names band 2, but there are 2 bands, numbered from 0; write lower numbers, or more bands",
        ),
        ("prio bands 1", "bands = 1 is out of range; from 2 to 16"),
        (
            "prio priomap 1 2 3",
            r#"priomap: "1,2,3" is not a list of 16 bands, one per priority; write e.g. 1,2,2,2,1,2,0,0,1,1,1,1,1,1,1,1"#,
        ),
        ("prio { band 4 { codel } }", "band 4: there are only 3 bands; write bands 4 before the braces"),
        ("prio { band 1; band 1:1 }", "band 1 of prio is given twice; leave one of them out"),
        ("prio { band 2:1 }", "class 2:1: the major number 2 is not this discipline's handle 1; write 1:1"),
        ("prio { band 0 }", "class 0: the minor number 0 is the discipline itself; write e.g. 1:10"),
        ("prio { band x }", r#"class "x" is not a class; write e.g. "1:10" (hexadecimal, as in tc)"#),
        (
            "prio { codel }",
            r#"prio: cannot hold "codel"; write e.g. "prio { band 1 match dscp EF; band 2 { fq_codel } }""#,
        ),
        (
            "prio { band 1 match dscp EFF }",
            r#"match dscp: "EFF" is not a code point; write a name such as "EF", "CS1" or "AF41", or a number from 0 to 63"#,
        ),
        (
            "prio { band 1 match port 80 }",
            r#"match: unknown kind "port"; expected dscp, src, dst or flow, e.g. match dscp EF"#,
        ),
        ("prio { band 1 rate 5mbit }", r#"band 1: unknown keyword "rate"; expected match, e.g. match dscp EF"#),
    ] {
        assert_eq!(parse(text).expect_err(text).to_string(), error, "{text}");
    }
}
