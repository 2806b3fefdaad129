//! Several bottlenecks in a row: routes, delays and shares.

use crate::common::{run, whole};
use sojourn_sim::Links;

/// Three hops with 8, 4 and 2 Mbit/s forward, 10 ms in each direction, 8 Mbit/s back.
const ROW: &str = r#"
    [link]
    rate = "8 Mbit/s"
    delay = "10 ms"
    [[links]]
    name = "second"
    rate = "4 Mbit/s"
    delay = "10 ms"
    reverse = { rate = "8 Mbit/s" }
    [[links]]
    name = "third"
    rate = "2 Mbit/s"
    delay = "10 ms"
    reverse = { rate = "8 Mbit/s" }
"#;

#[test]
fn a_packet_takes_the_sum_of_the_links_on_its_route() {
    // Microseconds per byte: 1, 2 and 4 forward, 1 each back.
    for (route, forward_us, back_us) in [
        (r#"["link", "second", "third"]"#, 7, 3),
        (r#"["link", "second"]"#, 3, 2),
        (r#"["second", "third"]"#, 6, 2),
        (r#"["third"]"#, 4, 1),
        (r#"["link"]"#, 1, 1),
    ] {
        let hops = route.matches(',').count() as u64 + 1;
        for (direction, data_us, ack_us) in [("forward", forward_us, back_us), ("reverse", back_us, forward_us)] {
            let output = run(&format!(
                "duration = \"2 s\"\n{ROW}\n[[flows]]\nkind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\n\
                 size = \"1000 B\"\ndirection = \"{direction}\"\n\
                 route = {route}\naccess_delay = \"5 ms\"\n[probes]\ntransfers = true"
            ));
            // SYN, SYN-ACK; on slower links the acknowledgment is gone before the data arrives.
            let one_way_delay = |bytes: u64, us: u64| bytes * us * 1000 + hops * 10_000_000 + 5_000_000;
            let first_us = if hops == 1 { data_us } else { first_link_us(route, direction) };
            let behind_ack = 52 * first_us * 1000;
            let found = whole(&output, "transfers", "duration_ns");
            let [time] = found[..] else { panic!("one transfer: {found:?}") };
            let least =
                one_way_delay(60, data_us) + one_way_delay(60, ack_us) + one_way_delay(1052, data_us) + behind_ack;
            // On a link slower than the one before, the data may wait slightly longer for the acknowledgment.
            assert!(
                time >= least && time <= least + 52 * 4 * 1000,
                "{route} {direction}: {time} ns, expected {least} ns"
            );
        }
    }
}

/// Microseconds per byte on the first link that data crosses.
fn first_link_us(route: &str, direction: &str) -> u64 {
    match direction {
        "forward" if route.starts_with(r#"["second"#) => 2,
        _ => 1,
    }
}

#[test]
fn only_the_links_on_the_route_see_a_flow() {
    let output = run(&format!(
        r#"
        duration = "10 s"
        {ROW}
        [[flows]]
        kind = "cbr"
        rate = "1 Mbit/s"
        size = "1000 B"
        route = ["link", "second", "third"]
        [[flows]]
        kind = "cbr"
        rate = "1.6 Mbit/s"
        size = "1000 B"
        route = ["second"]
        [[flows]]
        kind = "cbr"
        rate = "0.5 Mbit/s"
        size = "1000 B"
        direction = "reverse"
        route = ["second", "third"]
        [probes]
        packets = true
        queue = "10 s"
        "#
    ));
    let summary = &output.summary;
    let [second, third] = &summary.hops[..] else { panic!("two more hops") };
    assert_eq!((second.name.as_str(), third.name.as_str()), ("second", "third"));
    let used = |links: &Links| (links.forward.utilisation, links.reverse.utilisation);
    for (links, (forward, reverse)) in
        [(&summary.links, (1.0 / 8.0, 0.0)), (&second.links, (2.6 / 4.0, 0.5 / 8.0)), (&third.links, (0.5, 0.5 / 8.0))]
    {
        let found = used(links);
        assert!((found.0 - forward).abs() < 2e-3 && (found.1 - reverse).abs() < 2e-3, "{found:?}");
    }
    let [link, flow] = ["link", "flow"].map(|name| whole(&output, "packets", name));
    let seen: std::collections::BTreeSet<(u64, u64)> = flow.into_iter().zip(link).collect();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [(0, 0), (0, 2), (0, 4), (1, 2), (2, 3), (2, 5)]);
    assert_eq!(whole(&output, "queue", "link"), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn packets_are_conserved_on_every_hop() {
    let output = run(&format!(
        r#"
        duration = "20 s"
        {ROW}
        aqm = "codel"
        [[flows]]
        kind = "tcp"
        stack = "linux-2.6.29"
        cc = "reno"
        count = 3
        rtt = "80 ms"
        route = ["link", "second", "third"]
        [[flows]]
        kind = "tcp"
        stack = "linux-2.6.29"
        cc = "reno"
        count = 2
        rtt = "40 ms"
        route = ["link"]
        [[flows]]
        kind = "web"
        stack = "linux-2.6.29"
        cc = "reno"
        interval = "100 ms"
        size = "20 kB"
        rtt = "40 ms"
        direction = "reverse"
        route = ["second", "third"]
        [probes]
        queue = "20 s"
        "#
    ));
    let waiting = whole(&output, "queue", "packets");
    let hops = std::iter::once(&output.summary.links).chain(output.summary.hops.iter().map(|hop| &hop.links));
    let links: Vec<_> = hops.flat_map(|links| [&links.forward, &links.reverse]).collect();
    for (link, waiting) in links.iter().zip(waiting) {
        assert!(link.arrived > 100 && link.arrived == link.packets + link.dropped + waiting, "{link:?}");
    }
    assert!(links[4].dropped > 0, "CoDel on the third hop: {:?}", links[4]);
}

#[test]
fn a_flow_over_three_bottlenecks_gets_less_than_each_flow_across_one() {
    // Equal links, one long flow against one flow on each hop: the long one faces three queues, with losses in each.
    let link = "rate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nlimit = \"60 packets\"\n";
    let mut text = format!("duration = \"100 s\"\nwarmup = \"20 s\"\n[link]\n{link}");
    for name in ["b", "c"] {
        text += &format!("[[links]]\nname = \"{name}\"\n{link}");
    }
    for route in [r#"["link", "b", "c"]"#, r#"["link"]"#, r#"["b"]"#, r#"["c"]"#] {
        text += &format!(
            "[[flows]]\nkind = \"tcp\"\nstack = \"linux-2.6.29\"\ncc = \"reno\"\nroute = {route}\n\
        rtt = \"40 ms\"\nspread = \"1 s\"\n"
        );
    }
    let summary = run(&text).summary;
    let rates: Vec<f64> = summary.flows.iter().map(|flow| flow.payload.goodput_bps).collect();
    assert!(rates[1..].iter().all(|&cross| cross > 1.5 * rates[0]), "{rates:?}");
    for links in std::iter::once(&summary.links).chain(summary.hops.iter().map(|hop| &hop.links)) {
        assert!(links.forward.utilisation > 0.9, "{}", links.forward.utilisation);
    }
}
