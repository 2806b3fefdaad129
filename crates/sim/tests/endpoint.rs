//! Programs that a run calls: their order in time, and what a run without them does.

use crate::common::scenario;
use sojourn_aqm::{Duration, Instant};
use sojourn_sim::Simulation;
use sojourn_sim::endpoint::{Cx, Endpoint, Received, Transmit};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// Sends datagrams in bursts and notes the times of all its calls in a list that both ends share.
struct Noting {
    times: Arc<Mutex<Vec<Instant>>>,
    peer: Option<SocketAddr>,
    next: Option<Instant>,
    left: u32,
}

impl Noting {
    fn note(&mut self, cx: &Cx<'_>) {
        self.peer = Some(cx.peer());
        self.times.lock().expect("one thread").push(cx.now());
    }
}

impl Endpoint for Noting {
    fn begin(&mut self, cx: &mut Cx<'_>) {
        self.note(cx);
    }

    fn on_datagram(&mut self, cx: &mut Cx<'_>, _: Received<'_>) {
        self.note(cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.note(cx);
        if self.next.is_some_and(|next| next <= cx.now()) {
            self.next = Some(cx.now() + Duration::from_micros(4_321));
            self.left = 7;
        }
    }

    fn poll_transmit(&mut self, _: Instant, into: &mut Vec<u8>) -> Option<Transmit> {
        self.left = self.left.checked_sub(1)?;
        into.resize(613, 1);
        self.peer.map(Transmit::to)
    }

    fn wake_at(&mut self) -> Option<Instant> {
        self.next
    }
}

#[test]
fn programs_act_in_order_of_time() {
    let text = "duration = \"3 s\"\n[link]\nrate = \"9 Mbit/s\"\ndelay = \"17 ms\"\n[[flows]]\nkind = \"endpoint\"\n\
                name = \"call\"\n[[flows]]\nkind = \"tcp\"\n";
    let scenario = scenario(text);
    let mut simulation = Simulation::new(&scenario, 3);
    let times = Arc::new(Mutex::new(Vec::new()));
    let program = |next: Option<Instant>| -> Box<dyn Endpoint> {
        Box::new(Noting { times: Arc::clone(&times), peer: None, next, left: 0 })
    };
    let ends = simulation.ends(0, 0).expect("it is an endpoint");
    assert!(simulation.ends(1, 0).is_none() && simulation.ends(0, 1).is_none());
    simulation.attach(ends, [program(Some(Instant::ZERO)), program(None)]);
    let output = simulation.finish();
    let times = times.lock().expect("one thread");
    assert!(times.is_sorted(), "a program acted before another that was earlier");
    assert!(times.len() > 3_000 && output.summary.groups[0].sent > 4_000, "{}", times.len());
}

#[test]
fn a_run_without_programs_is_one_of_the_others() {
    let tcp = "[[flows]]\nkind = \"tcp\"\nrtt = \"30 ms\"\n";
    let link = "duration = \"5 s\"\nseed = 4\n[link]\nrate = \"9 Mbit/s\"\naqm = \"codel\"\n";
    let with = scenario(&format!("{link}{tcp}[[flows]]\nkind = \"endpoint\"\nname = \"call\"\n"));
    let without = scenario(&format!("{link}{tcp}"));
    let goodput = |scenario| Simulation::new(scenario, 4).finish().summary.groups[0].payload.bytes;
    assert_eq!(goodput(&with), goodput(&without));
}

#[test]
fn what_an_endpoint_cannot_be_is_refused() {
    let parse = |keys: &str| {
        let text = format!("duration = \"1 s\"\n[link]\nrate = \"9 Mbit/s\"\n[[flows]]\nkind = \"endpoint\"\n{keys}\n");
        sojourn_sim::scenario::Scenario::parse(&text, &[], std::path::Path::new("."))
            .map(|scenario| scenario.canonical())
    };
    for (keys, error) in [
        ("", "flows[0].name: missing; write e.g. name = \"call\""),
        (
            "name = \"A\"",
            "flows[0].name: \"A\" is not a name; write at most 32 lower-case letters, digits and underscores, e.g. \"call\"",
        ),
        ("name = \"link\"", "flows[0].name: \"link\" has another meaning in sentences; write another name"),
        (
            "name = \"call\"\n[[flows]]\nkind = \"endpoint\"\nname = \"call\"",
            "flows[1].name: \"call\" is another group's already; write another name",
        ),
        (
            "name = \"call\"\naddress = [\"10.0.0.1\"]",
            "flows[0].address: 1 addresses; write e.g. [\"10.1.0.1\", \"10.1.0.2\"]",
        ),
        (
            "name = \"call\"\naddress = [\"10.0.0.1\", \"2001:db8::1\"]",
            "flows[0].address: 10.0.0.1 and 2001:db8::1 are of different families; write e.g. [\"10.1.0.1\", \"10.1.0.2\"]",
        ),
        (
            "name = \"call\"\naddress = [\"10.0.0.1\", \"10.0.0.1\"]",
            "flows[0].address: 10.0.0.1 is given twice; write e.g. [\"10.1.0.1\", \"10.1.0.2\"]",
        ),
        (
            "name = \"call\"\ntags = [\"sink\"]",
            "flows[0].tags: \"sink\" has another meaning already; write another name",
        ),
        (
            "name = \"call\"\nevents = [{ at = \"1 s\" }]",
            "flows[0].events: an event has none of rebind, path and down; write e.g. { at = \"3 s\", rebind = \"port\" }",
        ),
        (
            "name = \"call\"\nevents = [{ at = \"1 s\", rebind = \"nat\" }]",
            "flows[0].events: rebind is \"nat\", neither \"port\" nor \"address\"; write e.g. { at = \"3 s\", rebind = \"port\" }",
        ),
        (
            "name = \"call\"\nsocket_buffer = \"9 kB\"",
            "flows[0].socket_buffer: needs access_rate, because packets leave the host at once without one; leave it out",
        ),
        (
            "name = \"call\"\nmtu = \"1000 B\"\naddress = [\"2001:db8::1\", \"2001:db8::2\"]",
            "flows[0].mtu: IPv6 needs at least 1280 B; write a larger one",
        ),
        ("name = \"call\"\ncc = \"cubic\"", "flows[0].cc: not a key of endpoint flows; leave it out"),
    ] {
        assert_eq!(parse(keys).expect_err(keys).to_string(), error);
    }
    let keys = "name = \"call\"\ntags = [\"rtp\"]\naddress = [\"10.3.0.1\", \"10.3.0.2\"]\noversize = \"report\"\n\
                events = [{ at = \"0.5 s\", down = \"10 ms\" }, { at = \"0.2 s\", rebind = \"address\" }]";
    let canonical = parse(keys).expect("it is valid");
    let again =
        sojourn_sim::scenario::Scenario::parse(&canonical, &[], std::path::Path::new(".")).expect("it is canonical");
    assert_eq!(again.canonical(), canonical);
    assert!(
        canonical.contains(r#""events":[{"at":"200 ms","rebind":"address"},{"at":"500 ms","down":"10 ms"}]"#),
        "{canonical}"
    );
}
