//! `sojourn_net.h`: layout and constants, a program in C beside the same ones in Rust, and invalid calls.
#![cfg(all(target_os = "linux", feature = "net"))]

#[path = "../../net/tests/common/mod.rs"]
mod drives;

use crate::common::{
    HERE, assert_values_in_c, command, compile, constants, fields_in_structs, header_text, succeeds, valgrind,
    without_comments,
};
use drives::{Echo, Paced, Programs, pulled};
use sojourn_capi::net::{self, DatagramView, EventView, Kind};
use sojourn_net::{Duration, Net};
use std::mem::offset_of;
use std::path::Path;

/// C expressions for sizes and offsets, and their values in Rust.
fn layout() -> Vec<(String, i64)> {
    let mut facts = Vec::new();
    macro_rules! layout {
        ($c:literal, $type:ty, $($field:ident),+) => {
            facts.push((format!("sizeof({})", $c), size_of::<$type>() as i64));
            $( facts.push((format!("offsetof({}, {})", $c, stringify!($field)), offset_of!($type, $field) as i64)); )+
        };
    }
    layout!("sojourn_datagram", DatagramView, size, ecn, tag, reserved, segment_size, reserved_2, at, length, bytes);
    layout!("sojourn_datagram", DatagramView, remote, local);
    layout!("sojourn_event", EventView, size, kind, end, ecn, tag, reserved, mtu, reserved_2, now, length, bytes);
    layout!("sojourn_event", EventView, remote, local);
    facts
}

fn numbers() -> Vec<(&'static str, i64)> {
    use sojourn_net::Ecn;
    let [invalid, refused, unknown, busy, panicked, failed] = net::SHARED_ERRORS.map(i64::from);
    vec![
        ("ABI", net::ABI.into()),
        ("NEVER", net::NEVER),
        ("NOT_ECT", Ecn::NotEct as i64),
        ("ECT1", Ecn::Ect1 as i64),
        ("ECT0", Ecn::Ect0 as i64),
        ("CE", Ecn::Ce as i64),
        ("HOLDS", net::HOLDS.into()),
        ("BROKEN", net::BROKEN.into()),
        ("INVALID", invalid),
        ("REFUSED", refused),
        ("UNKNOWN", unknown),
        ("BUSY", busy),
        ("PANICKED", panicked),
        ("FAILED", failed),
        ("WOULD_BLOCK", net::WOULD_BLOCK.into()),
        ("FAULT", net::FAULT.into()),
        ("ENDED", net::ENDED.into()),
        ("END", Kind::End as i64),
        ("BEGIN", Kind::Begin as i64),
        ("WAKE", Kind::Wake as i64),
        ("ROOM", Kind::Room as i64),
        ("STOP", Kind::Stop as i64),
        ("DATAGRAM", Kind::Datagram as i64),
        ("TOO_BIG", Kind::TooBig as i64),
    ]
}

#[test]
fn sizes_offsets_and_numbers_are_those_of_the_compiled_header() {
    let numbers = numbers().into_iter().map(|(name, value)| (format!("SOJOURN_NET_{name}"), value));
    let expected: Vec<(String, i64)> = layout().into_iter().chain(numbers).collect();
    assert_values_in_c("sojourn_net.h", &expected);
}

#[test]
fn every_number_field_and_function_of_the_header_is_compared() {
    let header = header_text("sojourn_net.h");
    let compared = numbers();
    for name in constants(&header, "SOJOURN_NET_").filter(|&name| name != "H") {
        assert!(compared.iter().any(|&(known, _)| known == name), "SOJOURN_NET_{name} is not compared");
    }
    let fields = layout().iter().filter(|(name, _)| name.starts_with("offsetof")).count();
    assert_eq!(fields_in_structs(&without_comments(&header)), fields);
    let source = include_str!("../src/net.rs");
    for (name, _) in header.split("sojourn_net_").skip(1).filter_map(|part| part.split_once('(')) {
        if name.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
            assert!(source.contains(&format!("extern \"C\" fn sojourn_net_{name}(")), "{name}");
        }
    }
}

/// The output of examples/c/net_echo.c, by the same programs in Rust.
fn in_rust(seed: u64) -> (String, String) {
    let code = std::fs::read_to_string(Path::new(HERE).join("../../examples/c/net_echo.c")).expect("it is there");
    let world = code.split_once("world =").expect("it has a world").1.split_once(";\n").expect("it ends").0;
    let world: String = world.lines().map(|line| line.trim().trim_matches('"').replace("\\n", "\n")).collect();
    let net = Net::parse(&world, seed).expect("the world is valid");
    let tag = net.tag("call", "voice").expect("the tag is there");
    let ends: Vec<_> = net.ends().collect();
    let paced = Tagged(Paced::new(1_172, Duration::from_nanos(2_345_678)), tag);
    let programs: Programs = [(ends[0], Box::new(paced) as _), (ends[1], Box::new(Echo::default()) as _)].into();
    let report = pulled(net, programs).expect("no program fails");
    (report.decisions(), report.fingerprint().to_string())
}

/// A paced sender whose datagrams have a tag.
struct Tagged(Paced, u8);

impl sojourn_net::Endpoint for Tagged {
    fn begin(&mut self, cx: &mut sojourn_net::Cx<'_>) {
        self.0.begin(cx);
    }

    fn on_datagram(&mut self, cx: &mut sojourn_net::Cx<'_>, datagram: sojourn_net::Received<'_>) {
        self.0.on_datagram(cx, datagram);
    }

    fn on_wake(&mut self, cx: &mut sojourn_net::Cx<'_>) {
        self.0.on_wake(cx);
    }

    fn poll_transmit(&mut self, now: sojourn_net::Instant, into: &mut Vec<u8>) -> Option<sojourn_net::Transmit> {
        let transmit = self.0.poll_transmit(now, into)?;
        Some(sojourn_net::Transmit { tag: self.1, ..transmit })
    }

    fn wake_at(&mut self) -> Option<sojourn_net::Instant> {
        self.0.wake_at()
    }
}

#[test]
fn a_program_in_c_has_the_fingerprint_of_its_like_in_rust_by_pull_and_by_follow() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let source = Path::new(HERE).join("../../examples/c/net_echo.c");
    assert!(std::fs::read_to_string(&source).expect("it is there").lines().count() <= 120);
    let program = compile(folder.path(), &source);
    for seed in [1, 7] {
        let (decisions, run) = in_rust(seed);
        for drive in ["pull", "follow"] {
            let printed = succeeds(command(folder.path(), &program).args([&seed.to_string(), drive]));
            assert!(printed.ends_with(&format!(", decisions {decisions}, run {run}\n")), "{seed} {drive}: {printed}");
        }
    }
}

#[test]
fn calls_that_cannot_be_are_refused_by_number_and_text() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = compile(folder.path(), &Path::new(HERE).join("tests/net_misuse.c"));
    let mut plain = command(folder.path(), &program);
    succeeds(plain.env("SOJOURN_NET_OUT", folder.path()));
    let Some(valgrind) = valgrind() else { return };
    let mut watched = command(folder.path(), valgrind);
    let options = [
        "-q",
        "--error-exitcode=99",
        "--leak-check=full",
        "--show-leak-kinds=definite,indirect",
        "--errors-for-leak-kinds=definite",
    ];
    succeeds(watched.env("SOJOURN_NET_OUT", folder.path()).args(options).arg(&program));
}
