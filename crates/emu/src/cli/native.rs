//! Command lines of `link`, `delay` and `loss`.

use super::args::{self, OperandLimit, text};
use super::help::{self, Help};
use super::kinds::{delays, links, losses};
use super::options::{CommonOptions, DelayOptions, DirectionOption, LinkOptions, LossOptions};
use super::{Invocation, Log, Printed, ShellRequest};
use crate::Error;
use crate::path::{DirectionConfig, Gso, LogConfig, LogFormat, PathKind, PortRules, Side};
use crate::shell::{AttachPoint, InnerCommand, MeterView, Shell};
use clap::Args;
use serde_json::json;
use sojourn_aqm::class::ClassId;
use sojourn_aqm::params::unknown;
use sojourn_aqm::registry::Catalogue;
use sojourn_aqm::{Duration, units};
use sojourn_sim::scenario::LinkSpec;
use sojourn_sim::sentence::{Manager, Sentence, Vocabulary};
use std::path::{Path, PathBuf};

/// Parses the command `name`, which can name the queue managers of `managers`; `line` is the whole command line.
pub fn parse(name: &str, words: &[String], line: &[String], managers: &dyn Catalogue) -> Result<Invocation, Error> {
    match name {
        "link" => parse_as(&LINK, words, line, |link: &LinkOptions, _, mtu| {
            [link.service(), link.aqm(), link.netem(), link.limit()].iter().try_for_each(DirectionOption::check)?;
            let ports = port_rules(&link.class, &link.hosts)?;
            let kinds = links(link, mtu, managers)?;
            check_sentences(&link.expect, &kinds)?;
            Ok(PathOptions { gso: gso(link.gso.as_deref())?, ports, expected: link.expect.clone(), ..kinds.into() })
        }),
        "delay" => parse_as(&DELAY, words, line, |delay: &DelayOptions, word, _| {
            let given = DirectionOption::of_word("delay", word, [&delay.up, &delay.down]);
            given.check()?;
            Ok(PathOptions { gso: gso(delay.gso.as_deref())?, ..delays(&given)?.into() })
        }),
        _ => parse_as(&LOSS, words, line, |loss: &LossOptions, word, _| {
            let given = DirectionOption::of_word("loss", word, [&loss.up, &loss.down]);
            given.check()?;
            losses(&given).map(PathOptions::from)
        }),
    }
}

/// Configuration of a shell's directions.
struct PathOptions {
    /// Up first.
    kinds: [PathKind; 2],
    gso: Gso,
    /// Classes and hosts of packets by port.
    ports: PortRules,
    /// Sentences that must be true of the link.
    expected: Vec<String>,
}

impl From<[PathKind; 2]> for PathOptions {
    fn from(kinds: [PathKind; 2]) -> Self {
        Self { kinds, gso: Gso::default(), ports: PortRules::default(), expected: Vec::new() }
    }
}

/// Refuses sentences that are wrong, or that a link cannot judge, before the command runs.
fn check_sentences(texts: &[String], kinds: &[PathKind; 2]) -> Result<(), Error> {
    let [PathKind::Link(up), PathKind::Link(down)] = kinds else { return Ok(()) };
    let words = Vocabulary::new("--expect", vec![Manager::of_shell(down, up)], false);
    let check = |text: &String| Sentence::parse(text, &words).map(drop).map_err(|e| Error::Input(e.to_string()));
    texts.iter().try_for_each(check)
}

/// Options of a command, its own first.
#[derive(Args)]
struct Options<T: Args> {
    #[command(flatten)]
    own: T,
    #[command(flatten)]
    common: CommonOptions,
}

/// Syntax of a command.
struct Syntax {
    name: &'static str,
    words: usize,
    usage: &'static str,
    about: &'static str,
}

/// Parses a command line with the options of `T`; `paths` computes the directions from these options, the operand, and
/// the value of `--mtu`.
fn parse_as<T: Args>(
    syntax: &Syntax,
    words: &[String],
    line: &[String],
    paths: impl FnOnce(&T, Option<&str>, Option<&str>) -> Result<PathOptions, Error>,
) -> Result<Invocation, Error> {
    let Some(found) = args::parse::<Options<T>>(words, &OF_OTHERS, OperandLimit::AtMost(syntax.words))? else {
        let sections = vec![
            ("Options", help::options::<T>(false)),
            ("Options of every shell", help::options::<CommonOptions>(true)),
        ];
        return Ok(Invocation::Help(Help { usage: syntax.usage, about: syntax.about, sections }.text()));
    };
    refuse_others(syntax.name, &found.others)?;
    let Options { own, common } = &found.options;
    let paths = paths(own, found.words.first().map(String::as_str), common.mtu.as_deref())?;
    request(syntax.name, paths, common, &found.command, line).map(|request| Invocation::Run(Box::new(request)))
}

/// Rejects options of other commands, and suggests the command line that has both.
fn refuse_others(name: &str, given: &[(&'static str, String)]) -> Result<(), Error> {
    let Some((option, value)) = given.first() else { return Ok(()) };
    let (outer, line) = match *option {
        "--delay" | "--loss" => (&option[2..], format!("{} {}", &option[2..], shell_word(value))),
        _ => {
            let rate = given.iter().all(|(option, _)| *option != "--rate").then_some(("--rate", "12mbit"));
            let of_link = given.iter().filter(|(option, _)| !matches!(*option, "--delay" | "--loss"));
            let of_link = of_link.map(|(option, value)| (*option, value.as_str()));
            let words =
                rate.into_iter().chain(of_link).map(|(option, value)| format!(" {option} {}", shell_word(value)));
            ("link", format!("link{}", words.collect::<String>()))
        }
    };
    Err(Error::Input(format!("{option}: belongs to `sojourn {outer}`; write sojourn {line} -- sojourn {name} …")))
}

/// Options of other commands, for shells around or inside this one.
const OF_OTHERS: [&str; 5] = ["--delay", "--loss", "--rate", "--aqm", "--limit"];

/// Quotes a word for a shell.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:,@%+=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Builds the shell from the options common to all shells.
fn request(
    name: &str,
    paths: PathOptions,
    common: &CommonOptions,
    command: &[String],
    line: &[String],
) -> Result<ShellRequest, Error> {
    let span = |option: &str, text: &Option<String>, default: Duration| match text {
        None => Ok(default),
        Some(text) => units::duration(text).map_err(|e| Error::Input(format!("{option}: {e}"))),
    };
    let PathOptions { kinds: [up, down], gso, ports, expected } = paths;
    let log = common.log.as_ref().map(PathBuf::from);
    if let Some(folder) = &log {
        if [Side::Up, Side::Down].iter().any(|&side| records(folder, side).is_file()) {
            let text = "already contains a log; choose another folder";
            return Err(Error::Input(format!("--log {}: {text}", folder.display())));
        }
        std::fs::create_dir_all(folder).map_err(|e| {
            Error::Machine(format!("--log {}: {e}; choose a place that you may write to", folder.display()))
        })?;
    }
    let seed = match &common.seed {
        None => 1,
        Some(text) => text
            .parse()
            .map_err(|_| Error::Input(format!("--seed: {text:?} is not a whole number; write e.g. --seed 1")))?,
    };
    let mtu = common.mtu.as_deref().map(mtu).transpose()?;
    let attach = attach(common)?;
    let waits = attach.is_some() && command.is_empty();
    let log = match log {
        None if !expected.is_empty() => Some(Log::temporary()?),
        named => named.map(Log::kept),
    };
    let direction = |side: Side, kind| -> Result<DirectionConfig, Error> {
        let plain = DirectionConfig::new(side, kind);
        Ok(DirectionConfig {
            mtu: mtu.unwrap_or(plain.mtu),
            window: span("--window", &common.window, plain.window)?,
            logs: log.iter().map(|log| log_of(&log.folder, side, line)).collect(),
            pcap: common.pcap.as_ref().map(PathBuf::from),
            gso,
            ethernet: attach.is_some(),
            ports: ports.clone(),
            ..plain
        })
    };
    let directions = [direction(Side::Up, up)?, direction(Side::Down, down)?];
    let prompts = command.is_empty() && !waits;
    let command = if waits { InnerCommand::Own(Box::new(|_| wait_for_signal())) } else { args::command(command)? };
    let shell = Shell {
        seed,
        attach,
        peer: common.peer.clone().map(|command| text("--peer", command)).transpose()?,
        isolated: common.isolated,
        hosts: common.host.iter().map(|name| host(name)).collect::<Result<_, _>>()?,
        cc: common.cc.clone(),
        meter: if common.meter { MeterView::EVERYTHING } else { MeterView::default() },
        meter_web: common.meter_web,
        control_name: common.name.as_deref().map(shell_name).transpose()?,
        prompts,
        spin: span("--spin", &common.spin, Duration::ZERO)?,
        ..Shell::new(name, directions, command)
    };
    let printed = match (common.quiet, common.strict) {
        (false, _) => Printed::Everything,
        (true, true) => Printed::Faults,
        // A quiet shell adds nothing to the output of its command, unless it changes the exit code.
        (true, false) => Printed::LogFaults,
    };
    Ok(ShellRequest { shell, strict: common.strict, printed, log, expected })
}

/// Interface to attach to.
fn attach(common: &CommonOptions) -> Result<Option<AttachPoint>, Error> {
    let Some(interface) = &common.attach else {
        return match common.netns {
            Some(_) => Err(Error::Input("--netns: needs --attach INTERFACE".to_string())),
            None => Ok(None),
        };
    };
    for (option, is_given, why) in [
        ("--peer", common.peer.is_some(), "the peer is already there"),
        ("--isolated", common.isolated, "the machine's programs use its network"),
        ("--host", !common.host.is_empty(), "the machine's programs use its host names"),
        ("--cc", common.cc.is_some(), "the machine's programs choose their own"),
    ] {
        if is_given {
            return Err(Error::Input(format!("{option}: not with --attach, as {why}; leave it out")));
        }
    }
    let namespace = common.netns.as_deref().map(|which| match which {
        file if file.contains('/') => PathBuf::from(file),
        pid if pid.chars().all(|c| c.is_ascii_digit()) => PathBuf::from(format!("/proc/{pid}/ns/net")),
        name => Path::new("/run/netns").join(name),
    });
    Ok(Some(AttachPoint { interface: interface.to_string(), namespace }))
}

/// Command of a shell that is attached to an interface and has no command: waits for a signal.
fn wait_for_signal() -> i32 {
    use nix::sys::signal::{SigSet, Signal};
    let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
    match signals.thread_block().and_then(|()| signals.wait()) {
        Ok(_) => 0,
        Err(_) => 1,
    }
}

/// Parses `--mtu` like a link's key.
fn mtu(text: &str) -> Result<u32, Error> {
    let read = LinkSpec::parse("", &json!({ "rate": "1 Gbit/s", "mtu": text }), Path::new("."));
    read.map(|spec| spec.mtu).map_err(|error| Error::Input(format!("--mtu: {}", error.message)))
}

/// Validates the name of a shell, which is a part of a file name.
pub(super) fn shell_name(name: &str) -> Result<String, Error> {
    if (1..=64).contains(&name.len()) && name.chars().all(is_of_a_name) && !name.chars().all(|c| c.is_ascii_digit()) {
        return Ok(name.to_string());
    }
    Err(Error::Input(format!(
        "--name: {name:?} is not a name; write up to 64 letters, digits, - or _, with at least one letter"
    )))
}

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Validates a host name for `/etc/hosts`.
fn host(name: &str) -> Result<String, Error> {
    if (1..=253).contains(&name.len()) && name.chars().all(is_of_a_name) && name.parse::<std::net::IpAddr>().is_err() {
        return Ok(name.to_string());
    }
    Err(Error::Input(format!("--host: {name:?} is not a host name; write e.g. www.example.org")))
}

/// Value of `--gso`, or the default.
fn gso(name: Option<&str>) -> Result<Gso, Error> {
    name.map_or(Ok(Gso::default()), gso_of)
}

/// Parses `cut` or `keep`.
pub(super) fn gso_of(name: &str) -> Result<Gso, Error> {
    let known = [Gso::Cut, Gso::Keep];
    let found = known.into_iter().find(|gso| gso.name() == name);
    found.ok_or_else(|| Error::Input(format!("--gso: {}", unknown("choice", name, known.into_iter().map(Gso::name)))))
}

/// Parses lists of `PORT=CLASS` and of `PORT=CLIENT,SERVER`.
pub(super) fn port_rules<T: AsRef<str>>(classes: &[T], hosts: &[T]) -> Result<PortRules, Error> {
    Ok(PortRules {
        classes: classes.iter().map(|text| class(text.as_ref())).collect::<Result<_, _>>()?,
        hosts: hosts.iter().map(|text| hosts_of_port(text.as_ref())).collect::<Result<_, _>>()?,
    })
}

/// Splits `PORT=VALUE`.
fn port(text: &str) -> Option<(u16, &str)> {
    let (port, value) = text.split_once('=')?;
    Some((port.trim().parse().ok().filter(|&port| port > 0)?, value.trim()))
}

/// Parses `PORT=CLIENT,SERVER`.
fn hosts_of_port(text: &str) -> Result<(u16, (u32, u32)), Error> {
    let read = || {
        let (port, (client, server)) = port(text).and_then(|(port, hosts)| Some((port, hosts.split_once(',')?)))?;
        Some((port, (client.trim().parse().ok()?, server.trim().parse().ok()?)))
    };
    let wrong = || format!("--hosts: {text:?} is not a port and two numbers of hosts; write e.g. 5201=1,2");
    read().ok_or_else(|| Error::Input(wrong()))
}

/// Parses `PORT=CLASS`.
fn class(text: &str) -> Result<(u16, ClassId), Error> {
    let wrong = |text: &str| Error::Input(format!("--class: {text:?} is not a port and a class; write e.g. 5201=1:10"));
    let (port, class) = port(text).ok_or_else(|| wrong(text))?;
    let class = ClassId::parse(class, 0).map_err(|e| Error::Input(format!("--class {text}: {e}")))?;
    if class.is_none() { Err(wrong(text)) } else { Ok((port, class)) }
}

/// Records of a direction in a log's folder.
fn records(folder: &Path, side: Side) -> PathBuf {
    folder.join(format!("{}.records", side.name()))
}

fn log_of(folder: &Path, side: Side, line: &[String]) -> LogConfig {
    LogConfig { path: records(folder, side), format: LogFormat::Records, command: line.join(" ") }
}

const LINK: Syntax = Syntax {
    name: "link",
    words: 0,
    usage: "sojourn link --up SPEC --down SPEC [OPTIONS] [--] [COMMAND]...",
    about: "Run a command behind an emulated link; without a command, your shell.

SPEC is a rate (12mbit), rates in steps (100mbit@0s,10mbit@50s), a trace of delivery opportunities in Mahimahi's format, \
or the keys of a scenario's link in JSON ('{\"rate\": \"12 Mbit/s\", \"delay\": \"20 ms\"}').",
};

const DELAY: Syntax = Syntax {
    name: "delay",
    words: 1,
    usage: "sojourn delay DELAY [OPTIONS] [--] [COMMAND]...",
    about: "Run a command behind a one-way delay in each direction, e.g. 20ms or 20ms@0s,60ms@50s, or a file with such a \
step in each line.",
};

const LOSS: Syntax = Syntax {
    name: "loss",
    words: 1,
    usage: "sojourn loss LOSS [OPTIONS] [--] [COMMAND]...",
    about: "Run a command behind a lossy path.

LOSS is a probability (1%, 0.01) or Gilbert and Elliott's chain, \"p 0.002 r 0.2\" with bad, good and step.",
};

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::registry::REGISTERED;
    use sojourn_sim::scenario::Service;

    #[test]
    fn a_line_of_netem_is_taken_as_it_stands_and_holds_the_queue_manager() {
        let aqms = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
            let Ok(Invocation::Run(request)) = parse("link", &words, &words, REGISTERED) else { panic!("{words:?}") };
            [request.shell.up, request.shell.down].map(|direction| match direction.kind {
                PathKind::Link(spec) => (spec.aqm.text, spec.service.nominal_rate(1500).as_bps()),
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
            (
                "link --rate 1mbit --up 2mbit --down 3mbit",
                "--rate: both directions are already set by --up and --down; leave it out",
            ),
            (
                "link --rate 1mbit --aqm pie --aqm-up codel --aqm-down codel",
                "--aqm: both directions are already set by",
            ),
            (
                "delay 20ms --up 1ms --down 2ms",
                "20ms: both directions are already set by --up and --down; leave it out",
            ),
            ("loss 1% --up 2% --down 3%", "1%: both directions are already set by --up and --down; leave it out"),
            ("delay 1ms --host 10.0.0.1", "--host: \"10.0.0.1\" is not a host name; write e.g. www.example.org"),
            ("loss 1", "loss: 1 is ambiguous, 1 % or 100 %; write 1% or 1.0"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_string).collect();
            let Err(refused) = parse(&words[0], &words[1..], &words, REGISTERED) else { panic!("{line} is accepted") };
            assert!(refused.to_string().starts_with(error), "{refused}");
        }
    }

    #[test]
    fn what_another_command_does_is_refused_with_the_line_that_has_both() {
        for (line, error) in [
            ("link --delay 20ms", "--delay: belongs to `sojourn delay`; write sojourn delay 20ms -- sojourn link …"),
            (
                "link --rate 1mbit --loss=1.5% -- true",
                "--loss: belongs to `sojourn loss`; write sojourn loss 1.5% -- sojourn link …",
            ),
            (
                "link --up 1mbit --delay a'b",
                "--delay: belongs to `sojourn delay`; write sojourn delay 'a'\\''b' -- sojourn link …",
            ),
            (
                "delay 20ms --rate 3mbit",
                "--rate: belongs to `sojourn link`; write sojourn link --rate 3mbit -- sojourn delay …",
            ),
            (
                "delay --aqm pie --limit 9ms 20ms",
                "--aqm: belongs to `sojourn link`; write sojourn link --rate 12mbit --aqm pie --limit 9ms -- sojourn \
                 delay …",
            ),
            ("loss 1% --delay 3ms", "--delay: belongs to `sojourn delay`; write sojourn delay 3ms -- sojourn loss …"),
            ("delay 2ms --loss 1%", "--loss: belongs to `sojourn loss`; write sojourn loss 1% -- sojourn delay …"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_string).collect();
            let Err(refused) = parse(&words[0], &words[1..], &words, REGISTERED) else { panic!("{line} is accepted") };
            assert_eq!(refused.to_string(), error);
        }
        let command = ["loss", "1%", "--", "curl", "--delay", "3ms"].map(str::to_string);
        assert!(parse(&command[0], &command[1..], &command, REGISTERED).is_ok(), "those of the command are its own");
    }

    #[test]
    fn sentences_are_checked_before_the_command_runs() {
        let refusal = |sentence: &str| {
            let words = ["--rate", "5mbit", "--aqm", "codel", "--expect", sentence, "--", "true"].map(str::to_string);
            parse("link", &words, &words, REGISTERED).err().map(|error| error.to_string()).unwrap_or_default()
        };
        for (sentence, error) in [
            ("p95(sojourn, up) < 50", "p95(sojourn, up) is in ms, 50 is a plain number; write both in one unit"),
            ("p95(sojourn, forward) < 50 ms", "\"forward\" is unknown; expected one of A, codel, sojourn, down, up"),
            ("goodput > 1 Mbit/s", "only programs know it; a link knows sojourn, utilisation, drops"),
            ("mos(flows.0) > 3", "no flows.0; a shell has no flow groups"),
            ("tupdate < 5 ms", "neither a metric nor a parameter of codel"),
        ] {
            let found = refusal(sentence);
            assert!(found.starts_with("--expect: ") && found.contains(error), "{sentence}: {found}");
        }
    }

    #[test]
    fn planned_changes_are_those_of_a_scenario() {
        let of = |changes: &str| {
            let words = ["--rate", "5mbit", "--aqm", "codel", "--changes", changes].map(str::to_string);
            match parse("link", &words, &words, REGISTERED)? {
                Invocation::Run(request) => Ok([request.shell.down.kind, request.shell.up.kind]),
                Invocation::Help(_) => unreachable!("no help is asked for"),
            }
        };
        let changes = r#"[{ "at": "1 s", "link": { "rate": "2 Mbit/s", "aqm": "codel target 9ms" } },
                          { "at": "2 s", "link": { "loss": 0.1 }, "reverse": { "limit": "9 packets" } }]"#;
        let [PathKind::Link(down), PathKind::Link(up)] = of(changes).unwrap() else { panic!("links are links") };
        assert!(
            matches!(&down.service, Service::Steps(steps) if steps.rate.to_string() == "5 Mbit/s@0 s,2 Mbit/s@1 s")
        );
        assert_eq!((down.changes.len(), up.changes.len()), (2, 1));
        assert!(down.changes[0].keeps && up.changes[0].keeps);
        for (changes, error) in [
            ("[{}", "--changes: not a JSON list"),
            (r#"[{ "at": "1 s", "lnk": {} }]"#, r#"--changes: unknown key "lnk"; did you mean "link"?"#),
            (r#"[{ "at": "1 s", "link": { "aqm": "codell" } }]"#, "--changes: changes[0].link.aqm: unknown AQM"),
        ] {
            let found = of(changes).err().map(|error: Error| error.to_string()).unwrap_or_default();
            assert!(found.starts_with(error), "{found}");
        }
    }
}
