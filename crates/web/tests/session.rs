//! Requests of a page to a session, and their responses.

use serde_json::{Value, json};
use sojourn_sim::scenario::Scenario;
use sojourn_sim::{Column, Simulation};
use sojourn_web::reply::Reply;
use sojourn_web::session::Session;
use std::path::Path;

/// Odd rates, sizes and delays; responsive and unresponsive flows.
const ODD: &str = r#"
# A line at home.
duration = "7.3 s"

[link]
rate = "3.7 Mbit/s" # as sold
delay = "13 ms"
aqm = "fq_codel target 7ms ecn"
limit = "217 packets"

[[flows]]
kind = "tcp"
count = 3
rtt = "57 ms"
spread = "900 ms"

[[flows]]
kind = "cbr"
rate = "211 kbit/s"
size = "333 B"
start = "1.1 s"
"#;

fn call(session: &mut Session, request: Value) -> Reply {
    session.call(&request).unwrap_or_else(|wrong| panic!("{request}: {}", wrong.0))
}

fn refused(session: &mut Session, request: Value) -> String {
    session.call(&request).expect_err("it is refused").0
}

fn native(text: &str) -> String {
    let scenario = Scenario::parse(text, &[], Path::new("/")).unwrap();
    Simulation::new(&scenario, scenario.seed).finish().summary.fingerprint
}

/// Numbers of a column that a response refers to.
fn numbers(reply: &Reply, value: &Value) -> Vec<f64> {
    match &reply.columns[value["column"].as_u64().expect("a column") as usize] {
        Column::U8(values) => values.iter().map(|&x| x.into()).collect(),
        Column::U16(values) => values.iter().map(|&x| x.into()).collect(),
        Column::U32(values) => values.iter().map(|&x| x.into()).collect(),
        Column::F64(values) => values.clone(),
        Column::U64(_) => unreachable!("a page has no such numbers"),
    }
}

#[test]
fn a_run_that_is_looked_at_is_the_same_run() {
    let mut session = Session::default();
    let opened = call(&mut session, json!({ "op": "open", "text": ODD })).value;
    assert_eq!(opened["duration_ns"], 7_300_000_000u64);
    assert_eq!(opened["checked"]["queues"], json!(["forward", "reverse"]));
    let (mut left, mut views) = (0, 0);
    for step in 1..=300u64 {
        if step % 7 == 0 {
            call(&mut session, json!({ "op": "step" }));
        }
        call(&mut session, json!({ "op": "advance", "until_ns": step * 24_333_333 }));
        let view = call(&mut session, json!({ "op": "view" }));
        if !view.value["events"].is_null() {
            left += numbers(&view, &view.value["events"]["time_ns"]).len();
        }
        for link in view.value["links"].as_array().unwrap() {
            let waiting = numbers(&view, &link["waiting"]["bytes"]);
            assert_eq!(waiting.len() as u64, link["backlog_packets"].as_u64().unwrap());
            assert_eq!(waiting.iter().sum::<f64>() as u64, link["backlog_bytes"].as_u64().unwrap());
            views += 1;
        }
    }
    let finished = call(&mut session, json!({ "op": "finish" })).value;
    assert_eq!(finished["fingerprint"], native(ODD));
    let link = |which: &str| &finished["summary"]["links"][which];
    let all = |which: &str| link(which)["packets"].as_u64().unwrap() + link(which)["dropped"].as_u64().unwrap();
    assert_eq!(left as u64, all("forward") + all("reverse"));
    assert_eq!(views, 600);
}

#[test]
fn a_step_is_the_next_instant_at_which_something_happens_at_a_queue() {
    let mut session = Session::default();
    call(&mut session, json!({ "op": "open", "text": ODD }));
    call(&mut session, json!({ "op": "advance", "until_ns": 3_000_000_000u64 }));
    let counted = |session: &mut Session| {
        let view = call(session, json!({ "op": "view" })).value;
        let link = view["links"][0].clone();
        let dropped: u64 = link["dropped_by"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum();
        (link["arrived"].as_u64().unwrap(), link["sent"].as_u64().unwrap() + dropped)
    };
    let mut before = counted(&mut session);
    for _ in 0..100 {
        call(&mut session, json!({ "op": "step", "link": 0 }));
        let after = counted(&mut session);
        let happened = after.0 + after.1 - before.0 - before.1;
        assert!((1..=3).contains(&happened), "{before:?} to {after:?}");
        before = after;
    }
}

#[test]
fn the_queues_of_flows_are_shown_with_their_deficits() {
    let mut session = Session::default();
    call(&mut session, json!({ "op": "open", "text": ODD }));
    // At a time when more than one flow is in the queue.
    let mut views = (5_000..9_000u64).step_by(17).map(|at_ms| {
        call(&mut session, json!({ "op": "advance", "until_ns": at_ms * 1_000_000 }));
        call(&mut session, json!({ "op": "view" })).value
    });
    let several = |view: &Value| view["links"][0]["parts"].as_array().unwrap().len() >= 2;
    let view = views.find(several).expect("two flows meet");
    let parts = view["links"][0]["parts"].as_array().unwrap();
    let sum = |key: &str| parts.iter().map(|part| part[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("packets"), view["links"][0]["backlog_packets"].as_u64().unwrap());
    assert_eq!(sum("bytes"), view["links"][0]["backlog_bytes"].as_u64().unwrap());
    for part in parts {
        assert!(["new", "old"].contains(&part["list"].as_str().unwrap()), "{part}");
        let deficit = part["deficit"].as_i64().unwrap();
        assert!((-1514..=1514).contains(&deficit), "{part}");
        assert!(part["state"]["count"].is_number(), "{part}");
    }
}

#[test]
fn the_two_queues_of_dualpi2_are_shown() {
    let mut session = Session::default();
    let text = ODD.replace("fq_codel target 7ms ecn", "dualpi2").replace("rtt =", "cc = \"prague\"\nrtt =");
    call(&mut session, json!({ "op": "open", "text": text }));
    call(&mut session, json!({ "op": "advance", "until_ns": 5_000_000_000u64 }));
    let view = call(&mut session, json!({ "op": "view" })).value;
    let kinds: Vec<_> = view["links"][0]["parts"].as_array().unwrap().iter().map(|part| &part["kind"]).collect();
    assert_eq!(kinds, ["L4S", "Classic"]);
}

#[test]
fn edits_keep_what_they_do_not_touch_and_run_as_files() {
    let mut session = Session::default();
    let edits = json!([
        { "set": "link.aqm.target", "value": "9 ms" },
        { "set": "link.rate", "value": "4.1 Mbit/s" },
        { "set": "flows.0.rtt", "value": "61 ms" },
        { "set": "flows.1.start", "value": null },
        { "at_ns": 5_000_000_000u64, "set": "link.rate", "value": "2 Mbit/s" },
        { "at_ns": 3_000_000_000u64, "set": "link.aqm.interval", "value": "50 ms" },
        { "at_ns": 3_000_000_000u64, "set": "reverse.loss", "value": "0.5%" },
    ]);
    let edited = call(&mut session, json!({ "op": "edit", "text": ODD, "edits": edits })).value;
    let edited = edited.as_str().unwrap();
    for line in [
        "# A line at home.",
        "rate = \"4.1 Mbit/s\" # as sold",
        "aqm = \"fq_codel target 9ms\"",
        "rtt = \"61 ms\"",
        "at = \"3 s\"\nlink.aqm = \"fq_codel target 9ms interval 50ms\"\nreverse.loss = \"0.5%\"",
        "at = \"5 s\"\nlink.rate = \"2 Mbit/s\"",
    ] {
        assert!(edited.contains(line), "{line} is not in\n{edited}");
    }
    assert!(!edited.contains("1.1 s"));
    assert!(edited.find("at = \"3 s\"") < edited.find("at = \"5 s\""));
    call(&mut session, json!({ "op": "open", "text": edited, "packets": false }));
    assert_eq!(call(&mut session, json!({ "op": "finish" })).value["fingerprint"], native(edited));
}

#[test]
fn flows_come_and_go_by_companions_of_their_group() {
    let mut session = Session::default();
    let edits = json!([
        { "at_ns": 2_000_000_000u64, "group": 0, "count": 8 },
        { "at_ns": 4_000_000_000u64, "group": 0, "count": 2 },
    ]);
    let edited = call(&mut session, json!({ "op": "edit", "text": ODD, "edits": edits })).value;
    let scenario = Scenario::parse(edited.as_str().unwrap(), &[], Path::new("/")).unwrap();
    let seconds = |span: sojourn_aqm::Duration| span.as_secs_f64();
    let groups: Vec<_> = scenario
        .flows
        .iter()
        .map(|group| (group.traffic.name(), group.count, seconds(group.start), group.stop.map(seconds)))
        .collect();
    let expected =
        [("tcp", 2, 0.0, None), ("cbr", 1, 1.1, None), ("tcp", 5, 2.0, Some(4.0)), ("tcp", 1, 0.0, Some(4.0))];
    assert_eq!(groups, expected);
}

#[test]
fn the_canonical_form_becomes_a_text_that_is_the_same_scenario() {
    let mut session = Session::default();
    let scenario = Scenario::parse(ODD, &[], Path::new("/")).unwrap();
    let text = call(&mut session, json!({ "op": "edit", "text": scenario.canonical(), "edits": [] })).value;
    let text = text.as_str().unwrap();
    assert!(text.starts_with("name = \"\"\nduration = \"7.3 s\""), "{text}");
    assert_eq!(Scenario::parse(text, &[], Path::new("/")).unwrap(), scenario);
}

#[test]
fn recorded_arrivals_through_the_same_queue_leave_as_they_did() {
    let mut session = Session::default();
    let text = ODD.replace("fq_codel target 7ms ecn", "pie");
    let recorded = call(&mut session, json!({ "op": "record", "text": text })).value;
    let same = json!({ "op": "difference", "of": "arrivals", "a": "pie", "b": "pie" });
    assert!(call(&mut session, same).value.is_null());
    call(&mut session, json!({ "op": "replay", "aqm": "pie" }));
    call(&mut session, json!({ "op": "advance", "until_ns": u64::MAX }));
    let replayed = call(&mut session, json!({ "op": "view" }));
    let mut live = Session::default();
    call(&mut live, json!({ "op": "open", "text": text }));
    call(&mut live, json!({ "op": "advance", "until_ns": u64::MAX }));
    let run = call(&mut live, json!({ "op": "view" }));
    for key in ["arrived", "dropped_by", "marked", "sent", "sent_bytes", "sojourn_ns", "backlog_bytes"] {
        assert_eq!(replayed.value["links"][0][key], run.value["links"][0][key], "{key}");
    }
    assert_eq!(recorded["packets"], run.value["links"][0]["arrived"]);
    let links = numbers(&run, &run.value["events"]["link"]);
    for key in ["time_ns", "flow", "fate", "arrival"] {
        let all = numbers(&run, &run.value["events"][key]);
        let first: Vec<_> = all.iter().zip(&links).filter(|(_, link)| **link == 0.0).map(|(x, _)| *x).collect();
        assert_eq!(numbers(&replayed, &replayed.value["events"][key]), first, "{key}");
    }
}

#[test]
fn the_first_difference_is_the_same_on_arrivals_and_in_the_closed_loop() {
    let mut session = Session::default();
    let with = |aqm: &str| ODD.replace("fq_codel target 7ms ecn", aqm);
    let (a, b) = (with("droptail"), with("codel"));
    call(&mut session, json!({ "op": "record", "text": a }));
    let on_arrivals =
        call(&mut session, json!({ "op": "difference", "of": "arrivals", "a": "droptail", "b": "codel" })).value;
    let in_the_loop = call(&mut session, json!({ "op": "difference", "a": a, "b": b })).value;
    assert!(in_the_loop["arrival"].is_number(), "{in_the_loop}");
    for key in ["arrival", "arrived_ns", "flow", "bytes", "ecn"] {
        assert_eq!(on_arrivals[key], in_the_loop[key], "{key}");
    }
    assert_eq!(in_the_loop["a"]["verdict"], "pass");
    assert_eq!((&in_the_loop["b"]["verdict"], &in_the_loop["b"]["reason"]), (&json!("drop"), &json!("late")));
    assert!(call(&mut session, json!({ "op": "difference", "a": b, "b": b })).value.is_null());
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let mut session = Session::default();
    let no_unit = ODD.replace("3.7 Mbit/s", "3.7");
    for (request, part) in [
        (json!({ "op": "check", "text": no_unit }), "link.rate: \"3.7\" has no unit"),
        (
            json!({ "op": "open", "text": "duration = \"1 s\"\n[link]\ntrace = \"a.down\"" }),
            "\"a.down\" is missing here",
        ),
        (json!({ "op": "advance", "until_ns": 1 }), "nothing is open"),
        (json!({ "op": "open", "text": ODD, "seed": -1 }), "seed: -1"),
        (json!({ "op": "edit", "text": ODD, "edits": [{ "set": "flows.7.rtt", "value": "1 ms" }] }), "flows.7.rtt"),
        (json!({ "op": "fly" }), "unknown operation \"fly\""),
        (json!({ "op": "record", "text": ODD.replace("3.7 Mbit/s", "3 Mbit/s@0s,1 Mbit/s@2s") }), "constant rate"),
    ] {
        let message = refused(&mut session, request.clone());
        assert!(message.contains(part), "{request}: {message}");
    }
}

#[test]
fn a_trace_is_given_as_bytes() {
    let mut session = Session::default();
    session.add_file("home.down".into(), (1..=997).map(|ms| format!("{}\n", ms * 3)).collect::<String>().into_bytes());
    let text = ODD.replace("rate = \"3.7 Mbit/s\" # as sold", "trace = \"home.down\"");
    call(&mut session, json!({ "op": "open", "text": text, "packets": false }));
    let in_memory = call(&mut session, json!({ "op": "finish" })).value;
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (1..=997).map(|ms| format!("{}\n", ms * 3)).collect();
    std::fs::write(folder.path().join("home.down"), lines).unwrap();
    let scenario = Scenario::parse(&text, &[], folder.path()).unwrap();
    assert_eq!(in_memory["fingerprint"], Simulation::new(&scenario, 1).finish().summary.fingerprint);
}

/// Unbounded nesting is rejected in one line, by every request that parses a text.
#[test]
fn nothing_is_nested_without_end() {
    let mut session = Session::default();
    let with = |aqm: &str| ODD.replace("fq_codel target 7ms ecn", aqm);
    let deepest = with(&format!("{}pie{}", "netem { ".repeat(64), " }".repeat(64)));
    call(&mut session, json!({ "op": "open", "text": deepest }));
    call(&mut session, json!({ "op": "advance", "until_ns": 2_000_000_000u64 }));
    let one_line = |message: String, expected: &str| {
        assert!(message.ends_with(expected) && !message.contains('\n'), "{message:?}")
    };
    for open in ["netem { ", "tbf rate 9mbit burst 9kB { ", "prio { band 1 { ", "fq(", "htb { class 1 rate 1mbit { "] {
        let text = with(&open.repeat(40_000));
        let expected = "link.aqm: queue managers are nested more than 64 deep; use fewer levels";
        one_line(refused(&mut session, json!({ "op": "check", "text": text })), expected);
        one_line(refused(&mut session, json!({ "op": "open", "text": text })), expected);
        let edits = json!([{ "set": "link.aqm", "value": open.repeat(3_000) }]);
        one_line(refused(&mut session, json!({ "op": "edit", "text": ODD, "edits": edits })), expected);
    }
    for text in [format!("a = {}", "[".repeat(90_000)), vec!["a"; 9_000].join("."), "{\"a\":".repeat(900)] {
        for op in ["check", "open", "edit"] {
            let message = refused(&mut session, json!({ "op": op, "text": text, "edits": [] }));
            one_line(message, "tables or lists are nested more than 64 deep; write them flatter");
        }
    }
    let edits = json!([{ "set": vec!["a"; 90_000].join("."), "value": 1 }]);
    one_line(refused(&mut session, json!({ "op": "edit", "text": ODD, "edits": edits })), "write e.g. link.rate");
}
