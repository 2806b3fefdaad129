//! `link`, `delay` and `loss`.

use super::args::{Args, Opt, describe, text};
use super::kinds::{delays, links, losses};
use super::{Parsed, Request};
use crate::Error;
use crate::path::{DirectionConfig, Gso, Kind, LogConfig, LogFormat, Side};
use crate::shell::{Command, Place, Shell, Shown};
use serde_json::json;
use sojourn_aqm::class::ClassId;
use sojourn_aqm::params::unknown;
use sojourn_aqm::registry::Catalogue;
use sojourn_aqm::{Duration, units};
use sojourn_sim::scenario::LinkSpec;
use std::path::{Path, PathBuf};

/// A command line of `name`; `line` is all of it. It may name the queue managers of `managers` as well.
pub fn parse(name: &str, words: &[String], line: &[String], managers: &dyn Catalogue) -> Result<Parsed, Error> {
    let own = own(name);
    let args = Args::parse(words, &[options(name), of_others(name)].concat(), own.words)?;
    if args.has("--help") {
        let (own, common) = (describe(own.options), describe(COMMON));
        return Ok(Parsed::Help(format!("{}\n\nOptions:\n{own}\nFor every shell:\n{common}", own_usage(name).trim())));
    }
    refuse_others(name, &args)?;
    refuse_ignored(&args)?;
    let kinds = match name {
        "link" => links(&args, managers)?,
        "delay" => delays(&args)?,
        _ => losses(&args)?,
    };
    request(name, kinds, &args, line).map(|request| Parsed::Run(Box::new(request)))
}

/// Options that are no option of a command because another one does it, around or within this one.
fn of_others(name: &str) -> Vec<Opt> {
    let all = ["--delay", "--loss", "--rate", "--aqm", "--limit"];
    let own = options(name);
    let others = all.iter().filter(|other| own.iter().all(|own| own.name != **other));
    others.map(|&name| Opt { name, value: "VALUE", about: "" }).collect()
}

/// Refuses what another command does, with the command line that has both.
fn refuse_others(name: &str, args: &Args) -> Result<(), Error> {
    let given: Vec<(&str, &str)> =
        of_others(name).iter().filter_map(|option| args.get(option.name).map(|value| (option.name, value))).collect();
    let Some(&(option, value)) = given.first() else { return Ok(()) };
    let (outer, line) = match option {
        "--delay" | "--loss" => (&option[2..], format!("{} {}", &option[2..], shell_word(value))),
        _ => {
            let rate = given.iter().all(|(option, _)| *option != "--rate").then_some(("--rate", "12mbit"));
            let of_link = given.iter().copied().filter(|(option, _)| !matches!(*option, "--delay" | "--loss"));
            let words =
                rate.into_iter().chain(of_link).map(|(option, value)| format!(" {option} {}", shell_word(value)));
            ("link", format!("link{}", words.collect::<String>()))
        }
    };
    Err(Error::Input(format!("{option}: of `sojourn {outer}`; write sojourn {line} -- sojourn {name} …")))
}

/// A word as a shell takes it.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:,@%+=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
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
            let text = "has a log already; name another folder";
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
pub(super) fn given(name: &str) -> Result<String, Error> {
    if (1..=64).contains(&name.len()) && name.chars().all(is_of_a_name) && !name.chars().all(|c| c.is_ascii_digit()) {
        return Ok(name.to_string());
    }
    Err(Error::Input(format!(
        "--name: {name:?} is no name; write up to 64 letters, digits, - or _, a letter among them"
    )))
}

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// The name of a host, as `/etc/hosts` has it.
fn host(name: &str) -> Result<String, Error> {
    if (1..=253).contains(&name.len()) && name.chars().all(is_of_a_name) && name.parse::<std::net::IpAddr>().is_err() {
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

/// The options of a command, its own ones first.
pub(super) fn options(name: &str) -> Vec<Opt> {
    own(name).options.iter().chain(COMMON).copied().collect()
}

/// What a command has of its own.
fn own(name: &str) -> &'static Own {
    match name {
        "link" => LINK,
        "delay" => DELAY,
        _ => LOSS,
    }
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
        Opt { name: "--up", value: "DELAY", about: "Outgoing direction, or a file of delays." },
        Opt { name: "--down", value: "DELAY", about: "Incoming direction, or a file of delays." },
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

Run a command behind a one-way delay in each direction, e.g. 20ms or 20ms@0s,60ms@50s, or a file with such a
step in each line.";

const LOSS_USAGE: &str = "
Usage: sojourn loss LOSS [OPTIONS] [--] [COMMAND]...

Run a command behind a lossy path. LOSS is a probability (1%, 0.01) or Gilbert and Elliott's chain,
\"p 0.002 r 0.2\" with bad, good and step.";

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::registry::REGISTERED;
    use sojourn_sim::scenario::Service;

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
    fn what_another_command_does_is_refused_with_the_line_that_has_both() {
        for (line, error) in [
            ("link --delay 20ms", "--delay: of `sojourn delay`; write sojourn delay 20ms -- sojourn link …"),
            (
                "link --rate 1mbit --loss=1.5% -- true",
                "--loss: of `sojourn loss`; write sojourn loss 1.5% -- sojourn link …",
            ),
            (
                "link --up 1mbit --delay a'b",
                "--delay: of `sojourn delay`; write sojourn delay 'a'\\''b' -- sojourn link …",
            ),
            (
                "delay 20ms --rate 3mbit",
                "--rate: of `sojourn link`; write sojourn link --rate 3mbit -- sojourn delay …",
            ),
            (
                "delay --aqm pie --limit 9ms 20ms",
                "--aqm: of `sojourn link`; write sojourn link --rate 12mbit --aqm pie --limit 9ms -- sojourn delay …",
            ),
            ("loss 1% --delay 3ms", "--delay: of `sojourn delay`; write sojourn delay 3ms -- sojourn loss …"),
            ("delay 2ms --loss 1%", "--loss: of `sojourn loss`; write sojourn loss 1% -- sojourn delay …"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_string).collect();
            let Err(refused) = parse(&words[0], &words[1..], &words, REGISTERED) else { panic!("{line} is accepted") };
            assert_eq!(refused.to_string(), error);
        }
        let command = ["loss", "1%", "--", "curl", "--delay", "3ms"].map(str::to_string);
        assert!(parse(&command[0], &command[1..], &command, REGISTERED).is_ok(), "those of the command are its own");
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
}
