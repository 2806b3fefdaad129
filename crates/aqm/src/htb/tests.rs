use super::class::{quantum, ticks};
use super::config::Rounding;
use crate::class::ClassId;
use crate::qdisc::{DequeueResult, Host, Qdisc};
use crate::registry::{NamedConfig, parse};
use crate::{Backlog, Instant, Limits, Link, Meta, Rate, Rng};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

fn queue(text: &str) -> Box<dyn Qdisc<u32> + Send> {
    let link = Link::new(Rate::from_bps(1_000_000_000), 1514);
    parse(text)
        .unwrap_or_else(|e| panic!("{text}: {e}"))
        .build(Limits::default(), Host { link, rng: Rng::from_state(1) })
}

/// Offers a packet of a class; its handle is the class too.
fn offer(queue: &mut dyn Qdisc<u32>, now: Instant, class: u16, len: u32) {
    let meta = Meta { class: ClassId::new(1, class), ..Meta::new(len, class as u32) };
    queue.enqueue(now, meta, class as u32, &mut |_, _, _| {});
}

#[test]
fn statistics_are_spelled_as_tcs() {
    let mut queue = queue(
        "htb default 20 direct_qlen 50 { class 1 rate 8mbit; class 10 parent 1 rate 1mbit { cake besteffort }; \
         class 20 parent 1 rate 7mbit }",
    );
    for (class, len) in [(0x10, 1000), (0x20, 500), (0x20, 500), (0, 60)] {
        offer(&mut *queue, Instant::ZERO, class, len);
    }
    assert!(matches!(queue.dequeue(Instant::ZERO, &mut |_, _, _| {}), DequeueResult::Packet(Meta { len: 60, .. }, _)));
    assert!(matches!(queue.dequeue(Instant::ZERO, &mut |_, _, _| {}), DequeueResult::Packet(..)));
    let text = queue.statistics().expect("tc knows it");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_eq!((&json["kind"], &json["packets"], &json["qlen"]), (&"htb".into(), &2.into(), &2.into()));
    let options = serde_json::json!({"default": "0x20", "direct_packets_stat": 1, "direct_qlen": 50});
    assert_eq!(json["options"], options);
    let classes = json["classes"].as_array().expect("an array");
    let handles: Vec<_> = classes.iter().map(|class| class["handle"].as_str().expect("a text")).collect();
    assert_eq!(handles, ["1:10", "1:20"]);
    let sums =
        ["packets", "qlen"].map(|key| classes.iter().map(|class| class[key].as_u64().expect("one")).sum::<u64>());
    assert_eq!(sums, [1, 2], "what goes directly is of no class");
    assert_eq!((&classes[0]["qdisc"]["kind"], classes[1].get("qdisc")), (&"cake".into(), None));
}

/// Keeps packets of `len` bytes queued in each class until `until`, on an infinitely fast link. Returns the departures.
fn saturate(queue: &mut dyn Qdisc<u32>, classes: &[(u16, u32)], until: Instant) -> Vec<(Instant, u32, u32)> {
    let mut now = Instant::ZERO;
    let mut left = Vec::new();
    classes.iter().for_each(|&(class, len)| (0..3).for_each(|_| offer(queue, now, class, len)));
    while now < until {
        match queue.dequeue(now, &mut |_, _, _| {}) {
            DequeueResult::Packet(meta, class) => {
                left.push((now, class, meta.len));
                offer(queue, now, class as u16, meta.len);
            }
            DequeueResult::NotBefore(at) => now = at,
            DequeueResult::Empty => panic!("it is kept full"),
        }
    }
    left
}

/// Mbit/s of each class between two seconds.
fn rates(left: &[(Instant, u32, u32)], classes: &[u32], from: u64, to: u64) -> Vec<f64> {
    let within = |at: Instant| at >= second(from) && at < second(to);
    let bytes = |class: u32| -> u32 {
        left.iter().filter(|&&(at, of, _)| of == class && within(at)).map(|&(_, _, len)| len).sum()
    };
    classes.iter().map(|&class| bytes(class) as f64 * 8e-6 / (to - from) as f64).collect()
}

fn second(s: u64) -> Instant {
    Instant::from_nanos(s * 1_000_000_000)
}

#[test]
fn tokens_are_the_kernels_at_an_untidy_rate() {
    // 7,777,777 bit/s: 1557257 ns for 1514 B (see psched); tc's bucket of 1600 B is 1645715.15… ns, so 25715 ticks of
    // 64 ns, 1645760 ns, or with an older tc 1645 us in 25703 ticks, 1644992 ns.
    assert_eq!([Rounding::Up, Rounding::Down].map(|rounding| ticks(1600, 972_222, rounding)), [1_645_760, 1_644_992]);
    for (profile, buffer) in [("", 1_645_760), ("@linux-6.1", 1_644_992)] {
        let mut queue = queue(&format!("htb{profile} {{ class 10 rate 7777777bit }}"));
        (0..5).for_each(|_| offer(&mut *queue, Instant::ZERO, 0x10, 1514));
        let (mut now, mut left) = (Instant::ZERO, Vec::new());
        while queue.backlog().packets > 0 {
            match queue.dequeue(now, &mut |_, _, _| {}) {
                DequeueResult::Packet(..) => left.push(now.as_nanos()),
                DequeueResult::NotBefore(at) => now = at,
                DequeueResult::Empty => panic!("packets wait"),
            }
        }
        // A class may send while it has any tokens: the second packet goes into debt, and from then on each packet
        // waits until the debt of the previous ones is paid.
        let debt = |packets: u64| (packets * 1_557_257).saturating_sub(buffer);
        assert_eq!(left, [0, 0, debt(2), debt(3), debt(4)], "{profile}");
    }
}

#[test]
fn quanta_are_bounded_and_r2q_divides_the_rate() {
    let mbit = |mbit: u64| Rate::from_bps(mbit * 1_000_000);
    assert_eq!(
        [quantum(0, mbit(1), 10), quantum(0, mbit(1), 1000), quantum(0, mbit(100), 10), quantum(300, mbit(1), 10)],
        [12_500, 1000, 200_000, 300]
    );
}

#[test]
fn classes_get_their_rate_share_what_is_left_and_stay_below_their_ceilings() {
    // 10 Mbit/s. Guaranteed: 1, 2 and 3; the other 4 go to classes below their ceilings by their quanta, 1 : 2 : 3.
    let tree = |ceilings: [u64; 3]| {
        let [a, b, c] = ceilings;
        // A class waits for the turns of the others, 37.5 kB or 30 ms; a smaller bucket would lose tokens meanwhile.
        format!(
            "htb {{ class 1 rate 10mbit; class 10 parent 1 rate 1mbit ceil {a}mbit cburst 30kB; class 20 parent 1 rate 2mbit \
             ceil {b}mbit cburst 30kB; class 30 parent 1 rate 3mbit ceil {c}mbit cburst 30kB }}"
        )
    };
    let sizes = [(0x10, 1514), (0x20, 700), (0x30, 1000)];
    let all = [0x10, 0x20, 0x30];
    for (ceilings, busy, expected) in [
        ([10, 10, 10], 3, [1.0 + 4.0 / 6.0, 2.0 + 8.0 / 6.0, 3.0 + 2.0]),
        // The third is at its ceiling: the remainder is shared 1 : 2.
        ([10, 10, 4], 3, [2.0, 4.0, 4.0]),
        // All are at their ceilings.
        ([1, 2, 4], 3, [1.0, 2.0, 4.0]),
        // One is idle: 7 Mbit/s are left for two.
        ([10, 10, 10], 2, [1.0 + 7.0 / 3.0, 2.0 + 14.0 / 3.0, 0.0]),
    ] {
        let mut queue = queue(&tree(ceilings));
        let left = saturate(&mut *queue, &sizes[..busy], second(11));
        let got = rates(&left, &all, 1, 11);
        for i in 0..3 {
            assert!(
                (got[i] - expected[i]).abs() < 0.03 + 0.01 * expected[i],
                "{ceilings:?}: {got:?}, not {expected:?}"
            );
        }
    }
}

#[test]
fn over_any_span_no_class_exceeds_its_ceiling_and_a_bucket() {
    let text = "htb { class 1 rate 5mbit; class 10 parent 1 rate 777777bit ceil 3333333bit burst 4kB cburst 6kB; class 20 \
                parent 1 rate 1mbit burst 3kB cburst 2kB; class 30 rate 2222222bit }";
    let left = saturate(&mut *queue(text), &[(0x10, 1514), (0x20, 997), (0x30, 1499)], second(2));
    // A class goes into debt by at most one packet; its bucket may be one tick deeper.
    for (class, ceil, cburst, len) in
        [(0x10, 416_667, 6000, 1514), (0x20, 125_000, 2000, 997), (0x30, 277_778, 1600, 1499)]
    {
        let own: Vec<_> = left.iter().filter(|&&(_, of, _)| of == class).collect();
        assert!(own.len() > 100);
        for i in 0..own.len() {
            for j in i..own.len() {
                let bytes = (j - i + 1) as u128 * len;
                let nanos = (own[j].0 - own[i].0).as_nanos() as u128 + (j - i) as u128 + 65;
                let max = cburst + len + ceil * nanos / 1_000_000_000;
                assert!(bytes <= max, "{class:x}, {i} to {j}: {bytes} B where {max} are allowed");
            }
        }
    }
}

#[test]
fn the_lower_prio_borrows_first_and_leaves_the_others_their_rates() {
    let text = "htb { class 1 rate 10mbit; class 10 parent 1 rate 2mbit ceil 10mbit prio 0; class 20 parent 1 rate 3mbit \
                ceil 10mbit prio 1 }";
    let left = saturate(&mut *queue(text), &[(0x10, 1500), (0x20, 1500)], second(11));
    let got = rates(&left, &[0x10, 0x20], 1, 11);
    assert!((got[0] - 7.0).abs() < 0.1 && (got[1] - 3.0).abs() < 0.1, "{got:?}");
}

#[test]
fn those_below_one_class_borrow_from_it_before_they_borrow_from_others() {
    // A of 6 Mbit/s has two leaves with 1 and 2 guaranteed, B of 4 one leaf with 4. All ceilings are the full rate.
    let text = "htb { class 1 rate 10mbit; class a parent 1 rate 6mbit ceil 10mbit; class b parent 1 rate 4mbit ceil 10mbit; \
                class a1 parent a rate 1mbit ceil 10mbit; class a2 parent a rate 2mbit ceil 10mbit; class b1 parent b rate \
                4mbit ceil 10mbit }";
    let all = [(0xa1, 1500), (0xa2, 1500), (0xb1, 1500)];
    let got = rates(&saturate(&mut *queue(text), &all, second(11)), &[0xa1, 0xa2, 0xb1], 1, 11);
    // A's remaining 3 go to its own leaves, 1 : 2.
    for (got, expected) in got.iter().zip([2.0, 4.0, 4.0]) {
        assert!((got - expected).abs() < 0.1, "{got} where {expected} are its own");
    }
    // A leaf alone gets everything.
    let got = rates(&saturate(&mut *queue(text), &all[..1], second(11)), &[0xa1], 1, 11);
    assert!((got[0] - 10.0).abs() < 0.05, "{got:?}");
}

#[test]
fn a_class_that_has_nothing_waits_for_nobody_and_a_throttled_one_holds_up_no_other() {
    let text = "htb { class 10 rate 8kbit burst 100B cburst 100B; class 20 rate 80mbit }";
    let mut queue = queue(text);
    // 1000 B/s: the first packet leaves a debt of 900 ms.
    (0..2).for_each(|_| offer(&mut *queue, Instant::ZERO, 0x10, 1000));
    let mut next = |now| queue.dequeue(now, &mut |_, _, _| {});
    assert!(matches!(next(Instant::ZERO), DequeueResult::Packet(_, 0x10)));
    let DequeueResult::NotBefore(at) = next(Instant::ZERO) else { panic!("it has no tokens") };
    assert_eq!(at, Instant::from_nanos(900_000_000));
    let early = Instant::from_nanos(1_000_000);
    offer(&mut *queue, early, 0x20, 1000);
    assert!(matches!(queue.dequeue(early, &mut |_, _, _| {}), DequeueResult::Packet(_, 0x20)));
    assert_eq!(queue.dequeue(early, &mut |_, _, _| {}), DequeueResult::NotBefore(at));
    assert!(matches!(queue.dequeue(at, &mut |_, _, _| {}), DequeueResult::Packet(_, 0x10)));
    assert_eq!(queue.dequeue(at, &mut |_, _, _| {}), DequeueResult::Empty);
}

#[test]
fn what_no_class_wants_goes_first_and_unshaped_or_to_the_default() {
    let shaped = "class 10 rate 8kbit burst 100B; class 20 rate 8kbit burst 100B match dscp EF";
    let meta = |dscp, class| Meta { dscp, class, ..Meta::new(1000, 0) };
    for (text, sent) in
        [(format!("htb direct_qlen 2 {{ {shaped} }}"), 2), (format!("htb default 10 {{ {shaped} }}"), 1)]
    {
        let mut queue = queue(&text);
        let mut dropped = 0;
        for id in 0..3 {
            queue.enqueue(Instant::ZERO, meta(0, ClassId::NONE), id, &mut |_, _, _| dropped += 1);
        }
        // Direct packets: both leave at once, and a third finds no room; a class has tokens for one.
        let at_once = core::iter::from_fn(|| match queue.dequeue(Instant::ZERO, &mut |_, _, _| {}) {
            DequeueResult::Packet(_, id) => Some(id),
            _ => None,
        });
        assert_eq!((at_once.count(), dropped), (sent, sent - 1), "{text}");
    }
    // Class, filter, the discipline itself, an inner class, and a class of another discipline.
    let tree = "htb default 10 { class 1 rate 1mbit; class 10 parent 1 rate 1mbit; class 20 parent 1 rate 1mbit match dscp EF }";
    for (dscp, class, expected) in [
        (0, ClassId::new(1, 0x20), "20"),
        (46, ClassId::NONE, "20"),
        (46, ClassId::new(1, 0x10), "10"),
        (46, ClassId::new(1, 0), "direct"),
        (46, ClassId::new(1, 1), "20"),
        (0, ClassId::new(2, 0x20), "10"),
        (0, ClassId::new(1, 0x99), "10"),
    ] {
        let mut queue = queue(tree);
        queue.enqueue(Instant::ZERO, meta(dscp, class), 0, &mut |_, _, _| {});
        assert_eq!(queue.backlog(), Backlog { packets: 1, bytes: 1000 });
        assert!(matches!(queue.dequeue(Instant::ZERO, &mut |_, _, _| {}), DequeueResult::Packet(..)));
        let mut state = Vec::new();
        queue.observe(&mut |name, value| state.push((name, value)));
        let joined = if state.contains(&("direct_packets", 1.0)) {
            String::from("direct")
        } else {
            format!("{:x}", state[0].1 as u16)
        };
        assert_eq!(joined, expected, "{dscp} {class}");
    }
}

#[test]
fn turns_are_by_bytes_and_in_the_order_of_the_numbers() {
    // Quanta of 3000 B: two or three packets of 1000 per turn; prio and rates are equal. The classes are not named in
    // numeric order.
    let text = "htb { class 1 rate 100mbit burst 1MB cburst 1MB; class 30 parent 1 rate 8bit ceil 100mbit burst 1B cburst 1MB \
                quantum 3000B; class 10 parent 1 rate 8bit ceil 100mbit burst 1B cburst 1MB quantum 3000B }";
    let mut queue = queue(text);
    for _ in 0..8 {
        offer(&mut *queue, Instant::ZERO, 0x30, 1000);
        offer(&mut *queue, Instant::ZERO, 0x10, 1000);
    }
    let order: Vec<_> = core::iter::from_fn(|| match queue.dequeue(Instant::ZERO, &mut |_, _, _| {}) {
        DequeueResult::Packet(_, class) => Some(class),
        _ => None,
    })
    .collect();
    // At first each class has own tokens for one packet, which takes its deficit below 0 and refills it to 2000; then
    // both borrow at another level, where the deficits start again: 1 packet leaves 2000, and each later turn sends 3.
    let (a, b) = (0x10, 0x30);
    assert_eq!(order, vec![a, b, a, b, a, a, a, b, b, b, a, a, a, b, b, b]);
}

#[test]
fn spellings_and_what_is_refused() {
    for (text, spelling) in [
        ("htb", "htb"),
        (
            "htb default 30 r2q 5 handle 1: {class 1:1 rate 10mbit ceil 10mbit\nclass 1:30 parent 1:1 rate 8mbit buffer 15kB cbuffer 2kB prio 3 { fq_codel } }",
            "htb default 30 r2q 5 { class 1 rate 10Mbit/s ceil 10Mbit/s; class 30 parent 1 rate 8Mbit/s burst 15000B cburst 2000B prio 3 { fq_codel } }",
        ),
        (
            "htb@linux-6.1 handle 2 { class 2:ff rate 1mbit overhead 40b linklayer adsl match dscp EF match src 2 { htb { class 1 rate 1mbit } } }",
            "htb@linux-6.1 handle 2 { class ff rate 1Mbit/s overhead 40 linklayer atm match dscp EF match src 2 { htb { class 1 rate 1Mbit/s } } }",
        ),
    ] {
        let named = NamedConfig::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(named.spelling(), spelling, "{text}");
        assert_eq!(NamedConfig::parse(spelling).expect(spelling), named);
    }
    let deep: String = (1..=9)
        .map(|i| format!("class {i} {} rate 1mbit; ", if i > 1 { format!("parent {}", i - 1) } else { String::new() }))
        .collect();
    for (text, error) in [
        ("htb { class 10 ceil 1mbit }", "class 10: rate is required; write e.g. rate 1mbit"),
        (
            "htb { class 10 rate 2mbit ceil 1mbit }",
            "class 10: ceil (1 Mbit/s) is below rate (2 Mbit/s), so the rate would never be reached; write a higher ceil or a lower rate",
        ),
        (
            "htb { class 10 parent 1 rate 2mbit }",
            "class 10: parent 1 is not a class of this htb; add it, or leave parent out for a class of the root",
        ),
        (
            "htb { class 10 parent 10 rate 2mbit }",
            "class 10: its parents form a loop, 10 below 10; attach one of them to the root",
        ),
        (
            "htb { class 2 parent 1 rate 1mbit; class 1 parent 1 rate 1mbit }",
            "class 2: its parents form a loop, 1 below 1; attach one of them to the root",
        ),
        (
            "htb { class 9 rate 3mbit; class a parent 3 rate 1mbit; class 3 parent 5 rate 1mbit; class 5 parent 4 rate 1mbit; \
             class 4 parent 3 rate 1mbit }",
            "class a: its parents form a loop, 3 below 5 below 4 below 3; attach one of them to the root",
        ),
        (
            "htb { class 1 rate 2mbit { codel }; class 2 parent 1 rate 1mbit }",
            "class 1: has child classes and cannot hold a queue; move it to a child class",
        ),
        (
            "htb { class 1 rate 2mbit match dscp EF; class 2 parent 1 rate 1mbit }",
            "class 1: has child classes and cannot have a filter; move it to a child class",
        ),
        ("htb { class 1 rate 2mbit; class 1 rate 1mbit }", "class 1: is given twice; leave one of them out"),
        (
            "htb { class 1 rate 7bit }",
            "class 1: rate (7 bit/s) is below 8 bit/s (one byte per second), the minimum that Linux shapes to",
        ),
        ("htb { class 1 rate 1mbit prio 8 }", "class 1: prio = 8 is out of range; from 0 to 7"),
        ("htb { class 1 rate 1mbit rate 2mbit }", "rate of class 1 of htb is given twice; leave one of them out"),
        ("htb { class 1 rate 1mbit burst }", "burst of class 1 of htb needs a value"),
        ("htb { class 1 rat 1mbit }", r#"class 1: unknown parameter "rat"; did you mean "rate"?"#),
        ("htb default 30 { class 10 rate 1mbit }", "default 30: no such class; write e.g. { class 30 rate 10mbit }"),
        (
            "htb default 1 { class 1 rate 1mbit; class 10 parent 1 rate 1mbit }",
            "default 1: class 1 has child classes; name one of them",
        ),
        ("htb default x", r#"default: "x" is not a class number; write it in hexadecimal as in tc, e.g. 20"#),
        (
            &format!("htb {{ {deep} }}"),
            "class 9: is nested too deep: Linux has 8 levels; attach it to a class nearer to the root",
        ),
    ] {
        assert_eq!(parse(text).expect_err(text).to_string(), error, "{text}");
    }
}
