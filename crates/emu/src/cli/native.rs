//! `link`, `delay` and `loss`.

use super::args::{Args, Opt, describe, text};
use super::{Parsed, Request, SIDES};
use crate::Error;
use crate::path::{DirectionConfig, Gso, Kind, LogConfig, LogFormat, Side};
use crate::shell::{Command, Place, Shell, Shown};
use serde_json::{Map, Value, json};
use sojourn_aqm::class::ClassId;
use sojourn_aqm::params::unknown;
use sojourn_aqm::registry::Catalogue;
use sojourn_aqm::{Duration, units};
use sojourn_sim::scenario::{LinkSpec, LossSpec, Service, Steps};
use std::path::{Path, PathBuf};

/// A command line of `name`; `line` is all of it. It may name the queue managers of `managers` as well.
pub fn parse(name: &str, words: &[String], line: &[String], managers: &dyn Catalogue) -> Result<Parsed, Error> {
    let own = match name {
        "link" => LINK,
        "delay" => DELAY,
        _ => LOSS,
    };
    let known: Vec<Opt> = own.options.iter().chain(COMMON).copied().collect();
    let args = Args::parse(words, &known, own.words)?;
    if args.has("--help") {
        let (own, common) = (describe(own.options), describe(COMMON));
        return Ok(Parsed::Help(format!("{}\n\nOptions:\n{own}\nFor every shell:\n{common}", own_usage(name).trim())));
    }
    refuse_ignored(&args)?;
    let kinds = match name {
        "link" => links(&args, managers)?,
        "delay" => delays(&args)?,
        _ => losses(&args)?,
    };
    request(name, kinds, &args, line).map(|request| Parsed::Run(Box::new(request)))
}

/// Refuses what is for both directions where each of them has its own.
fn refuse_ignored(args: &Args) -> Result<(), Error> {
    for (all, up, down) in [
        ("--rate", "--up", "--down"),
        ("--aqm", "--aqm-up", "--aqm-down"),
        ("--netem", "--netem-up", "--netem-down"),
        ("--limit", "--limit-up", "--limit-down"),
    ] {
        if args.has(all) && args.has(up) && args.has(down) {
            return Err(Error::Input(format!("{all}: both directions have their own, {up} and {down}; leave it out")));
        }
    }
    match args.words.first() {
        Some(word) if args.has("--up") && args.has("--down") => {
            Err(Error::Input(format!("{word}: both directions have their own, --up and --down; leave it out")))
        }
        _ => Ok(()),
    }
}

/// What every shell has, around what its directions do.
fn request(name: &str, kinds: [Kind; 2], args: &Args, line: &[String]) -> Result<Request, Error> {
    let span = |option: &str, default: Duration| match args.get(option) {
        None => Ok(default),
        Some(text) => units::duration(text).map_err(|e| Error::Input(format!("{option}: {e}"))),
    };
    let log = args.get("--log").map(PathBuf::from);
    if let Some(folder) = &log {
        if [Side::Up, Side::Down].iter().any(|&side| records(folder, side).is_file()) {
            let text = "has a log already; name another folder, or remove it";
            return Err(Error::Input(format!("--log {}: {text}", folder.display())));
        }
        std::fs::create_dir_all(folder).map_err(|e| {
            Error::Machine(format!("--log {}: {e}; choose a place that you may write to", folder.display()))
        })?;
    }
    let seed = match args.get("--seed") {
        None => 1,
        Some(text) => text
            .parse()
            .map_err(|_| Error::Input(format!("--seed: {text:?} is no whole number; write e.g. --seed 1")))?,
    };
    let (gso, classes, mtu) = (gso(args)?, classes(args)?, mtu(args)?);
    let attach = attach(args)?;
    let waits = attach.is_some() && args.command.is_empty();
    let [up, down] = kinds;
    let direction = |side: Side, kind| -> Result<DirectionConfig, Error> {
        let plain = DirectionConfig::new(side, kind);
        Ok(DirectionConfig {
            mtu: mtu.unwrap_or(plain.mtu),
            window: span("--window", plain.window)?,
            logs: log.iter().map(|folder| log_of(folder, side, line)).collect(),
            pcap: args.get("--pcap").map(PathBuf::from),
            gso,
            ethernet: attach.is_some(),
            classes: classes.clone(),
            ..plain
        })
    };
    let directions = [direction(Side::Up, up)?, direction(Side::Down, down)?];
    let command = if waits { Command::Own(Box::new(|_| until_told())) } else { args.command()? };
    let shell = Shell {
        seed,
        attach,
        peer: args.get("--peer").map(|command| text("--peer", command.to_string())).transpose()?,
        hosts: args.all("--host").map(host).collect::<Result<_, _>>()?,
        cc: args.get("--cc").map(str::to_string),
        meter: if args.has("--meter") { Shown::EVERYTHING } else { Shown::default() },
        meter_web: args.has("--meter-web"),
        given: args.get("--name").map(given).transpose()?,
        prompts: args.command.is_empty() && !waits,
        spin: span("--spin", Duration::ZERO)?,
        ..Shell::new(name, directions, command)
    };
    Ok(Request { shell, strict: args.has("--strict"), quiet: args.has("--quiet"), log })
}

/// The interface to attach to.
fn attach(args: &Args) -> Result<Option<Place>, Error> {
    let Some(interface) = args.get("--attach") else {
        return match args.get("--netns") {
            Some(_) => Err(Error::Input("--netns: says where an interface is; add --attach INTERFACE".to_string())),
            None => Ok(None),
        };
    };
    for (option, why) in [
        ("--peer", "the other end is what it is"),
        ("--host", "the machine's programs have its names"),
        ("--cc", "the machine's programs choose their own"),
    ] {
        if args.has(option) {
            return Err(Error::Input(format!("{option}: at an interface that is there {why}; leave it out")));
        }
    }
    let namespace = args.get("--netns").map(|which| match which {
        file if file.contains('/') => PathBuf::from(file),
        pid if pid.chars().all(|c| c.is_ascii_digit()) => PathBuf::from(format!("/proc/{pid}/ns/net")),
        name => Path::new("/run/netns").join(name),
    });
    Ok(Some(Place { interface: interface.to_string(), namespace }))
}

/// What runs in a shell without a command that is attached to an interface: nothing, until it is told to end.
fn until_told() -> i32 {
    use nix::sys::signal::{SigSet, Signal};
    let told: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
    match told.thread_block().and_then(|()| told.wait()) {
        Ok(_) => 0,
        Err(_) => 1,
    }
}

/// The largest IP packet, where `--mtu` says it: as a link has it.
fn mtu(args: &Args) -> Result<Option<u32>, Error> {
    let Some(text) = args.get("--mtu") else { return Ok(None) };
    let read = LinkSpec::parse("", &json!({ "rate": "1 Gbit/s", "mtu": text }), Path::new("."));
    read.map(|spec| Some(spec.mtu)).map_err(|error| Error::Input(format!("--mtu: {}", error.message)))
}

/// The name of a shell, which is a part of a file's name.
fn given(name: &str) -> Result<String, Error> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=64).contains(&name.len()) && name.chars().all(fits) && !name.chars().all(|c| c.is_ascii_digit()) {
        return Ok(name.to_string());
    }
    Err(Error::Input(format!(
        "--name: {name:?} is no name; write up to 64 letters, digits, - or _, a letter among them"
    )))
}

/// The name of a host, as `/etc/hosts` has it.
fn host(name: &str) -> Result<String, Error> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=253).contains(&name.len()) && name.chars().all(fits) && name.parse::<std::net::IpAddr>().is_err() {
        return Ok(name.to_string());
    }
    Err(Error::Input(format!("--host: {name:?} is no name of a host; write e.g. www.example.org")))
}

/// What `--gso` says of super-packets.
fn gso(args: &Args) -> Result<Gso, Error> {
    args.get("--gso").map_or(Ok(Gso::default()), gso_of)
}

/// `cut` or `keep`.
pub(super) fn gso_of(name: &str) -> Result<Gso, Error> {
    let known = [Gso::Cut, Gso::Keep];
    let found = known.into_iter().find(|gso| gso.name() == name);
    found.ok_or_else(|| Error::Input(format!("--gso: {}", unknown("choice", name, known.into_iter().map(Gso::name)))))
}

/// The classes that packets name by a port, each as `PORT=CLASS`.
fn classes(args: &Args) -> Result<Vec<(u16, ClassId)>, Error> {
    args.all("--class").map(class).collect()
}

/// A port and its class, as `PORT=CLASS`.
pub(super) fn class(text: &str) -> Result<(u16, ClassId), Error> {
    let wrong = |text: &str| Error::Input(format!("--class: {text:?} is no port and class; write e.g. 5201=1:10"));
    let (port, class) = text.split_once('=').ok_or_else(|| wrong(text))?;
    let port = port.trim().parse().ok().filter(|&port| port > 0).ok_or_else(|| wrong(text))?;
    let class = ClassId::parse(class.trim(), 0).map_err(|e| Error::Input(format!("--class {text}: {e}")))?;
    if class.is_none() { Err(wrong(text)) } else { Ok((port, class)) }
}

/// A direction's file in the folder of a log.
fn records(folder: &Path, side: Side) -> PathBuf {
    folder.join(format!("{}.records", side.name()))
}

fn log_of(folder: &Path, side: Side, line: &[String]) -> LogConfig {
    LogConfig { path: records(folder, side), format: LogFormat::Records, command: line.join(" ") }
}

/// The two links: a service (`--up`, `--down`, `--rate`), a queue manager and a limit for each.
fn links(args: &Args, managers: &dyn Catalogue) -> Result<[Kind; 2], Error> {
    let both = |side: Side, all: &str, own: &str| {
        let own = format!("{own}{}", side.name());
        match (args.get(&own), args.get(all)) {
            (Some(value), _) => Some((own, value.to_string())),
            (None, all_value) => all_value.map(|value| (all.to_string(), value.to_string())),
        }
    };
    let link = |side: Side| -> Result<Kind, Error> {
        let netem = both(side, "--netem", "--netem-");
        let fast = netem.is_some().then(|| ("--netem".to_string(), FAST.to_string()));
        let Some((place, spec)) = both(side, "--rate", "--").or(fast) else {
            let (one, two) = ("--up and --down", "--rate for both");
            return Err(Error::Input(format!(
                "--{}: missing; write {one} (or {two}), e.g. --rate 12mbit, --down lte.down",
                side.name()
            )));
        };
        let mut table = table(&place, &spec, args.has("--once"))?;
        if let Some(mtu) = args.get("--mtu") {
            table.insert("mtu".to_string(), json!(mtu));
        }
        let aqm = both(side, "--aqm", "--aqm-");
        let limit = both(side, "--limit", "--limit-");
        for (key, given) in [("aqm", &aqm), ("limit", &limit)] {
            if let Some((_, value)) = given {
                let value = match key {
                    "limit" => json!(value.split('+').map(str::trim).collect::<Vec<_>>()),
                    _ => json!(value),
                };
                table.insert(key.to_string(), value);
            }
        }
        if let Some((option, line)) = &netem {
            let aqm = emulated(line, table.get("aqm")).map_err(|wrong| Error::Input(format!("{option}: {wrong}")))?;
            table.insert("aqm".to_string(), aqm.into());
        }
        let changes = planned(args, side)?;
        let read = LinkSpec::parse_changing("", &Value::Object(table), &changes, Path::new("."), managers);
        let spec = read.map_err(|error| {
            if error.place.starts_with("changes") {
                return Error::Input(format!("--changes: {error}"));
            }
            let place = match error.place.as_str() {
                "aqm" => netem.as_ref().or(aqm.as_ref()).map_or("--aqm", |(option, _)| option),
                "limit" => limit.as_ref().map_or("--limit", |(option, _)| option),
                "mtu" if args.has("--mtu") => "--mtu",
                _ => &place,
            };
            let remedy = if error.place == "trace" { NO_TRACE } else { "" };
            Error::Input(format!("{place}: {}{remedy}", error.message))
        })?;
        Ok(Kind::Link(Box::new(spec)))
    };
    let kinds = [link(Side::Up)?, link(Side::Down)?];
    let follows_a_trace = |kind: &Kind| matches!(kind, Kind::Link(spec) if matches!(spec.service, Service::Trace(_)));
    if args.has("--once") && !kinds.iter().any(follows_a_trace) {
        return Err(Error::Input("--once: no direction follows a trace; leave it out".to_string()));
    }
    Ok(kinds)
}

/// The entries of `--changes`, which are those of `[[changes]]` of a scenario, that change the link of a direction.
fn planned(args: &Args, side: Side) -> Result<Vec<Value>, Error> {
    let Some(text) = args.get("--changes") else { return Ok(Vec::new()) };
    let wrong = |reason: &str| Error::Input(format!("--changes: {reason}"));
    let read: Value = serde_json::from_str(text).map_err(|e| wrong(&format!("no list in JSON: {e}")))?;
    let key = if side == Side::Down { "link" } else { "reverse" };
    let mut entries = Vec::new();
    for entry in read.as_array().ok_or_else(|| wrong("no list of entries; write it like [[changes]]"))? {
        let table = entry.as_object().ok_or_else(|| wrong("an entry is no table; write it like [[changes]]"))?;
        if let Some(other) = table.keys().find(|key| !["at", "link", "reverse"].contains(&key.as_str())) {
            return Err(wrong(&unknown("key", other, ["at", "link", "reverse"].into_iter())));
        }
        if let Some(keys) = table.get(key) {
            let mut keys = keys.as_object().cloned().ok_or_else(|| wrong(&format!("{key} is no table of keys")))?;
            keys.insert("at".to_string(), table.get("at").cloned().unwrap_or_default());
            entries.push(keys.into());
        }
    }
    Ok(entries)
}

/// The queue manager of a link with a line of netem, as tc takes it; `aqm` is in its braces.
fn emulated(line: &str, aqm: Option<&Value>) -> Result<String, String> {
    let words = line.trim();
    let words = words.strip_prefix("netem").filter(|rest| rest.starts_with(' ')).unwrap_or(words);
    match aqm {
        None => Ok(format!("netem {words}")),
        Some(Value::String(aqm)) => Ok(format!("netem {words} {{ {aqm} }}")),
        Some(_) => Err("the link has a queue manager as a table; write it with --aqm".to_string()),
    }
}

/// The rate of a link with a line of netem and no rate: it does not hold packets up.
const FAST: &str = "100 Gbit/s";

/// The keys of a link: those of a scenario as JSON, or what serves.
fn table(place: &str, spec: &str, once: bool) -> Result<Map<String, Value>, Error> {
    if !spec.starts_with('{') {
        return Ok(service(spec, once));
    }
    let read = serde_json::from_str(spec);
    let mut table: Map<String, Value> =
        read.map_err(|e| Error::Input(format!("{place}: no table of a link in JSON: {e}")))?;
    if once && table.contains_key("trace") {
        table.insert("once".to_string(), true.into());
    }
    Ok(table)
}

/// The keys of a link that serves as `spec` says: a rate or rates in steps, else the name of a trace.
fn service(spec: &str, once: bool) -> Map<String, Value> {
    let mut table = Map::new();
    let starts_with_number = spec.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit() || c == '-');
    if starts_with_number && !Path::new(spec).exists() {
        table.insert("rate".to_string(), spec.into());
    } else {
        table.insert("trace".to_string(), spec.into());
        table.insert("once".to_string(), once.into());
    }
    table
}

/// The delays: one for both directions, or `--up` and `--down`.
fn delays(args: &Args) -> Result<[Kind; 2], Error> {
    let one = |side: Side| {
        let option = format!("--{}", side.name());
        let (place, text) = match (args.get(&option), args.words.first()) {
            (Some(text), _) => (option.as_str(), text),
            (None, Some(text)) => ("delay", text.as_str()),
            (None, None) if args.has("--up") || args.has("--down") => ("delay", "0s"),
            (None, None) => return Err(Error::Input("delay: missing; write e.g. sojourn delay 20ms".to_string())),
        };
        let steps = Steps::<Duration>::parse(text).map_err(|e| Error::Input(format!("{place}: {e}")))?;
        Ok(Kind::Delay(steps))
    };
    Ok([one(Side::Up)?, one(Side::Down)?])
}

/// The losses: of the direction that is named, or of both.
fn losses(args: &Args) -> Result<[Kind; 2], Error> {
    let one = |side: Side| {
        let option = format!("--{}", side.name());
        let (place, text) = match (args.get(&option), args.words.first()) {
            (Some(text), _) => (option.as_str(), text),
            (None, Some(text)) => ("loss", text.as_str()),
            (None, None) if args.has("--up") || args.has("--down") => return Ok(Kind::Loss(None)),
            (None, None) => {
                return Err(Error::Input("loss: missing; write e.g. sojourn loss 1%".to_string()));
            }
        };
        let loss = loss(text).map_err(|e| Error::Input(format!("{place}: {e}")))?;
        Ok(Kind::Loss(Some(loss)))
    };
    let kinds: Vec<Kind> = SIDES.into_iter().map(one).collect::<Result<_, Error>>()?;
    Ok(kinds.try_into().expect("there are two sides"))
}

/// `0.01`, `1%`, or Gilbert and Elliott's `p 0.002 r 0.2 [bad 1] [good 0] [step 1ms]`.
pub(super) fn loss(text: &str) -> Result<LossSpec, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if let [text] = words[..] {
        return LossSpec::read(&text.into()).map_err(|wrong| wrong.to_string());
    }
    let mut table = Map::new();
    for pair in words.chunks(2) {
        let [name, value] = pair else { return Err(format!("{} lacks its value", pair[0])) };
        let value = if *name == "step" {
            json!(value)
        } else {
            json!(LossSpec::share(value).map_err(|wrong| wrong.to_string())?)
        };
        if table.insert((*name).to_string(), value).is_some() {
            return Err(format!("{name} is given twice; leave one of them out"));
        }
    }
    LossSpec::read(&table.into()).map_err(|wrong| wrong.to_string())
}

/// A command's own words and options.
struct Own {
    words: usize,
    options: &'static [Opt],
}

fn own_usage(name: &str) -> &'static str {
    match name {
        "link" => LINK_USAGE,
        "delay" => DELAY_USAGE,
        _ => LOSS_USAGE,
    }
}

const LINK: &Own = &Own {
    words: 0,
    options: &[
        Opt { name: "--up", value: "SPEC", about: "Outgoing direction: a rate, rates in steps, or a trace file." },
        Opt { name: "--down", value: "SPEC", about: "Incoming direction, likewise." },
        Opt { name: "--rate", value: "SPEC", about: "Directions for which no --up or --down is given." },
        Opt { name: "--once", value: "", about: "Stop the link at the end of its trace instead of repeating it." },
        Opt { name: "--aqm", value: "AQM", about: "Queue manager, e.g. \"codel target 5ms ecn\" [droptail]." },
        Opt { name: "--aqm-up", value: "AQM", about: "The same for the outgoing direction." },
        Opt { name: "--aqm-down", value: "AQM", about: "The same for the incoming direction." },
        Opt {
            name: "--netem",
            value: "LINE",
            about: "netem before the queue manager, e.g. \"delay 20ms 5ms loss 0.1%\".",
        },
        Opt { name: "--netem-up", value: "LINE", about: "The same for the outgoing direction." },
        Opt { name: "--netem-down", value: "LINE", about: "The same for the incoming direction." },
        Opt { name: "--limit", value: "LIMIT", about: "Queue limit, e.g. \"250 kB\", \"50 ms\" [1000 packets]." },
        Opt { name: "--limit-up", value: "LIMIT", about: "The same for the outgoing direction." },
        Opt { name: "--limit-down", value: "LIMIT", about: "The same for the incoming direction." },
        GSO,
        Opt {
            name: "--changes",
            value: "JSON",
            about: "Planned changes, as a list of [[changes]]; link is incoming, reverse outgoing.",
        },
        Opt {
            name: "--class",
            value: "PORT=CLASS",
            about: "Packets from or to this port name a class of htb or prio, e.g. 5201=1:10; repeatable.",
        },
    ],
};

const GSO: Opt = Opt {
    name: "--gso",
    value: "KIND",
    about: "Super-packets of senders: keep has the queue judge them whole, cut packet by packet [cut].",
};

const DELAY: &Own = &Own {
    words: 1,
    options: &[
        Opt { name: "--up", value: "DELAY", about: "Outgoing direction." },
        Opt { name: "--down", value: "DELAY", about: "Incoming direction." },
        GSO,
    ],
};

const LOSS: &Own = &Own {
    words: 1,
    options: &[
        Opt { name: "--up", value: "LOSS", about: "Outgoing direction; without --down, only this one." },
        Opt { name: "--down", value: "LOSS", about: "Incoming direction; without --up, only this one." },
    ],
};

const COMMON: &[Opt] = &[
    Opt { name: "--log", value: "FOLDER", about: "Record every packet, as a result for `sojourn plot`." },
    Opt { name: "--pcap", value: "PREFIX", about: "Captures PREFIX.up.in.pcapng, PREFIX.up.out.pcapng, and of down." },
    Opt { name: "--meter", value: "", about: "Show rates, delays and drops while the command runs." },
    Opt { name: "--meter-web", value: "", about: "Draw them on a page at a loopback address, which is told." },
    Opt { name: "--name", value: "NAME", about: "The name for `sojourn ctl`, which changes the shell while it runs." },
    Opt { name: "--seed", value: "N", about: "Seed of all random streams [1]." },
    Opt { name: "--cc", value: "NAME", about: "Congestion control of TCP at both ends, e.g. cubic." },
    Opt {
        name: "--attach",
        value: "INTERFACE",
        about: "What passes this interface passes the shell: up is what goes out.",
    },
    Opt {
        name: "--netns",
        value: "NAME",
        about: "With --attach: its network namespace (name, number of a process, file).",
    },
    Opt { name: "--peer", value: "COMMAND", about: "Run this sh command at the outer end, in its own network." },
    Opt { name: "--host", value: "NAME", about: "Inside, this name leads to $SOJOURN_HOST; repeatable." },
    Opt { name: "--mtu", value: "BYTES", about: "Largest IP packet [that of a link in JSON, else 1500 B]." },
    Opt { name: "--window", value: "TIME", about: "Packets due within this time may leave together [100us]." },
    Opt { name: "--spin", value: "TIME", about: "Busy-wait this long before a packet is due [0s]." },
    Opt { name: "--strict", value: "", about: "Exit with 1 if the emulator itself was late or lost packets." },
    Opt { name: "--quiet", value: "", about: "Print a report only if something went wrong." },
    Opt { name: "--help", value: "", about: "Show this help." },
];

const LINK_USAGE: &str = "
Usage: sojourn link --up SPEC --down SPEC [OPTIONS] [--] [COMMAND]...

Run a command behind an emulated link; without a command, your shell. SPEC is a rate (12mbit), rates in
steps (100mbit@0s,10mbit@50s), a trace of delivery opportunities in Mahimahi's format, or the keys of a
scenario's link in JSON ('{\"rate\": \"12 Mbit/s\", \"delay\": \"20 ms\"}').";

const DELAY_USAGE: &str = "
Usage: sojourn delay DELAY [OPTIONS] [--] [COMMAND]...

Run a command behind a one-way delay in each direction, e.g. 20ms or 20ms@0s,60ms@50s.";

const LOSS_USAGE: &str = "
Usage: sojourn loss LOSS [OPTIONS] [--] [COMMAND]...

Run a command behind a lossy path. LOSS is a probability (1%, 0.01) or Gilbert and Elliott's chain,
\"p 0.002 r 0.2\" with bad, good and step.";

/// What to write instead of the name of a file that is no trace.
const NO_TRACE: &str = "; write a rate such as 12mbit, or the name of a trace";

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::registry::REGISTERED;
    use sojourn_sim::scenario::Gilbert;

    #[test]
    fn losses_alone_and_in_bursts() {
        let chain = Gilbert { p: 0.002, r: 0.2, bad: 1.0, good: 0.0, step: None };
        for (text, spec) in [
            ("1%", LossSpec::Random(0.01)),
            ("0.25", LossSpec::Random(0.25)),
            ("0", LossSpec::Random(0.0)),
            ("p 0.2% r 20%", LossSpec::Gilbert(chain)),
            ("p 0.002 r 0.2 step 1ms", LossSpec::Gilbert(Gilbert { step: Some(Duration::from_millis(1)), ..chain })),
        ] {
            assert_eq!(loss(text).unwrap(), spec, "{text}");
        }
        assert_eq!(loss("one").unwrap_err(), r#""one" is no probability; write e.g. 1% or 0.01"#);
        assert_eq!(loss("p 0.1 r").unwrap_err(), "r lacks its value");
        assert_eq!(loss("p 0.1 p 0.2 r 1").unwrap_err(), "p is given twice; leave one of them out");
        assert_eq!(loss("1").unwrap_err(), "1 could be one per cent or all; write 1% or 1.0");
    }

    #[test]
    fn a_spec_is_a_rate_steps_or_a_trace() {
        for (spec, key) in
            [("12mbit", "rate"), ("1mbit@0s,2mbit@1s", "rate"), ("lte.down", "trace"), ("./12mbit", "trace")]
        {
            assert_eq!(service(spec, false)[key], spec);
        }
    }

    #[test]
    fn a_line_of_netem_is_taken_as_it_stands_and_holds_the_queue_manager() {
        let aqms = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
            let Ok(Parsed::Run(request)) = parse("link", &words, &words, REGISTERED) else { panic!("{words:?}") };
            [request.shell.up, request.shell.down].map(|direction| match direction.kind {
                Kind::Link(spec) => (spec.aqm.text, spec.service.nominal_rate(1500).as_bps()),
                other => panic!("{other:?}"),
            })
        };
        let line = "delay 20ms 5ms distribution normal loss 0.1%";
        let spelled = "netem delay 20ms jitter 5ms distribution normal loss 0.1".to_string();
        assert_eq!(aqms(&["--netem", line]), [(spelled.clone(), 100_000_000_000), (spelled.clone(), 100_000_000_000)]);
        let [up, down] = aqms(&["--rate", "7mbit", "--netem-up", line, "--aqm", "fq_codel"]);
        assert_eq!((up, down.0.as_str()), ((format!("{spelled} {{ fq_codel }}"), 7_000_000), "fq_codel"));
        assert_eq!(aqms(&["--netem", "netem loss 1%"])[0].0, "netem loss 1");
        let words = ["--netem", "delay 20"].map(str::to_string);
        let Err(refused) = parse("link", &words, &words, REGISTERED) else { panic!("a time without a unit") };
        assert!(refused.to_string().starts_with("--netem: delay"), "{refused}");
    }

    #[test]
    fn what_would_be_ignored_is_refused() {
        for (line, error) in [
            ("link --rate 1mbit --up 2mbit --down 3mbit", "--rate: both directions have their own, --up and --down"),
            ("link --rate 1mbit --aqm pie --aqm-up codel --aqm-down codel", "--aqm: both directions have their own"),
            ("delay 20ms --up 1ms --down 2ms", "20ms: both directions have their own, --up and --down; leave it out"),
            ("loss 1% --up 2% --down 3%", "1%: both directions have their own, --up and --down; leave it out"),
            ("delay 1ms --host 10.0.0.1", "--host: \"10.0.0.1\" is no name of a host; write e.g. www.example.org"),
            ("loss 1", "loss: 1 could be one per cent or all; write 1% or 1.0"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_string).collect();
            let Err(refused) = parse(&words[0], &words[1..], &words, REGISTERED) else { panic!("{line} is accepted") };
            assert!(refused.to_string().starts_with(error), "{refused}");
        }
    }

    #[test]
    fn planned_changes_are_those_of_a_scenario() {
        let of = |changes: &str| {
            let words = ["--rate", "5mbit", "--aqm", "codel", "--changes", changes].map(str::to_string);
            match parse("link", &words, &words, REGISTERED)? {
                Parsed::Run(request) => Ok([request.shell.down.kind, request.shell.up.kind]),
                Parsed::Help(_) => unreachable!("no help is asked for"),
            }
        };
        let changes = r#"[{ "at": "1 s", "link": { "rate": "2 Mbit/s", "aqm": "codel target 9ms" } },
                          { "at": "2 s", "link": { "loss": 0.1 }, "reverse": { "limit": "9 packets" } }]"#;
        let [Kind::Link(down), Kind::Link(up)] = of(changes).unwrap() else { panic!("links are links") };
        assert!(
            matches!(&down.service, Service::Steps(steps) if steps.rate.to_string() == "5 Mbit/s@0 s,2 Mbit/s@1 s")
        );
        assert_eq!((down.changes.len(), up.changes.len()), (2, 1));
        assert!(down.changes[0].keeps && up.changes[0].keeps);
        for (changes, error) in [
            ("[{}", "--changes: no list in JSON"),
            (r#"[{ "at": "1 s", "lnk": {} }]"#, r#"--changes: unknown key "lnk"; did you mean "link"?"#),
            (r#"[{ "at": "1 s", "link": { "aqm": "codell" } }]"#, "--changes: changes[0].link.aqm: unknown AQM"),
        ] {
            let found = of(changes).err().map(|error: Error| error.to_string()).unwrap_or_default();
            assert!(found.starts_with(error), "{found}");
        }
    }

    #[test]
    fn a_spec_in_json_has_every_key_of_a_link() {
        let spec = r#"{ "rate": "12 Mbit/s", "delay": "20 ms", "aqm": "codel", "loss": 0.01 }"#;
        let options: Vec<Opt> = LINK.options.iter().chain(COMMON).copied().collect();
        let of = |down: &str| {
            let words = ["--down", down, "--up", "1mbit", "--aqm", "pie"].map(str::to_string);
            Args::parse(&words, &options, 0).and_then(|args| links(&args, REGISTERED))
        };
        let [up, down] = of(spec).unwrap();
        let (Kind::Link(up), Kind::Link(down)) = (up, down) else { panic!("links are links") };
        assert_eq!((down.delay, down.loss), (Duration::from_millis(20), Some(LossSpec::Random(0.01))));
        // An option takes precedence over the table.
        assert_eq!((down.aqm.text, up.aqm.text), ("pie".to_string(), "pie".to_string()));
        let trace = std::env::temp_dir().join("sojourn-once-in-a-table.down");
        std::fs::write(&trace, "5\n").unwrap();
        let down = json!({ "trace": trace.to_str().unwrap() }).to_string();
        let words = ["--down", &down, "--up", "1mbit", "--once"].map(str::to_string);
        let [_, down] = Args::parse(&words, &options, 0).and_then(|args| links(&args, REGISTERED)).unwrap();
        let Kind::Link(down) = down else { panic!("links are links") };
        assert!(matches!(down.service, Service::Trace(spec) if spec.once), "the option was ignored beside a table");
        let error = of("{ rate }").unwrap_err().to_string();
        assert!(error.starts_with("--down: no table of a link in JSON: "), "{error}");
    }
}
