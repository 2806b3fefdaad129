use super::*;
use crate::path::{Direction, LogConfig, Pool, Side, Sink};
use proptest::prelude::*;
use sojourn_sim::Statistics;
use sojourn_sim::scenario::{LinkSpec, Probes};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

struct NullSink;

impl Sink for NullSink {
    fn write(&mut self, _: &[IoSlice<'_>]) -> io::Result<()> {
        Ok(())
    }
}

fn config(path: PathBuf, format: LogFormat) -> DirectionConfig {
    let table = serde_json::json!({ "rate": "12 Mbit/s", "limit": "2 packets" });
    let spec = LinkSpec::parse("link", &table, Path::new("/")).unwrap();
    DirectionConfig {
        window: Duration::ZERO,
        epoch_ns: 1_700_000_000_000_000_000,
        logs: vec![LogConfig { path, format, command: "ping\nhost".into() }],
        ..DirectionConfig::new(Side::Up, PathKind::Link(Box::new(spec)))
    }
}

/// Four UDP datagrams of 1500 B at 500 us: one is sent at once, two wait, one is dropped. Returns the log error.
fn run(config: DirectionConfig) -> Option<String> {
    let mut direction = Direction::new(config, 1).unwrap();
    for port in 0..4 {
        let mut buffer = Pool::new().take();
        let frame = &mut buffer.room()[..1510];
        frame.fill(0);
        (frame[10], frame[18], frame[19], frame[31]) = (0x45, 64, 17, port);
        frame[12..14].copy_from_slice(&1500u16.to_be_bytes());
        buffer.set_len(1510);
        direction.arrive(Instant::from_nanos(500_000), buffer);
    }
    while let Some(due) = direction.due() {
        direction.run(due, &mut NullSink);
    }
    direction.finish().log_error
}

#[test]
fn mahimahis_grammar_with_opportunities_and_drops() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("up.log");
    assert_eq!(run(config(path.clone(), LogFormat::Mahimahi)), None);
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
    assert_eq!(head[0], format!("# mahimahi mm-link (Uplink) [12 Mbit/s on average] > {}", path.display()));
    let described = ["# command line: ping host", "# queue: droptail [2 packets]", "# init timestamp: 1700000000000"];
    assert_eq!(head[1..4], described);
    assert_eq!(head[4], "# base timestamp: 0");
    let expected = [
        "0 + 1500",
        "0 - 1500 0",
        "0 + 1500",
        "0 + 1500",
        "0 + 1500",
        "0 d 1 1500",
        "1 # 1500",
        "1 - 1500 1",
        "2 # 1500",
        "2 - 1500 2",
        "3 # 1500",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_full_disk_ends_the_log_and_not_the_run() {
    let mut config = config("/dev/full".into(), LogFormat::Records);
    let error = Recorder::new(&config, 1).err().unwrap();
    assert!(error.to_string().starts_with("/dev/full: No space left on device"), "{error}");
    assert_eq!(error.exit_code(), 3);

    // The disk fills up during the run.
    let folder = tempfile::tempdir().unwrap();
    config.logs[0].path = folder.path().join("records");
    let mut recorder = Recorder::new(&config, 1).unwrap();
    recorder.logs[0] = Box::new(output_full());
    for i in 0..2 * BLOCK as u64 + 5 {
        recorder.event(Instant::from_nanos(i), RecordKind::Idle, 0, 0);
    }
    assert!(recorder.logs.is_empty());
    let error = recorder.finish(Instant::ZERO).unwrap();
    let error = error.to_string();
    assert!(error.contains("No space left on device") && error.ends_with("The log ends there"), "{error}");
}

fn output_full() -> records::Records {
    records::Records(output::Output::create(Path::new("/dev/full")).unwrap())
}

#[test]
fn a_log_that_was_cut_off_holds_what_was_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    assert_eq!(run(config(path.clone(), LogFormat::Records)), None);
    let bytes = std::fs::read(path).unwrap();
    let (head, all) = read(&bytes).unwrap();
    assert_eq!((head["side"].as_str(), head["link"]["rate"].as_str()), (Some("up"), Some("12 Mbit/s")));
    let kinds: Vec<RecordKind> = all.iter().map(|record| record.kind).collect();
    use RecordKind::{Arrival, End, Idle, Limit, Payload, Sent};
    assert_eq!(
        kinds,
        [Arrival, Sent, Arrival, Arrival, Arrival, Limit, Sent, Payload, Sent, Payload, Idle, Payload, End]
    );
    let payload: Vec<u64> = all.iter().filter(|record| record.kind == Payload).map(|record| record.value).collect();
    assert_eq!(payload, [1472; 3], "of datagrams of 1500 bytes");
    let (_, part) = read(&bytes[..bytes.len() - 40]).unwrap();
    assert_eq!(part, all[..all.len() - 2]);
    for (end, error) in [(3, "is not a log of an emulated link"), (30, "is truncated in its header")] {
        assert_eq!(read(&bytes[..end]).unwrap_err().to_string(), error);
    }
    let mut damaged = bytes.clone();
    let at = bytes.len() - 12;
    damaged[at] = 99;
    assert_eq!(read(&damaged).unwrap_err().to_string(), format!("has a damaged record {}", all.len() - 1));
}

proptest! {
    /// A damaged log gives a result, or is rejected with a text.
    #[test]
    fn damaged_logs_are_refused(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)) {
        static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
        let whole = WHOLE.get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("records");
            assert_eq!(run(config(path.clone(), LogFormat::Records)), None);
            std::fs::read(path).unwrap()
        });
        let mut up = whole.clone();
        let body = whole.len() - 13 * RECORD_BYTES;
        for (position, byte) in &changes {
            up[body + position.index(whole.len() - body)] = *byte;
        }
        let Ok(up) = read(&up) else { return Ok(()) };
        let mut down = read(whole).unwrap();
        (down.0["side"], down.0["number"]) = ("down".into(), 0.into());
        let probes = Probes { packets: true, queue: Some(Duration::from_millis(1)), ..Probes::default() };
        let found = results(
            &["link".to_string()],
            &[down, up],
            &probes,
            Statistics::given(Instant::ZERO, Instant::ZERO + Duration::from_millis(5)),
            sojourn_aqm::registry::REGISTERED,
        );
        match found {
            Ok(found) => prop_assert!(!changes.is_empty() || found.agreement[1].agreeing == 4),
            Err(LogFileError { log, error }) => {
                let text = error.to_string();
                prop_assert!(log == 1 && !text.is_empty() && !changes.is_empty(), "{}", text);
            },
        }
    }
}

#[test]
fn a_sojourn_time_behind_netem_is_that_of_the_inner_queue_as_in_a_simulation() {
    let folder = tempfile::tempdir().unwrap();
    let logs = [("down.records", Side::Down), ("up.records", Side::Up)].map(|(name, side)| {
        let path = folder.path().join(name);
        let table = serde_json::json!({ "rate": "12 Mbit/s", "aqm": "netem delay 20ms { droptail }" });
        let spec = LinkSpec::parse("link", &table, Path::new("/")).unwrap();
        let kind = PathKind::Link(Box::new(spec));
        let (number, config) = (side.index(), config(path.clone(), LogFormat::Records));
        assert_eq!(run(DirectionConfig { side, number, kind, ..config }), None);
        read(&std::fs::read(path).unwrap()).unwrap()
    });
    let probes = Probes { packets: true, ..Probes::default() };
    let statistics = Statistics::given(Instant::ZERO, Instant::ZERO + Duration::from_millis(50));
    let found = results(&["link".to_string()], &logs, &probes, statistics, sojourn_aqm::registry::REGISTERED).unwrap();
    // Four datagrams of 1 ms each leave 20 ms of netem together; the link sends one after the other.
    let mean = found.output.summary.links.forward.sojourn_ms.mean.unwrap();
    assert!((mean - 1.5).abs() < 1e-6, "{mean}");
}

#[test]
fn captures_have_every_packet_when_it_arrives_and_when_it_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("taken");
    let config = DirectionConfig { logs: vec![], pcap: Some(prefix), ..config(PathBuf::new(), LogFormat::Records) };
    assert_eq!(run(config), None);
    let stamps = |suffix: &str| {
        let bytes = std::fs::read(folder.path().join(format!("taken.up.{suffix}.pcapng"))).unwrap();
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        let (mut at, mut interfaces, mut stamps) = (0, 0, Vec::new());
        while at < bytes.len() {
            let (kind, size) = (word(at), word(at + 4) as usize);
            assert_eq!(word(at + size - 4) as usize, size);
            interfaces += u32::from(kind == 1);
            if kind == 6 {
                let stamp = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
                assert_eq!((word(at + 8), word(at + 20), word(at + 24), bytes[at + 28]), (0, 28, 1500, 0x45));
                stamps.push(stamp - 1_700_000_000_000_000_000);
            }
            at += size;
        }
        assert_eq!(interfaces, 1);
        stamps
    };
    assert_eq!(stamps("in"), [500_000; 4]);
    assert_eq!(stamps("out"), [500_000, 1_500_000, 2_500_000]);
}
