//! Parsing of command lines with clap, and its errors in our format.

use crate::Error;
use crate::shell;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Args, Command};
use sojourn_aqm::params::unknown;
use std::ffi::CString;

/// A parsed command line.
#[derive(Debug)]
pub struct CommandLine<T> {
    /// Options.
    pub options: T,
    /// Options of other commands with their values, in the order of the names passed to [`parse`].
    pub others: Vec<(&'static str, String)>,
    /// Operands before the command to run.
    pub words: Vec<String>,
    /// The command to run; empty if none was given.
    pub command: Vec<String>,
}

/// Number of operands before the command to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandLimit {
    /// At most this number, up to three; the next word begins the command.
    AtMost(usize),
    /// All words are operands: there is no command.
    All,
}

/// Parses `line`: options of `T`, those of `others` that `T` does not have, and operands. The command begins after
/// `--`, or with the first word that is not an option, an option's value, or an operand. Returns `None` if help is
/// requested.
pub fn parse<T: Args>(
    line: &[String],
    others: &[&'static str],
    words: OperandLimit,
) -> Result<Option<CommandLine<T>>, Error> {
    let end = line.iter().position(|word| word == "--").unwrap_or(line.len());
    let (head, tail) = line.split_at(end);
    let own = syntax::<T>();
    let others: Vec<&'static str> = others.iter().copied().filter(|name| option(&own, name).is_none()).collect();
    let hidden = others.iter().map(|&name| Arg::new(name).long(&name[2..]).value_name("VALUE").hide(true));
    let all = words == OperandLimit::All;
    let names = match words {
        OperandLimit::AtMost(most) => &WORDS[..most.min(WORDS.len())],
        OperandLimit::All => &[],
    };
    let rest = Arg::new(REST).num_args(0..).trailing_var_arg(!all);
    let syntax = own.args(hidden).args(names.iter().map(|name| Arg::new(*name))).arg(rest);
    // As with getopt, the next word is the value of an option, even if it begins with a hyphen.
    let syntax = syntax.mut_args(|arg| match arg.is_positional() || !arg.get_action().takes_values() {
        true => arg,
        false => arg.allow_hyphen_values(true),
    });
    let found = syntax.clone().try_get_matches_from(head).map_err(|error| refusal(&syntax, &error))?;
    if found.get_flag(HELP) {
        return Ok(None);
    }
    let value = |&name: &&'static str| Some((name, found.get_one::<String>(name)?.clone()));
    let mut words: Vec<String> = names.iter().filter_map(|name| found.get_one::<String>(name).cloned()).collect();
    let mut command: Vec<String> = found.get_many::<String>(REST).into_iter().flatten().cloned().collect();
    // After the start of the command, `--` is one of its words.
    command.extend(tail.iter().skip(usize::from(all || command.is_empty())).cloned());
    if all {
        words.append(&mut command);
    }
    let options = T::from_arg_matches(&found).map_err(|error| refusal(&syntax, &error))?;
    Ok(Some(CommandLine { options, others: others.iter().filter_map(value).collect(), words, command }))
}

/// Syntax of a command line with the options of `T`, and `--help`.
pub fn syntax<T: Args>() -> Command {
    let help = Arg::new(HELP).short('h').long(HELP).help("Show this message and exit.").action(ArgAction::SetTrue);
    let command = Command::new("").no_binary_name(true).disable_help_flag(true).disable_version_flag(true);
    // The last value of a repeated option counts.
    T::augment_args(command.args_override_self(true)).arg(help)
}

fn option<'a>(syntax: &'a Command, name: &str) -> Option<&'a Arg> {
    syntax.get_arguments().find(|arg| arg.get_long().is_some() && arg.get_long() == name.strip_prefix("--"))
}

/// Formats an error of clap as one line with the remedy.
fn refusal(syntax: &Command, error: &clap::Error) -> Error {
    let arg = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(arg)) => arg.as_str(),
        _ => "",
    };
    let name = arg.split_once(' ').map_or(arg, |(name, _)| name);
    Error::Input(match error.kind() {
        ErrorKind::UnknownArgument => {
            let names: Vec<String> =
                syntax.get_arguments().filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect();
            unknown("option", name, names.iter().map(String::as_str))
        }
        ErrorKind::TooManyValues => format!("{name} takes no value; write {name}"),
        _ => {
            let value = option(syntax, name).and_then(Arg::get_value_names).and_then(<[_]>::first);
            format!("{name} needs a value; write {name} {}", value.map_or("VALUE", |value| value.as_str()))
        }
    })
}

/// The command for [`crate::shell`]: `words`, or the user's shell if there are none.
pub fn command(words: &[String]) -> Result<shell::InnerCommand, Error> {
    let own = || vec![std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_string())];
    let words = if words.is_empty() { own() } else { words.to_vec() };
    words.into_iter().map(|word| text("command", word)).collect::<Result<_, _>>().map(shell::InnerCommand::Program)
}

/// Converts an argument to a C string.
pub fn text(source: &str, text: String) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::Input(format!("{source}: contains a NUL byte; write it without")))
}

const HELP: &str = "help";
const WORDS: [&str; 3] = ["first", "second", "third"];
const REST: &str = "rest";

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Args, Debug)]
    struct Options {
        #[arg(short, long, value_name = "SPEC")]
        up: Option<String>,
        #[arg(short, long)]
        once: bool,
        #[arg(long, value_name = "NAME")]
        host: Vec<String>,
    }

    fn line(text: &str, words: OperandLimit) -> Result<CommandLine<Options>, Error> {
        let line: Vec<String> = text.split(' ').map(str::to_string).collect();
        parse(&line, &["--delay", "--up"], words).map(|line| line.expect("no help is asked for"))
    }

    #[test]
    fn the_command_begins_after_the_options() {
        for (text, most, up, words, command) in [
            ("--up 1mbit --once -- curl --up x", 0, Some("1mbit"), "", "curl --up x"),
            ("--up=1mbit curl --once", 0, Some("1mbit"), "", "curl --once"),
            ("20ms curl -v", 1, None, "20ms", "curl -v"),
            ("20ms -- ping", 1, None, "20ms", "ping"),
            ("20ms --once -- ping -- x", 1, None, "20ms", "ping -- x"),
            ("20ms sh -c x -- y", 1, None, "20ms", "sh -c x -- y"),
            ("-- ping", 1, None, "", "ping"),
            ("--up 1mbit -- ping", 1, Some("1mbit"), "", "ping"),
            ("--up 1mbit --up 2mbit", 0, Some("2mbit"), "", ""),
            ("--once --once --up -5 a b c d", 3, Some("-5"), "a b c", "d"),
            ("--up --once - --once", 1, Some("--once"), "-", ""),
        ] {
            let line = line(text, OperandLimit::AtMost(most)).unwrap();
            let found = (line.options.up.as_deref(), line.words.join(" "), line.command.join(" "));
            assert_eq!(found, (up, words.into(), command.into()), "{text}");
        }
        let line = line("home --once rate 5mbit --host a --host b -- x --once", OperandLimit::All).unwrap();
        assert_eq!((line.words.join(" "), line.command.len()), ("home rate 5mbit x --once".to_string(), 0));
        assert_eq!((line.options.once, line.options.host.join(" ")), (true, "a b".to_string()));
    }

    #[test]
    fn short_names_are_those_of_getopt() {
        for (text, up, once) in [
            ("-u 1mbit x", Some("1mbit"), false),
            ("-o -u1mbit -- x -u 2", Some("1mbit"), true),
            ("-ou 1mbit x", Some("1mbit"), true),
            ("x -u 2", None, false),
        ] {
            let line = line(text, OperandLimit::AtMost(0)).unwrap();
            assert_eq!((line.options.up.as_deref(), line.options.once), (up, once), "{text}");
            assert_eq!(line.command[0], "x");
        }
    }

    #[test]
    fn options_of_others_are_found_unless_they_are_own() {
        let line = line("--delay 20ms --up 1mbit", OperandLimit::AtMost(0)).unwrap();
        assert_eq!((line.others, line.options.up.as_deref()), (vec![("--delay", "20ms".to_string())], Some("1mbit")));
        for text in ["--help", "-h", "--up 3 --help --once", "x --help"] {
            let line: Vec<String> = text.split(' ').map(str::to_string).collect();
            assert!(parse::<Options>(&line, &[], OperandLimit::AtMost(1)).unwrap().is_none(), "{text}");
        }
    }

    #[test]
    fn refusals_name_the_remedy() {
        for (text, error) in [
            ("--upp 1mbit", r#"unknown option "--upp"; did you mean "--up"?"#),
            ("--upp=1mbit", r#"unknown option "--upp"; did you mean "--up"?"#),
            ("--once --upp -- x", r#"unknown option "--upp"; did you mean "--up"?"#),
            ("--up", "--up needs a value; write --up SPEC"),
            ("-u", "--up needs a value; write --up SPEC"),
            ("--up -- x", "--up needs a value; write --up SPEC"),
            ("--delay", "--delay needs a value; write --delay VALUE"),
            ("--once=1", "--once takes no value; write --once"),
            ("--help=", "--help takes no value; write --help"),
        ] {
            assert_eq!(line(text, OperandLimit::AtMost(0)).unwrap_err(), Error::Input(error.to_string()), "{text}");
        }
        for text in ["-5mbit", "-x", "-ox", "---", "-\u{202e}"] {
            let Err(Error::Input(error)) = line(text, OperandLimit::AtMost(1)) else { panic!("{text} is accepted") };
            assert!(error.starts_with("unknown option ") && !error.contains('\n'), "{error}");
        }
    }
}
