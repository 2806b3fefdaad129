//! Mahimahi's commands with its options: `mm-link`, `mm-delay`, `mm-loss`, `mm-onoff`, `mm-intermittent`, `mm-meter`.
#![allow(rustdoc::broken_intra_doc_links, reason = "texts of options are helps; brackets hold defaults")]

use super::args::{self, OperandLimit};
use super::help::{self, Help};
use super::kinds::loss;
use super::{Invocation, Printed, ShellRequest};
use crate::Error;
use crate::path::{DirectionConfig, LogConfig, LogFormat, PathKind, Side};
use crate::shell::{MeterView, Shell};
use clap::Args;
use serde_json::{Map, Value, json};
use sojourn_aqm::Duration;
use sojourn_sim::scenario::{LinkSpec, LossSpec, Steps};
use std::path::{Path, PathBuf};

/// Parses the command `name`; `line` is the whole command line.
pub fn parse(name: &str, words: &[String], line: &[String]) -> Result<Invocation, Error> {
    let Some(syntax) = SYNTAXES.iter().find(|syntax| syntax.name == name) else {
        return Err(Error::Input(sojourn_aqm::params::unknown("command", name, super::COMMANDS.iter().copied())));
    };
    match name {
        "mm-link" => parse_as::<LinkOptions>(syntax, words, line),
        "mm-meter" => parse_as::<MeterOptions>(syntax, words, line),
        _ => parse_as::<NoOptions>(syntax, words, line),
    }
}

/// Parses a command line with the options of `T`.
fn parse_as<T: Args + Into<LinkOptions>>(
    syntax: &Syntax,
    words: &[String],
    line: &[String],
) -> Result<Invocation, Error> {
    let &Syntax { name, usage, words: most } = syntax;
    let Some(found) = args::parse::<T>(words, &[], OperandLimit::AtMost(most))? else {
        let sections = vec![("Options", help::options::<T>(true))];
        return Ok(Invocation::Help(Help { usage, about: "", sections }.text()));
    };
    let (words, options): (_, LinkOptions) = (found.words, found.options.into());
    if words.len() < most {
        return Err(Error::Input(format!("{name}: missing arguments; usage: {usage}")));
    }
    let kinds = match name {
        "mm-link" => [link(&options, &words[0], Side::Up)?, link(&options, &words[1], Side::Down)?],
        "mm-delay" => {
            let ms: u32 = number(name, "milliseconds", &words[0])?;
            let delay = Steps::constant(Duration::from_millis(ms.into()));
            [PathKind::Delay(delay.clone()), PathKind::Delay(delay)]
        }
        "mm-meter" => {
            let none = Steps::constant(Duration::ZERO);
            [PathKind::Delay(none.clone()), PathKind::Delay(none)]
        }
        "mm-loss" => one_way(name, &words[0], PathKind::Loss(Some(rate(&words[1])?)), PathKind::Loss(None))?,
        _ => {
            let seconds = |argument: &str, word: &str| -> Result<Duration, Error> {
                let seconds: f64 = number(name, argument, word)?;
                if seconds.is_finite() && (0.0..1e6).contains(&seconds) {
                    return Ok(Duration::from_secs_f64(seconds));
                }
                Err(Error::Input(format!("{name}: {argument}: {word} is out of range; from 0 to 1000000 s")))
            };
            let fixed = name == "mm-intermittent";
            let arguments = if fixed { ["time on", "time off"] } else { ["mean time on", "mean time off"] };
            let (on, off) = (seconds(arguments[0], &words[1])?, seconds(arguments[1], &words[2])?);
            if on == Duration::ZERO {
                return Err(Error::Input(format!(
                    "{name}: {}: with 0 s the link is never on; write e.g. 1",
                    arguments[0]
                )));
            }
            // Every cycle costs a random draw, also while no packets arrive.
            if !fixed && off > Duration::ZERO && on + off < MIN_CYCLE {
                return Err(Error::Input(format!(
                    "{name}: {on} and {off} average {}; use at least {MIN_CYCLE}",
                    on + off
                )));
            }
            one_way(name, &words[0], PathKind::OnOff { on, off, fixed }, PathKind::Loss(None))?
        }
    };
    let [up, down] = kinds;
    let direction = |side: Side, kind| DirectionConfig {
        logs: options.of(side)[0].map(|path| log(path, line)).into_iter().collect(),
        ..DirectionConfig::new(side, kind)
    };
    let shell = Shell {
        meter: shown(name, &options.meter),
        prompts: found.command.is_empty(),
        ..Shell::new(name, [direction(Side::Up, up), direction(Side::Down, down)], args::command(&found.command)?)
    };
    Ok(Invocation::Run(Box::new(ShellRequest {
        shell,
        strict: false,
        printed: Printed::Faults,
        log: None,
        expected: Vec::new(),
    })))
}

/// Minimum mean duration of a cycle of on and off.
const MIN_CYCLE: Duration = Duration::from_micros(10);

/// Columns of the live view; `mm-meter` without options shows all.
fn shown(name: &str, meter: &Meter) -> MeterView {
    let each = |up: bool, down: bool| [up, down].map(|flag| flag || meter.meter_all);
    let rates = each(meter.meter_uplink, meter.meter_downlink);
    let shown = MeterView { rates, delays: each(meter.meter_uplink_delay, meter.meter_downlink_delay) };
    if name == "mm-meter" && !shown.is_enabled() { MeterView::EVERYTHING } else { shown }
}

fn link(options: &LinkOptions, trace: &str, side: Side) -> Result<PathKind, Error> {
    let mut table = Map::from_iter([("trace".to_string(), trace.into()), ("once".to_string(), options.once.into())]);
    let (kind_option, args_option) = (option(side, "queue"), option(side, "queue-args"));
    let [_, kind, args] = options.of(side);
    let queue = queue(kind.unwrap_or("infinite"), args.unwrap_or(""));
    let (aqm, limits) = queue.map_err(|e| Error::Input(format!("{args_option}: {e}")))?;
    table.insert("aqm".to_string(), aqm.into());
    table.insert("limit".to_string(), json!(limits));
    let spec = LinkSpec::parse("", &Value::Object(table), Path::new(".")).map_err(|error| {
        let place = if error.place == "trace" { "mm-link" } else { &kind_option };
        Error::Input(format!("{place}: {}", error.message))
    })?;
    Ok(PathKind::Link(Box::new(spec)))
}

/// Queue manager and limits for a queue of Mahimahi.
fn queue(kind: &str, args: &str) -> Result<(String, Vec<String>), String> {
    let (mut limits, mut params) = (Vec::new(), Vec::new());
    for pair in args.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| format!("{pair:?} has no value; write e.g. packets=100"))?;
        let (name, value) = (name.trim(), value.trim());
        let value: u32 =
            value.parse().map_err(|_| format!("{name}: {value:?} is not a whole number; write e.g. {name}=100"))?;
        match (kind, name) {
            ("infinite", _) => return Err("an infinite queue takes no arguments; leave them out".to_string()),
            (_, "packets") => limits.push(format!("{value} packets")),
            (_, "bytes") => limits.push(format!("{value} B")),
            ("codel", "target" | "interval") => params.push(format!("{name} {value}ms")),
            ("pie", "qdelay_ref") => params.push(format!("target {value}ms")),
            ("pie", "max_burst") => params.push(format!("max_burst {value}ms")),
            _ => return Err(format!("{name} is not an argument of the queue {kind}; it takes {}", takes(kind))),
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

fn one_way(name: &str, direction: &str, kind: PathKind, other: PathKind) -> Result<[PathKind; 2], Error> {
    match direction {
        "uplink" => Ok([kind, other]),
        "downlink" => Ok([other, kind]),
        _ => Err(Error::Input(format!("{name}: {direction:?} is not a direction; write uplink or downlink"))),
    }
}

fn rate(text: &str) -> Result<LossSpec, Error> {
    // As in Mahimahi, the rate is from 0 to 1, and "1" means all packets.
    let read = if text.contains(' ') {
        loss(text)
    } else {
        LossSpec::share(text).map(LossSpec::Random).map_err(|wrong| wrong.to_string())
    };
    read.map_err(|e| Error::Input(format!("mm-loss: {e}")))
}

fn number<T: std::str::FromStr>(name: &str, argument: &str, text: &str) -> Result<T, Error> {
    text.parse().map_err(|_| Error::Input(format!("{name}: {argument}: {text:?} is not a number; write e.g. 20")))
}

fn log(path: &str, line: &[String]) -> LogConfig {
    LogConfig { path: PathBuf::from(path), format: LogFormat::Mahimahi, command: line.join(" ") }
}

fn option(side: Side, suffix: &str) -> String {
    format!("--{}link-{suffix}", side.name())
}

const KINDS: &[&str] = &["infinite", "droptail", "drophead", "codel", "pie"];

/// Maximum of a limit.
const UNLIMITED: &str = "4294967295 packets";

/// Syntax of a command.
struct Syntax {
    name: &'static str,
    words: usize,
    usage: &'static str,
}

const SYNTAXES: [Syntax; 6] = [
    Syntax { name: "mm-link", words: 2, usage: "mm-link UP-TRACE DOWN-TRACE [OPTION]... [--] [COMMAND]..." },
    Syntax { name: "mm-delay", words: 1, usage: "mm-delay MILLISECONDS [COMMAND]..." },
    Syntax { name: "mm-meter", words: 0, usage: "mm-meter [-u|--meter-uplink] [-d|--meter-downlink] [COMMAND]..." },
    Syntax { name: "mm-loss", words: 2, usage: "mm-loss uplink|downlink RATE [COMMAND]..." },
    Syntax {
        name: "mm-onoff",
        words: 3,
        usage: "mm-onoff uplink|downlink MEAN-ON-SECONDS MEAN-OFF-SECONDS [COMMAND]...",
    },
    Syntax {
        name: "mm-intermittent",
        words: 3,
        usage: "mm-intermittent uplink|downlink ON-SECONDS OFF-SECONDS [COMMAND]...",
    },
];

/// Options of `mm-link`.
#[derive(Args, Clone, Debug, Default)]
struct LinkOptions {
    /// Stop at the end of the traces.
    #[arg(long)]
    once: bool,
    /// Write a log of the uplink.
    #[arg(short, long, value_name = "FILE")]
    uplink_log: Option<String>,
    /// Write a log of the downlink.
    #[arg(short, long, value_name = "FILE")]
    downlink_log: Option<String>,
    /// Queue of the uplink: infinite, droptail, drophead, codel or pie [infinite].
    #[arg(long, value_name = "QUEUE")]
    uplink_queue: Option<String>,
    /// Queue of the downlink, likewise.
    #[arg(long, value_name = "QUEUE")]
    downlink_queue: Option<String>,
    /// Arguments of the uplink queue: name=integer, separated by commas.
    #[arg(long, value_name = "ARGS")]
    uplink_queue_args: Option<String>,
    /// Arguments of the downlink queue, likewise.
    #[arg(long, value_name = "ARGS")]
    downlink_queue_args: Option<String>,
    #[command(flatten)]
    meter: Meter,
}

impl LinkOptions {
    /// Log, queue, and arguments of the queue of a direction.
    fn of(&self, side: Side) -> [Option<&str>; 3] {
        let found = match side {
            Side::Up => [&self.uplink_log, &self.uplink_queue, &self.uplink_queue_args],
            Side::Down => [&self.downlink_log, &self.downlink_queue, &self.downlink_queue_args],
        };
        found.map(Option::as_deref)
    }
}

/// Options of the live view.
#[derive(Args, Clone, Debug, Default)]
struct Meter {
    /// Show rate and drops of the uplink while the command runs.
    #[arg(long)]
    meter_uplink: bool,
    /// Show the queueing delay of the uplink.
    #[arg(long)]
    meter_uplink_delay: bool,
    /// Show rate and drops of the downlink.
    #[arg(long)]
    meter_downlink: bool,
    /// Show the queueing delay of the downlink.
    #[arg(long)]
    meter_downlink_delay: bool,
    /// Show all of these.
    #[arg(long)]
    meter_all: bool,
}

/// Options of `mm-meter`.
#[derive(Args, Clone, Debug, Default)]
struct MeterOptions {
    #[command(flatten)]
    meter: Meter,
    /// Short form of --meter-uplink; in mm-link -u is --uplink-log.
    #[arg(short = 'u', hide = true)]
    uplink: bool,
    /// Short form of --meter-downlink; in mm-link -d is --downlink-log.
    #[arg(short = 'd', hide = true)]
    downlink: bool,
}

impl From<MeterOptions> for LinkOptions {
    fn from(MeterOptions { mut meter, uplink, downlink }: MeterOptions) -> Self {
        meter.meter_uplink |= uplink;
        meter.meter_downlink |= downlink;
        Self { meter, ..Self::default() }
    }
}

/// Commands without options.
#[derive(Args, Clone, Debug, Default)]
struct NoOptions {}

impl From<NoOptions> for LinkOptions {
    fn from(_: NoOptions) -> Self {
        Self::default()
    }
}

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
            Invocation::Run(request) => Ok(request.shell),
            Invocation::Help(_) => panic!("no help is asked for"),
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
            assert_eq!(shell(line).unwrap().meter, MeterView { rates, delays }, "{line}");
        }
        let trace = std::env::temp_dir().join("sojourn-meters.trace");
        std::fs::write(&trace, "1\n").unwrap();
        let link = |options: &str| shell(&format!("mm-link {options} {0} {0} -- true", trace.display())).unwrap();
        assert_eq!(link("--once").meter, MeterView::default());
        assert_eq!(link("--meter-all").meter, MeterView::EVERYTHING);
        let one = link("--meter-downlink --meter-uplink-delay -u up.log -ddown.log");
        assert_eq!(one.meter, MeterView { rates: [false, true], delays: [true, false] });
        let logs = [&one.up, &one.down].map(|direction| direction.logs[0].path.clone());
        assert_eq!(logs, [PathBuf::from("up.log"), PathBuf::from("down.log")]);
    }

    #[test]
    fn intermittent_links_have_fixed_times() {
        let seconds = |s| Duration::from_secs(s);
        let of = |line| shell(line).map(|shell| (shell.up.kind, shell.down.kind));
        let fixed = |fixed| PathKind::OnOff { on: seconds(3), off: seconds(1), fixed };
        assert_eq!(of("mm-intermittent uplink 3 1 true").unwrap(), (fixed(true), PathKind::Loss(None)));
        assert_eq!(of("mm-onoff downlink 3 1 true").unwrap(), (PathKind::Loss(None), fixed(false)));
        let refused = |line| of(line).unwrap_err().to_string();
        assert_eq!(
            refused("mm-intermittent uplink 0 1 true"),
            "mm-intermittent: time on: with 0 s the link is never on; write e.g. 1"
        );
        assert_eq!(
            refused("mm-onoff uplink 4e-6 5e-6 true"),
            "mm-onoff: 4 us and 5 us average 9 us; use at least 10 us"
        );
        assert!(of("mm-onoff uplink 1e-6 0 true").is_ok() && of("mm-intermittent uplink 1e-9 1e-9 true").is_ok());
        assert_eq!(
            refused("mm-intermittent up 1 1"),
            "mm-intermittent: \"up\" is not a direction; write uplink or downlink"
        );
    }

    #[test]
    fn refusals_name_the_remedy() {
        for (kind, args, error) in [
            ("fifo", "", r#"unknown queue "fifo"; expected one of infinite, droptail, drophead, codel, pie"#),
            ("infinite", "packets=1", "an infinite queue takes no arguments; leave them out"),
            ("droptail", "", "a droptail queue needs a limit; write e.g. packets=100"),
            ("droptail", "packets", r#""packets" has no value; write e.g. packets=100"#),
            ("droptail", "packets=-1", r#"packets: "-1" is not a whole number; write e.g. packets=100"#),
            ("codel", "target=5", "interval of codel is missing; it takes packets, bytes, target and interval (ms)"),
            (
                "codel",
                "qdelay_ref=5",
                "qdelay_ref is not an argument of the queue codel; it takes packets, bytes, target and interval (ms)",
            ),
        ] {
            assert_eq!(queue(kind, args).unwrap_err(), error);
        }
    }
}
