//! Worlds for endpoints: queue managers, competitors, paths, changes, wireless LANs, media.

/// Group of flows whose ends are quinn's, as keys of a scenario.
const QUINN: &str = "kind = \"tcp\"\nstack = \"quinn\"\ncc = \"cubic\"\n";

/// Names and texts of 42 worlds with QUIC flows of quinn in the first group.
pub fn quinn_worlds() -> Vec<(String, String)> {
    worlds(QUINN)
}

/// The same worlds with other keys in place of quinn's.
pub fn worlds(keys: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for aqm in ["droptail", "codel", "fq_codel", "pie", "red", "cake", "dualpi2"] {
        for count in [1, 4] {
            for competitor in ["", "[[flows]]\nkind = \"tcp\"\nrtt = \"31 ms\"\n"] {
                let beside = if competitor.is_empty() { "alone" } else { "beside cubic" };
                let text = format!(
                    "duration = \"7 s\"\n[link]\nrate = \"{}.3 Mbit/s\"\naqm = \"{aqm}\"\nlimit = \"113 packets\"\n\
                     [[flows]]\n{keys}rtt = \"23 ms\"\ncount = {count}\nspread = \"0.7 s\"\n{competitor}",
                    7 + count
                );
                found.push((format!("{aqm}, {count}, {beside}"), text));
            }
        }
    }
    found.extend(others(keys).map(|(name, text)| (name.to_string(), text)));
    found
}

fn others(keys: &str) -> impl Iterator<Item = (&'static str, String)> {
    let flow = |more: &str| format!("[[flows]]\n{keys}spread = \"0.4 s\"\n{more}\n");
    let link = "duration = \"6 s\"\n[link]\nrate = \"11 Mbit/s\"\ndelay = \"9 ms\"\naqm = \"fq_codel\"\n";
    let nodes = "duration = \"6 s\"\n[[nodes]]\nname = \"a\"\n[[nodes]]\nname = \"b\"\n[[nodes]]\nname = \"c\"\n\
                 [[links]]\nname = \"ab\"\nfrom = \"a\"\nto = \"b\"\nrate = \"9 Mbit/s\"\ndelay = \"3 ms\"\naqm = \"codel\"\n\
                 [[links]]\nname = \"bc\"\nfrom = \"b\"\nto = \"c\"\nrate = \"6.1 Mbit/s\"\ndelay = \"5 ms\"\naqm = \"pie\"\n\
                 reverse = { rate = \"2 Mbit/s\", limit = \"40 packets\" }\n";
    let (through, across) = ("from = \"a\"\nto = \"c\"\n", "[[flows]]\nkind = \"tcp\"\nfrom = \"b\"\nto = \"c\"\n");
    let wlan = "duration = \"5 s\"\n[wlan]\n[[wlan.stations]]\nrate = \"54 Mbit/s\"\n[[wlan.stations]]\nrate = \"12 Mbit/s\"\n";
    let aggregates = "duration = \"4 s\"\n[wlan]\nqueues = \"airtime\"\n[[wlan.stations]]\nrate = \"mcs15\"\n\
                      [[wlan.stations]]\nrate = \"mcs7\"\nsnr = \"18 dB\"\nfading = \"3 dB\"\ncoherence = \"50 ms\"\n\
                      [link]\naqm = \"fq_codel\"\n";
    let uplink = "[[flows]]\nkind = \"tcp\"\ndirection = \"reverse\"\ncount = 2\n";
    let changes =
        "[[changes]]\nat = \"2.1 s\"\nlink.rate = \"2.3 Mbit/s\"\n[[changes]]\nat = \"4 s\"\nlink.delay = \"31 ms\"\n";
    [
        ("graph", format!("{nodes}{}", flow(through))),
        ("graph, across", format!("{nodes}{}{across}", flow(&format!("{through}count = 3")))),
        ("graph, back", format!("{nodes}{}{across}", flow("from = \"c\"\nto = \"a\"\nrtt = \"41 ms\""))),
        ("changes", format!("{link}{changes}{}", flow("rtt = \"27 ms\""))),
        ("changes, two", format!("{link}{changes}{}[[flows]]\nkind = \"tcp\"\n", flow("count = 2"))),
        ("changes, back", format!("{link}{changes}{}", flow("direction = \"reverse\""))),
        ("wireless LAN", format!("{wlan}{}", flow("rtt = \"13 ms\""))),
        ("wireless LAN, up", format!("{wlan}{}", flow("direction = \"reverse\"\ncount = 2\nrtt = \"13 ms\""))),
        (
            "wireless LAN, both",
            format!("{wlan}{}[[flows]]\nkind = \"tcp\"\ndirection = \"reverse\"\n", flow("count = 2")),
        ),
        ("aggregates", format!("{aggregates}{}{uplink}", flow("count = 3\nrtt = \"17 ms\""))),
        (
            "aggregates, up",
            format!("{aggregates}{}[[flows]]\nkind = \"tcp\"\n", flow("count = 3\ndirection = \"reverse\"")),
        ),
        ("media", format!("{link}{}[[flows]]\nkind = \"media\"\ncontrol = \"gcc\"\nrtt = \"30 ms\"\n", flow(""))),
        (
            "media, marks",
            format!(
                "{}{}[[flows]]\nkind = \"media\"\ncontrol = \"scream\"\n",
                link.replace("fq_codel", "dualpi2"),
                flow("ecn = true\nrtt = \"20 ms\"")
            ),
        ),
        ("losses", format!("{link}loss = \"1%\"\n{}", flow("rtt = \"20 ms\"\ncount = 2\naccess_rate = \"8 Mbit/s\""))),
    ]
    .into_iter()
}
