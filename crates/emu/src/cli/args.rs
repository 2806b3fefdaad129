//! Options and words of a command line.

use crate::Error;
use crate::shell::Command;
use sojourn_aqm::params::unknown;
use std::ffi::CString;

/// An option of a command.
#[derive(Clone, Copy, Debug)]
pub struct Opt {
    /// `--name`.
    pub name: &'static str,
    /// Placeholder for its value in the help; empty for a switch.
    pub value: &'static str,
    /// What it does.
    pub about: &'static str,
}

/// A short name of an option and its name: `("-u", "--uplink-log")`.
pub type Short = (&'static str, &'static str);

const HELP: &[Short] = &[("-h", "--help")];

/// A command line taken apart.
#[derive(Debug)]
pub struct Args {
    /// Options with their values, in order.
    options: Vec<(&'static str, String)>,
    /// Words before the command to run.
    pub words: Vec<String>,
    /// The command to run; empty where none was given.
    pub command: Vec<String>,
}

impl Args {
    /// Takes `line` apart: options of `known` and up to `most` words, then the command, which begins after `--`, or
    /// with the first word that is neither an option nor one of the `most`.
    pub fn parse(line: &[String], known: &[Opt], most: usize) -> Result<Self, Error> {
        Self::parse_short(line, known, &[], most)
    }

    /// The same where options also have short names, `-u FILE` or `-uFILE`.
    pub fn parse_short(line: &[String], known: &[Opt], short: &[Short], most: usize) -> Result<Self, Error> {
        let mut args = Self { options: Vec::new(), words: Vec::new(), command: Vec::new() };
        let mut rest = line.iter();
        while let Some(word) = rest.next() {
            if word == "--" {
                args.command = rest.cloned().collect();
                break;
            }
            if !word.starts_with('-') || word == "-" {
                if args.words.len() == most {
                    args.command = std::iter::once(word).chain(rest).cloned().collect();
                    break;
                }
                args.words.push(word.clone());
                continue;
            }
            let long = short.iter().chain(HELP).find(|(short, _)| !word.starts_with("--") && word.starts_with(short));
            let (name, given) = match (long, word.split_once('=')) {
                (Some((short, long)), _) => (*long, Some(word[short.len()..].to_string()).filter(|v| !v.is_empty())),
                (None, Some((name, value))) => (name, Some(value.to_string())),
                (None, None) => (word.as_str(), None),
            };
            let option = known.iter().find(|option| option.name == name).ok_or_else(|| {
                let names = known.iter().map(|option| option.name);
                Error::Input(unknown("option", name, names))
            })?;
            let value = match (option.value, given) {
                ("", None) => String::new(),
                ("", Some(_)) => return Err(Error::Input(format!("{name} takes no value; write {name}"))),
                (_, Some(value)) => value,
                (what, None) => rest
                    .next()
                    .cloned()
                    .ok_or_else(|| Error::Input(format!("{name} lacks its value; write {name} {what}")))?,
            };
            args.options.push((option.name, value));
        }
        Ok(args)
    }

    /// Whether a switch is on.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The last value of an option.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(given, _)| *given == name).map(|(_, value)| value.as_str())
    }

    /// All values of an option, in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.options.iter().filter(move |(given, _)| *given == name).map(|(_, value)| value.as_str())
    }

    /// The command for [`crate::shell`]: the one given, or the user's shell.
    pub fn command(&self) -> Result<Command, Error> {
        let own = || vec![std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_string())];
        let words = if self.command.is_empty() { own() } else { self.command.clone() };
        words.into_iter().map(|word| text("command", word)).collect::<Result<_, _>>().map(Command::Program)
    }
}

/// A text for the kernel.
pub fn text(place: &str, text: String) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::Input(format!("{place}: holds a zero byte; write it without")))
}

/// The lines of a help that list options.
pub fn describe(options: &[Opt]) -> String {
    let left = |option: &Opt| format!("  {} {}", option.name, option.value).trim_end().to_string();
    let width = options.iter().map(|option| left(option).len()).max().unwrap_or(0);
    options.iter().map(|option| format!("{:width$}  {}\n", left(option), option.about)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Opt] = &[
        Opt { name: "--up", value: "SPEC", about: "" },
        Opt { name: "--once", value: "", about: "" },
        Opt { name: "--help", value: "", about: "" },
    ];

    fn parse(line: &str, most: usize) -> Result<Args, Error> {
        Args::parse(&line.split(' ').map(str::to_string).collect::<Vec<_>>(), KNOWN, most)
    }

    #[test]
    fn the_command_begins_after_the_options() {
        for (line, most, up, words, command) in [
            ("--up 1mbit --once -- curl --up x", 0, Some("1mbit"), "", "curl --up x"),
            ("--up=1mbit curl --once", 0, Some("1mbit"), "", "curl --once"),
            ("20ms curl -v", 1, None, "20ms", "curl -v"),
            ("20ms -- ping", 1, None, "20ms", "ping"),
            ("-- ping", 1, None, "", "ping"),
            ("--up 1mbit --up 2mbit", 0, Some("2mbit"), "", ""),
        ] {
            let args = parse(line, most).unwrap();
            assert_eq!(
                (args.get("--up"), args.words.join(" "), args.command.join(" ")),
                (up, words.into(), command.into())
            );
        }
    }

    #[test]
    fn short_names_are_those_of_getopt() {
        let short: &[Short] = &[("-u", "--up"), ("-o", "--once")];
        for (line, up, once) in [
            ("-u 1mbit x", Some("1mbit"), false),
            ("-o -u1mbit -- x -u 2", Some("1mbit"), true),
            ("x -u 2", None, false),
        ] {
            let line: Vec<String> = line.split(' ').map(str::to_string).collect();
            let args = Args::parse_short(&line, KNOWN, short, 0).unwrap();
            assert_eq!((args.get("--up"), args.has("--once")), (up, once), "{line:?}");
            assert_eq!(args.command[0], "x");
        }
        let refused = Args::parse_short(&["-ox".to_string()], KNOWN, short, 0).unwrap_err();
        assert_eq!(refused, Error::Input("--once takes no value; write --once".to_string()));
        assert!(parse("-u 1mbit", 0).is_err(), "short names are for those who ask for them");
    }

    #[test]
    fn refusals_name_the_remedy() {
        for (line, error) in [
            ("--upp 1mbit", r#"unknown option "--upp"; did you mean "--up"?"#),
            ("--up", "--up lacks its value; write --up SPEC"),
            ("--once=1", "--once takes no value; write --once"),
        ] {
            assert_eq!(parse(line, 0).unwrap_err(), Error::Input(error.to_string()));
        }
    }
}
