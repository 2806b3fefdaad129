//! Mahimahi's commands with its options: `mm-link`, `mm-delay`, `mm-loss`, `mm-onoff`, `mm-intermittent`, `mm-meter`.

use super::args::{Args, Opt, Short};
use super::kinds::loss;
use super::{Parsed, Request};
use crate::Error;
use crate::path::{DirectionConfig, Kind, LogConfig, LogFormat, Side};
use crate::shell::{Shell, Shown};
use serde_json::{Map, Value, json};
use sojourn_aqm::Duration;
use sojourn_sim::scenario::{LinkSpec, LossSpec, Steps};
use std::path::{Path, PathBuf};

/// A command line of `name`; `line` is all of it.
pub fn parse(name: &str, words: &[String], line: &[String]) -> Result<Parsed, Error> {
    let (known, short, usage, most): (&[Opt], &[Short], _, _) = match name {
        "mm-link" => (LINK, LOGS, "mm-link UP-TRACE DOWN-TRACE [OPTION]... [--] [COMMAND]...", 2),
        "mm-delay" => (HELP, &[], "mm-delay MILLISECONDS [COMMAND]...", 1),
        "mm-meter" => (METER, METERS, "mm-meter [-u|--meter-uplink] [-d|--meter-downlink] [COMMAND]...", 0),
        "mm-loss" => (HELP, &[], "mm-loss uplink|downlink RATE [COMMAND]...", 2),
        "mm-onoff" => (HELP, &[], "mm-onoff uplink|downlink MEAN-ON-SECONDS MEAN-OFF-SECONDS [COMMAND]...", 3),
        "mm-intermittent" => (HELP, &[], "mm-intermittent uplink|downlink ON-SECONDS OFF-SECONDS [COMMAND]...", 3),
        _ => return Err(Error::Input(sojourn_aqm::params::unknown("command", name, super::COMMANDS.iter().copied()))),
    };
    let args = Args::parse_short(words, known, short, most)?;
    if args.has("--help") {
        return Ok(Parsed::Help(format!("Usage: {usage}\n\n{}", super::args::describe(known))));
    }
    if args.words.len() < most {
        return Err(Error::Input(format!("{name}: arguments are missing; usage: {usage}")));
    }
    let kinds = match name {
        "mm-link" => [link(&args, Side::Up)?, link(&args, Side::Down)?],
        "mm-delay" => {
            let ms: u32 = number(name, "milliseconds", &args.words[0])?;
            let delay = Steps::constant(Duration::from_millis(ms.into()));
            [Kind::Delay(delay.clone()), Kind::Delay(delay)]
        }
        "mm-meter" => {
            let none = Steps::constant(Duration::ZERO);
            [Kind::Delay(none.clone()), Kind::Delay(none)]
        }
        "mm-loss" => one_way(name, &args.words[0], Kind::Loss(Some(rate(&args.words[1])?)), Kind::Loss(None))?,
        _ => {
            let seconds = |what: &str, word: &str| -> Result<Duration, Error> {
                let seconds: f64 = number(name, what, word)?;
                if seconds.is_finite() && (0.0..1e6).contains(&seconds) {
                    return Ok(Duration::from_secs_f64(seconds));
                }
                Err(Error::Input(format!("{name}: {what}: {word} is out of range; from 0 to 1000000 s")))
            };
            let fixed = name == "mm-intermittent";
            let what = if fixed { ["time on", "time off"] } else { ["mean time on", "mean time off"] };
            let (on, off) = (seconds(what[0], &args.words[1])?, seconds(what[1], &args.words[2])?);
            if on == Duration::ZERO {
                return Err(Error::Input(format!("{name}: {}: 0 s is never on; write e.g. 1", what[0])));
            }
            // Each turn is drawn, also those of a pause in which no packet comes.
            if !fixed && off > Duration::ZERO && on + off < LEAST_TURN {
                return Err(Error::Input(format!(
                    "{name}: {on} and {off} are {} in the mean; make it at least {LEAST_TURN}",
                    on + off
                )));
            }
            one_way(name, &args.words[0], Kind::OnOff { on, off, fixed }, Kind::Loss(None))?
        }
    };
    let [up, down] = kinds;
    let direction = |side: Side, kind| DirectionConfig {
        logs: args.get(&option(side, "log")).map(|path| log(path, line)).into_iter().collect(),
        ..DirectionConfig::new(side, kind)
    };
    let shell = Shell {
        meter: shown(name, &args),
        prompts: args.command.is_empty(),
        ..Shell::new(name, [direction(Side::Up, up), direction(Side::Down, down)], args.command()?)
    };
    Ok(Parsed::Run(Box::new(Request { shell, strict: false, quiet: true, log: None })))
}

/// The shortest mean time of a link's being on and off once.
const LEAST_TURN: Duration = Duration::from_micros(10);

/// What the live view has. `mm-meter` of which nothing is asked shows everything.
fn shown(name: &str, args: &Args) -> Shown {
    let all = args.has("--meter-all");
    let each = |what: &str| super::SIDES.map(|side| all || args.has(&format!("--meter-{}link{what}", side.name())));
    let shown = Shown { rates: each(""), delays: each("-delay") };
    if name == "mm-meter" && !shown.anything() { Shown::EVERYTHING } else { shown }
}

fn link(args: &Args, side: Side) -> Result<Kind, Error> {
    let trace = &args.words[usize::from(side == Side::Down)];
    let mut table =
        Map::from_iter([("trace".to_string(), trace.as_str().into()), ("once".to_string(), args.has("--once").into())]);
    let (kind_option, args_option) = (option(side, "queue"), option(side, "queue-args"));
    let kind = args.get(&kind_option).unwrap_or("infinite");
    let queue = queue(kind, args.get(&args_option).unwrap_or(""));
    let (aqm, limits) = queue.map_err(|e| Error::Input(format!("{args_option}: {e}")))?;
    table.insert("aqm".to_string(), aqm.into());
    table.insert("limit".to_string(), json!(limits));
    let spec = LinkSpec::parse("", &Value::Object(table), Path::new(".")).map_err(|error| {
        let place = if error.place == "trace" { "mm-link" } else { &kind_option };
        Error::Input(format!("{place}: {}", error.message))
    })?;
    Ok(Kind::Link(Box::new(spec)))
}

/// Queue manager and limits of one of Mahimahi's queues.
fn queue(kind: &str, args: &str) -> Result<(String, Vec<String>), String> {
    let (mut limits, mut params) = (Vec::new(), Vec::new());
    for pair in args.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| format!("{pair:?} has no value; write e.g. packets=100"))?;
        let (name, value) = (name.trim(), value.trim());
        let value: u32 =
            value.parse().map_err(|_| format!("{name}: {value:?} is no whole number; write e.g. {name}=100"))?;
        match (kind, name) {
            ("infinite", _) => return Err("an infinite queue takes no arguments; leave them out".to_string()),
            (_, "packets") => limits.push(format!("{value} packets")),
            (_, "bytes") => limits.push(format!("{value} B")),
            ("codel", "target" | "interval") => params.push(format!("{name} {value}ms")),
            ("pie", "qdelay_ref") => params.push(format!("target {value}ms")),
            ("pie", "max_burst") => params.push(format!("max_burst {value}ms")),
            _ => return Err(format!("{name} is no argument of the queue {kind}; it takes {}", takes(kind))),
        }
    }
    let aqm = match kind {
        "infinite" | "droptail" => "droptail",
        "drophead" => "drophead",
        "codel" => "codel@mahimahi",
        "pie" => "pie",
        _ => return Err(sojourn_aqm::params::unknown("queue", kind, KINDS.iter().copied())),
    };
    let required: &[&str] = match kind {
        "codel" => &["target", "interval"],
        "pie" => &["target", "max_burst"],
        _ => &[],
    };
    if let Some(missing) = required.iter().find(|&&name| !params.iter().any(|param| param.starts_with(name))) {
        return Err(format!("{missing} of {kind} is missing; it takes {}", takes(kind)));
    }
    if matches!(kind, "droptail" | "drophead") && limits.is_empty() {
        return Err(format!("a {kind} queue needs a limit; write e.g. packets=100"));
    }
    if limits.is_empty() {
        limits.push(UNLIMITED.to_string());
    }
    Ok((std::iter::once(aqm.to_string()).chain(params).collect::<Vec<_>>().join(" "), limits))
}

fn takes(kind: &str) -> &'static str {
    match kind {
        "codel" => "packets, bytes, target and interval (ms)",
        "pie" => "packets, bytes, qdelay_ref and max_burst (ms)",
        _ => "packets and bytes",
    }
}

fn one_way(name: &str, way: &str, kind: Kind, other: Kind) -> Result<[Kind; 2], Error> {
    match way {
        "uplink" => Ok([kind, other]),
        "downlink" => Ok([other, kind]),
        _ => Err(Error::Input(format!("{name}: {way:?} is no direction; write uplink or downlink"))),
    }
}

fn rate(text: &str) -> Result<LossSpec, Error> {
    // A rate from 0 to 1, as Mahimahi reads it: there 1 is all.
    let read = if text.contains(' ') {
        loss(text)
    } else {
        LossSpec::share(text).map(LossSpec::Random).map_err(|wrong| wrong.to_string())
    };
    read.map_err(|e| Error::Input(format!("mm-loss: {e}")))
}

fn number<T: std::str::FromStr>(name: &str, what: &str, text: &str) -> Result<T, Error> {
    text.parse().map_err(|_| Error::Input(format!("{name}: {what}: {text:?} is no number; write e.g. 20")))
}

fn log(path: &str, line: &[String]) -> LogConfig {
    LogConfig { path: PathBuf::from(path), format: LogFormat::Mahimahi, command: line.join(" ") }
}

fn option(side: Side, what: &str) -> String {
    format!("--{}link-{what}", side.name())
}

const KINDS: &[&str] = &["infinite", "droptail", "drophead", "codel", "pie"];

/// As much as a limit can say.
const UNLIMITED: &str = "4294967295 packets";

const HELP: &[Opt] = &[Opt { name: "--help", value: "", about: "Show this." }];

const LINK: &[Opt] = &[
    Opt { name: "--once", value: "", about: "Stop at the end of the traces." },
    Opt { name: "--uplink-log", value: "FILE", about: "Log of the uplink." },
    Opt { name: "--downlink-log", value: "FILE", about: "Log of the downlink." },
    Opt { name: "--uplink-queue", value: "QUEUE", about: "infinite, droptail, drophead, codel or pie [infinite]." },
    Opt { name: "--downlink-queue", value: "QUEUE", about: "Likewise." },
    Opt { name: "--uplink-queue-args", value: "ARGS", about: "name=integer, separated by commas." },
    Opt { name: "--downlink-queue-args", value: "ARGS", about: "Likewise." },
    METER[0],
    METER[1],
    METER[2],
    METER[3],
    METER[4],
    METER[5],
];

/// Short names of mm-link.
const LOGS: &[Short] = &[("-u", "--uplink-log"), ("-d", "--downlink-log")];

/// Short names of mm-meter.
const METERS: &[Short] = &[("-u", "--meter-uplink"), ("-d", "--meter-downlink")];

const METER: &[Opt] = &[
    Opt { name: "--meter-uplink", value: "", about: "Show rate and drops of the uplink while the command runs." },
    Opt { name: "--meter-uplink-delay", value: "", about: "Show its queueing delay." },
    Opt { name: "--meter-downlink", value: "", about: "Likewise." },
    Opt { name: "--meter-downlink-delay", value: "", about: "Likewise." },
    Opt { name: "--meter-all", value: "", about: "All of these." },
    Opt { name: "--help", value: "", about: "Show this." },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_ours_with_the_same_parameters() {
        for (kind, args, aqm, limits) in [
            ("infinite", "", "droptail", UNLIMITED),
            ("droptail", "packets=100", "droptail", "100 packets"),
            ("drophead", "bytes=30000", "drophead", "30000 B"),
            ("codel", "packets=100, target=5, interval=100", "codel@mahimahi target 5ms interval 100ms", "100 packets"),
            ("pie", "qdelay_ref=20,max_burst=150,packets=7", "pie target 20ms max_burst 150ms", "7 packets"),
        ] {
            let (text, found) = queue(kind, args).unwrap();
            assert_eq!((text.as_str(), found.join("+").as_str()), (aqm, limits), "{kind}");
            let table = json!({ "rate": "1mbit", "aqm": text, "limit": found });
            LinkSpec::parse("", &table, Path::new(".")).unwrap();
        }
    }

    fn shell(line: &str) -> Result<Shell, Error> {
        let words: Vec<String> = line.split(' ').map(str::to_string).collect();
        match parse(&words[0], &words[1..], &words)? {
            Parsed::Run(request) => Ok(request.shell),
            Parsed::Help(_) => panic!("no help is asked for"),
        }
    }

    #[test]
    fn meters_show_what_is_asked_for() {
        let both = [true, true];
        for (line, rates, delays) in [
            ("mm-meter true", both, both),
            ("mm-meter -d true", [false, true], [false; 2]),
            ("mm-meter -u --meter-downlink true", both, [false; 2]),
            ("mm-meter --meter-uplink-delay true", [false; 2], [true, false]),
            ("mm-delay 20 true", [false; 2], [false; 2]),
        ] {
            assert_eq!(shell(line).unwrap().meter, Shown { rates, delays }, "{line}");
        }
        let trace = std::env::temp_dir().join("sojourn-meters.trace");
        std::fs::write(&trace, "1\n").unwrap();
        let link = |options: &str| shell(&format!("mm-link {options} {0} {0} -- true", trace.display())).unwrap();
        assert_eq!(link("--once").meter, Shown::default());
        assert_eq!(link("--meter-all").meter, Shown::EVERYTHING);
        let one = link("--meter-downlink --meter-uplink-delay -u up.log -ddown.log");
        assert_eq!(one.meter, Shown { rates: [false, true], delays: [true, false] });
        let logs = [&one.up, &one.down].map(|direction| direction.logs[0].path.clone());
        assert_eq!(logs, [PathBuf::from("up.log"), PathBuf::from("down.log")]);
    }

    #[test]
    fn intermittent_links_have_fixed_times() {
        let seconds = |s| Duration::from_secs(s);
        let of = |line| shell(line).map(|shell| (shell.up.kind, shell.down.kind));
        let fixed = |fixed| Kind::OnOff { on: seconds(3), off: seconds(1), fixed };
        assert_eq!(of("mm-intermittent uplink 3 1 true").unwrap(), (fixed(true), Kind::Loss(None)));
        assert_eq!(of("mm-onoff downlink 3 1 true").unwrap(), (Kind::Loss(None), fixed(false)));
        let refused = |line| of(line).unwrap_err().to_string();
        assert_eq!(
            refused("mm-intermittent uplink 0 1 true"),
            "mm-intermittent: time on: 0 s is never on; write e.g. 1"
        );
        assert_eq!(
            refused("mm-onoff uplink 4e-6 5e-6 true"),
            "mm-onoff: 4 us and 5 us are 9 us in the mean; make it at least 10 us"
        );
        assert!(of("mm-onoff uplink 1e-6 0 true").is_ok() && of("mm-intermittent uplink 1e-9 1e-9 true").is_ok());
        assert_eq!(
            refused("mm-intermittent up 1 1"),
            "mm-intermittent: \"up\" is no direction; write uplink or downlink"
        );
    }

    #[test]
    fn refusals_name_the_remedy() {
        for (kind, args, error) in [
            ("fifo", "", r#"unknown queue "fifo"; one of infinite, droptail, drophead, codel, pie"#),
            ("infinite", "packets=1", "an infinite queue takes no arguments; leave them out"),
            ("droptail", "", "a droptail queue needs a limit; write e.g. packets=100"),
            ("droptail", "packets", r#""packets" has no value; write e.g. packets=100"#),
            ("droptail", "packets=-1", r#"packets: "-1" is no whole number; write e.g. packets=100"#),
            ("codel", "target=5", "interval of codel is missing; it takes packets, bytes, target and interval (ms)"),
            (
                "codel",
                "qdelay_ref=5",
                "qdelay_ref is no argument of the queue codel; it takes packets, bytes, target and interval (ms)",
            ),
        ] {
            assert_eq!(queue(kind, args).unwrap_err(), error);
        }
    }
}
