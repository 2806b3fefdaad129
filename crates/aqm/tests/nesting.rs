//! Nested disciplines and many classes: bounded depth, and time bounded by the length of the text.

use sojourn_aqm::registry::NamedConfig;
use sojourn_aqm::{DequeueResult, Host, Instant, Limits, Link, Meta, Rate, Rng};

/// Every way to nest one discipline in another.
const PAIRS: [(&str, &str); 6] = [
    ("tbf rate 9mbit burst 5kB { ", " }"),
    ("prio { band 1 { ", " }; band 3 match dscp EF }"),
    ("prio bands 5 { band 1; band 4 { ", " } }"),
    ("htb default 1 { class 1 rate 3mbit ceil 9mbit { ", " } }"),
    ("htb default 2 { class 1 rate 3mbit; class 2 parent 1 rate 1mbit { ", " } }"),
    ("netem delay 7us { ", " }"),
];
const DEEPEST: usize = 64;

fn nested((open, close): (&str, &str), depth: usize) -> String {
    format!("{}pie{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn the_deepest_is_read_written_built_and_works() {
    for pair in PAIRS {
        let text = nested(pair, DEEPEST);
        let named = NamedConfig::parse(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(NamedConfig::parse(&named.spelling()).unwrap(), named, "{text}");
        let link = Link::new(Rate::from_bps(10_000_000), 1514);
        let mut queue = named.config.build::<u32>(Limits::packets(50), Host { link, rng: Rng::stream(7, "test", 0) });
        let (mut now, mut left, mut lost) = (Instant::from_nanos(1), 0, 0);
        let mut dropped = |_, _, _| lost += 1;
        for packet in 0..20 {
            queue.enqueue(now, Meta::new(700, packet), packet, &mut dropped);
        }
        while queue.backlog().packets > 0 {
            match queue.dequeue(now, &mut dropped) {
                DequeueResult::Packet(..) => left += 1,
                DequeueResult::NotBefore(at) => now = at,
                DequeueResult::Empty => panic!("{text}: empty after {left}"),
            }
        }
        assert!(left > 0 && left + lost == 20, "{text}: {left} left, {lost} were lost");
    }
}

#[test]
fn deeper_is_one_line_whatever_it_is() {
    let mut texts: Vec<String> = PAIRS.map(|pair| nested(pair, DEEPEST + 1)).into();
    texts.extend([3_000, 200_000].into_iter().flat_map(|depth| PAIRS.map(|pair| nested(pair, depth))));
    texts
        .extend(["fq(", "tbf {", "fq(tbf { ", "prio { band 1 {", "(", "{", "codel { ("].map(|open| open.repeat(3_000)));
    for text in texts {
        let error = NamedConfig::parse(&text).expect_err("it is too deep").to_string();
        let expected = "queue managers are nested more than 64 deep; use fewer levels";
        assert_eq!(error, expected, "{}", &text[..40]);
    }
}

/// The name in a table `{ name = …, limit = … }` may nest others in braces, too.
#[test]
fn a_name_with_braces_is_bounded_likewise() {
    let nested = |depth: usize| nested(("netem { ", " }"), depth);
    let params = [("limit".to_string(), "77".to_string())];
    assert!(NamedConfig::configure(&nested(DEEPEST), "", &params).is_ok());
    for depth in [DEEPEST + 1, 3_000] {
        let error = NamedConfig::configure(&nested(depth), "", &params).unwrap_err().to_string();
        assert_eq!(error, "queue managers are nested more than 64 deep; use fewer levels");
    }
}

/// Texts of a megabyte: each is rejected or parsed in time proportional to its length.
#[test]
fn long_texts_are_read_at_once() {
    let classes = |count: u32, parent: &dyn Fn(u32) -> String| -> String {
        let class = |i: u32| format!("class {i:x} {} rate 1mbit ceil 9mbit", parent(i));
        format!("htb {{ {} }}", (1..=count).map(class).collect::<Vec<_>>().join("; "))
    };
    let wide = classes(0xffff, &|_| String::new());
    let named = NamedConfig::parse(&wide).expect("Linux has as many classes");
    assert_eq!(NamedConfig::parse(&named.spelling()).unwrap(), named);
    let two_levels = classes(0xffff, &|i| if i > 255 { format!("parent {:x}", 1 + i % 255) } else { String::new() });
    NamedConfig::parse(&two_levels).unwrap();
    let circle = classes(0xfffe, &|i| format!("parent {:x}", 1 + i % 0xfffe));
    let error = NamedConfig::parse(&circle).unwrap_err().to_string();
    assert!(error.starts_with("class 1: its parents form a loop, 1 below 2 below 3 below"), "{error}");
    assert!(error.ends_with("(65534 classes); attach one of them to the root"), "{error}");
    let chain = classes(0xfffe, &|i| format!("parent {:x}", 1 + i));
    let error = NamedConfig::parse(&chain).unwrap_err().to_string();
    assert!(error.starts_with("class 1: parent ffff is not a class of this htb"), "{error}");
    let words: String = (0..100_000).map(|i| format!(" w{i} {i}")).collect();
    for name in ["codel", "tbf", "netem", "cake", "htb", "prio", "fq", "fq(pie)", "dualpi2", "sch_fq"] {
        let error = NamedConfig::parse(&format!("{name}{words}")).unwrap_err().to_string();
        assert!(error.len() < 900 && error.contains("w0"), "{name}: {error}");
    }
    for text in [
        format!("htb {{ class 1 rate 1mbit{words} }}"),
        format!("prio {{ band 1{} }}", " match dscp EF".repeat(70_000) + " x"),
        format!("prio {{ {} }}", "band 1; ".repeat(100_000)),
        format!("netem loss state{}", " 1%".repeat(200_000)),
        format!("tbf {{ {} }}", "a; ".repeat(100_000)),
        format!("codel {}", "x".repeat(1_000_000)),
        "y".repeat(1_000_000),
        format!("htb {{ class {} }}", "1".repeat(1_000_000)),
    ] {
        let error = NamedConfig::parse(&text).expect_err(&text[..40]).to_string();
        assert!(error.len() < 900, "{} …: {} bytes", &text[..40], error.len());
    }
}
