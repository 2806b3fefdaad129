//! Changes of a running direction: decided as in a simulation with the same planned changes, and logged.

use super::*;
use sojourn_aqm::registry::REGISTERED;
use sojourn_sim::scenario::Scenario;
use sojourn_sim::{Output, Simulation};

const LINK: &str = "rate = \"7300001 bit/s\"\ndelay = \"3 ms\"\naqm = \"codel target 3ms interval 30ms\"\n";

/// Odd instants in nanoseconds, and the changes at them: the rate within packets, twice in one, a codel that keeps its
/// count, another queue manager and back, a smaller limit, losses, delays, a pause.
const CHANGES: [(u64, &str); 13] = [
    (311_111_113, r#"{ "rate": "3 Mbit/s" }"#),
    (311_400_007, r#"{ "rate": "4777777 bit/s" }"#),
    (500_000_003, r#"{ "aqm": "codel target 11ms interval 30ms" }"#),
    (700_123_457, r#"{ "delay": "17 ms" }"#),
    (911_000_001, r#"{ "loss": "7%" }"#),
    (1_130_000_011, r#"{ "aqm": "pie", "limit": "55 packets" }"#),
    (1_500_000_001, r#"{ "rate": "0 bit/s" }"#),
    (1_600_000_009, r#"{ "rate": "9 Mbit/s" }"#),
    (1_733_333_337, r#"{ "limit": "9 packets" }"#),
    (1_777_777_777, r#"{ "loss": { "p": 0.02, "r": 0.3 } }"#),
    (1_900_000_037, r#"{ "aqm": "codel@linux", "rate": "5 Mbit/s" }"#),
    (2_050_000_043, r#"{ "delay": "1 ms" }"#),
    (2_200_000_003, r#"{ "aqm": "netem delay 4ms 1ms rate 4mbit" }"#),
];

fn simulated() -> Output {
    let entry = |(ns, keys): &(u64, &str)| {
        let keys: serde_json::Map<String, serde_json::Value> = serde_json::from_str(keys).unwrap();
        json!({ "at": format!("{ns} ns"), "link": keys })
    };
    let mut document: serde_json::Value = json!({
        "duration": "2.5 s", "warmup": "0 s", "reverse": { "rate": "100 Mbit/s" },
        "flows": [
            { "kind": "poisson", "rate": "8 Mbit/s", "size": "777 B" },
            { "kind": "cbr", "rate": "1.1 Mbit/s", "size": "1500 B", "start": "11 ms" },
        ],
        "probes": { "packets": true },
        "changes": CHANGES.iter().map(entry).collect::<Vec<_>>(),
    });
    let link = LINK.lines().filter_map(|line| line.split_once(" = "));
    document["link"] = link.map(|(key, value)| (key.to_string(), json!(value.trim_matches('"')))).collect();
    let scenario = Scenario::parse(&document.to_string(), &[], Path::new("/")).unwrap();
    Simulation::new(&scenario, 7).finish()
}

fn u64s(output: &Output, table: &str, name: &str) -> Vec<u64> {
    let table = output.tables.iter().find(|found| found.name == table).unwrap();
    table.columns.iter().find(|(found, _)| found == name).unwrap().1.wholes().expect("no floats are asked for")
}

/// Fates of packets: number, time, kind.
type Fates = Vec<(u64, u64, u64)>;

fn arrivals_and_fates(output: &Output) -> (Vec<(u64, u64)>, Fates) {
    let all = |table: &str, name: &str| u64s(output, table, name);
    let [time, link, bytes, sojourn, fate, arrival] =
        ["time_ns", "link", "bytes", "sojourn_ns", "fate", "arrival"].map(|name| all("packets", name));
    let forward = || (0..time.len()).filter(|&i| link[i] == 0);
    let mut arrivals: Vec<(u64, u64, u64)> = forward().map(|i| (arrival[i], time[i] - sojourn[i], bytes[i])).collect();
    for (i, &number) in all("waiting", "arrival").iter().enumerate() {
        if all("waiting", "link")[i] == 0 {
            arrivals.push((number, all("waiting", "time_ns")[i], all("waiting", "bytes")[i]));
        }
    }
    arrivals.sort_unstable();
    let mut fates: Fates = forward().map(|i| (arrival[i], time[i], fate[i])).collect();
    fates.sort_unstable();
    (arrivals.into_iter().map(|(_, at, bytes)| (at, bytes)).collect(), fates)
}

/// Log of a direction with the same arrivals and changes.
fn emulated(arrivals: &[(u64, u64)]) -> (serde_json::Value, Vec<Record>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    let mut config = config(link(&LINK.replace('\n', ";")), 50);
    config.logs = vec![LogConfig { path: path.clone(), format: LogFormat::Records, command: "test".into() }];
    let mut direction = Direction::new(config, 7).unwrap();
    let mut kernel = RecordingSink::default();
    let run_until = |direction: &mut Direction, ns: u64, kernel: &mut RecordingSink| {
        while let Some(due) = direction.due().filter(|&due| due < at(ns)) {
            direction.run(due, kernel);
        }
    };
    let mut changes = CHANGES.iter().peekable();
    for (seq, &(ns, bytes)) in (0..).zip(arrivals) {
        while let Some((then, keys)) = changes.next_if(|&&(then, _)| then <= ns) {
            run_until(&mut direction, *then, &mut kernel);
            direction.change(at(*then), &serde_json::from_str(keys).unwrap(), REGISTERED).unwrap();
        }
        run_until(&mut direction, ns, &mut kernel);
        let payload = vec![1; bytes as usize - 52];
        direction.arrive(at(ns), buffer(&TcpFrame { seq: 1448 * seq, payload, ..TcpFrame::default() }.frame()));
    }
    assert_eq!(changes.next(), None, "every change was made");
    run_until(&mut direction, 2_500_000_000, &mut kernel);
    assert_eq!(direction.finish().log_error, None);
    crate::log::read(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_link_that_is_changed_by_hand_decides_as_a_simulation_with_these_changes() {
    let output = simulated();
    let (arrivals, expected) = arrivals_and_fates(&output);
    let (head, records) = emulated(&arrivals);
    // In results, fate 6 is a drop by another tool; the fate of a replaced queue's packets is 7.
    let fate = |kind: Logged| if kind == Logged::Replaced { 7 } else { kind as u64 };
    let is_fate = |record: &&Record| (record.kind as u8) < 16 && record.at < at(2_500_000_000);
    let mut found: Fates = records
        .iter()
        .filter(is_fate)
        .map(|record| (record.number.into(), record.at.as_nanos(), fate(record.kind)))
        .collect();
    found.sort_unstable();
    assert_eq!(found.len(), expected.len());
    let first = found.iter().zip(&expected).position(|(a, b)| a != b);
    assert_eq!(first.map(|i| (found[i], expected[i])), None);
    let of = |fate: u64| expected.iter().filter(|&&(.., found)| found == fate).count();
    assert!([0, 2, 3, 4, 7].into_iter().all(|fate| of(fate) > 0), "every fate occurs: {:?}", [0, 2, 3, 4, 7].map(of));
    let lost = records.iter().filter(|record| record.kind == Logged::Lost && record.at < at(2_500_000_000)).count();
    let in_transmission = output.summary.links.forward.lost as i64 - lost as i64;
    assert!((0..=1).contains(&in_transmission) && lost > 20, "{lost}");
    // The log has the changes, and a replay agrees.
    let times: Vec<String> = head["changes"].as_array().unwrap().iter().map(|entry| entry["at"].to_string()).collect();
    assert_eq!(times, CHANGES.map(|(ns, _)| format!("\"{ns} ns\"")));
    let again = replay(&head, &records).unwrap();
    assert_eq!((again.agreeing, again.first, again.timed), (again.packets, None, false));
}

#[test]
fn a_pause_holds_what_waits_and_the_rate_is_as_before() {
    let mut direction = Direction::new(config(link("rate = 12 Mbit/s"), 0), 1).unwrap();
    let mut kernel = RecordingSink::default();
    direction.arrive(at(0), buffer(&TcpFrame { payload: vec![1; 3 * 1448], ..TcpFrame::default() }.frame()));
    direction.run(at(1_000_000), &mut kernel);
    // Half of the second packet has been sent.
    direction.pause(at(1_500_000), true, REGISTERED).unwrap();
    assert_eq!(direction.pause(at(1_600_000), true, REGISTERED).unwrap_err(), "it is already paused; resume it");
    direction.run(at(9_000_000), &mut kernel);
    assert_eq!((kernel.frames.len(), direction.describe().as_str()), (1, "paused, droptail"));
    direction.pause(at(10_000_000), false, REGISTERED).unwrap();
    let times = drain(&mut direction, &mut kernel);
    assert_eq!(times[1..], [(at(10_500_000), VNET + 1500), (at(11_500_000), VNET + 1500)]);
    assert_eq!(direction.describe(), "12 Mbit/s, droptail");
    assert_eq!(direction.pause(at(12_000_000), false, REGISTERED).unwrap_err(), "it is not paused; pause it first");
}

#[test]
fn delays_and_losses_without_a_link_change_too() {
    let keys = |text: &str| serde_json::from_str(text).unwrap();
    let packet = || buffer(&TcpFrame::default().frame());
    let mut delay = Direction::new(config(PathKind::Delay(Steps::constant(Duration::from_millis(20))), 0), 1).unwrap();
    let mut kernel = RecordingSink::default();
    delay.arrive(at(0), packet());
    delay.change(at(1_000_000), &keys(r#"{ "delay": "5 ms" }"#), REGISTERED).unwrap();
    delay.arrive(at(2_000_000), packet());
    delay.arrive(at(30_000_000), packet());
    let times: Vec<Instant> = drain(&mut delay, &mut kernel).iter().map(|&(at, _)| at).collect();
    assert_eq!(times, [20_000_000, 20_000_000, 35_000_000].map(at), "packets keep their order");
    let refused = delay.change(at(40_000_000), &keys(r#"{ "rate": "5 Mbit/s" }"#), REGISTERED).unwrap_err();
    assert_eq!(refused, "rate: a delay has no queue; only its delay can be changed");

    let mut loss = Direction::new(config(PathKind::Loss(None), 0), 1).unwrap();
    for (ns, share, departed) in [(0, "0%", 50), (1_000_000, "100%", 50), (2_000_000, "0%", 100)] {
        loss.change(at(ns), &keys(&format!(r#"{{ "loss": "{share}" }}"#)), REGISTERED).unwrap();
        (0..50).for_each(|i| loss.arrive(at(ns + 1000 * (i + 1)), packet()));
        loss.run(at(ns + 900_000), &mut kernel);
        assert_eq!(loss.counters().departed.0, departed, "{share}");
    }
}
