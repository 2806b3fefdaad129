//! Command lines of the shells (`link`, `delay`, `loss`, Mahimahi's names for them), and of `ctl`, which changes them.

mod args;
mod ctl;
mod help;
mod kinds;
mod mahimahi;
mod native;
mod options;
mod python;
mod topology;

use crate::Error;
use crate::atomic_file::write_atomic;
use crate::shell::{self, Outcome, Shell, Status};
use sojourn_aqm::registry::Catalogue;
use sojourn_sim::scenario::{Folder, TableCatalogue};
use std::fs::DirBuilder;
use std::io::{ErrorKind, Write, stderr, stdout};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Names of the commands that [`main`] understands.
pub const COMMANDS: &[&str] =
    &["link", "delay", "loss", "ctl", "mm-link", "mm-delay", "mm-loss", "mm-onoff", "mm-intermittent", "mm-meter"];

/// Result of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandResult {
    /// Exit code of this program; minus the signal's number if a signal killed the command.
    pub code: i32,
    /// Folder of the log, from which results can be computed.
    pub log: Option<String>,
    /// Whether the log serves `expected` only, so that the caller removes it.
    pub is_temporary: bool,
    /// Sentences that must be true of the link; empty unless the command succeeded.
    pub expected: Vec<String>,
    /// Whether nothing is printed at the end but errors.
    pub is_quiet: bool,
}

impl CommandResult {
    /// Without a log.
    fn of(code: i32) -> Self {
        Self { code, log: None, is_temporary: false, expected: Vec::new(), is_quiet: false }
    }
}

/// Folder of a shell's log.
struct Log {
    folder: PathBuf,
    is_temporary: bool,
}

impl Log {
    fn kept(folder: PathBuf) -> Self {
        Self { folder, is_temporary: false }
    }

    /// A new folder that only its owner can read.
    fn temporary() -> Result<Self, Error> {
        let (parent, process) = (std::env::temp_dir(), std::process::id());
        for number in 0..MAX_FOLDERS {
            let folder = parent.join(format!("sojourn-log-{process}-{number}"));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(Self { folder, is_temporary: true }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::Machine(format!("{}: {error}; give --log", folder.display()))),
            }
        }
        Err(Error::Machine(format!("{}: is full of old logs; give --log", parent.display())))
    }

    /// Removes the folder if no other process does.
    fn discard(self) {
        if self.is_temporary {
            // A folder that is left over does no harm.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// Maximum number of temporary folders that are tried.
const MAX_FOLDERS: u32 = 1000;

/// Output of a shell at its end, beside errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Printed {
    /// The report and the faults.
    Everything,
    Faults,
    /// Faults that leave a log incomplete.
    LogFaults,
}

/// A shell, and the handling of its outcome.
struct ShellRequest {
    shell: Shell,
    /// Whether an unfaithful run is a failure.
    strict: bool,
    /// Output at the end.
    printed: Printed,
    /// Folder for the log.
    log: Option<Log>,
    /// Sentences that must be true of the link.
    expected: Vec<String>,
}

/// Action of a command line.
enum Invocation {
    Run(Box<ShellRequest>),
    Help(String),
}

/// Runs a command line, `["link", "--rate", "12mbit", "--", "curl", …]`, which can name the queue managers of `own` as
/// well. The process must be single-threaded.
pub fn main(words: &[String], own: &dyn Catalogue) -> CommandResult {
    let files = Folder(Path::new("."));
    let tables = TableCatalogue { own, files: &files };
    let own = &python::NoPythonCatalogue(&tables);
    match words.split_first().map(|(name, arguments)| (name.as_str(), arguments)) {
        Some(("ctl", arguments)) => return ctl::main(arguments),
        Some(("topology", arguments)) => return topology::main(arguments, own),
        _ => {}
    }
    match parse(words, own) {
        Ok(Invocation::Help(text)) => {
            // A closed pipe is not an error.
            let _ = writeln!(stdout(), "{text}");
            CommandResult::of(0)
        }
        Ok(Invocation::Run(request)) => {
            let ShellRequest { shell, strict, printed, log, expected } = *request;
            let command = shell.command.words().join(" ");
            let (ended, succeeded) = match shell::run(shell, own) {
                Ok(outcome) => {
                    let ended = report(&outcome, &command, printed, strict, log.as_ref());
                    (ended, matches!(outcome.status, Status::Exited(0)))
                }
                Err(error) => (fail(&error), false),
            };
            match log {
                Some(log) if ended.log.is_some() => {
                    let expected = if succeeded { expected } else { Vec::new() };
                    let is_quiet = printed != Printed::Everything;
                    CommandResult { is_temporary: log.is_temporary, expected, is_quiet, ..ended }
                }
                log => {
                    log.into_iter().for_each(Log::discard);
                    ended
                }
            }
        }
        Err(error) => fail(&error),
    }
}

fn parse(words: &[String], own: &dyn Catalogue) -> Result<Invocation, Error> {
    let (name, arguments) =
        words.split_first().ok_or_else(|| Error::Input("no command given; see sojourn --help".to_string()))?;
    match name.as_str() {
        "link" | "delay" | "loss" => native::parse(name, arguments, words, own),
        _ => mahimahi::parse(name, arguments, words),
    }
}

fn fail(error: &Error) -> CommandResult {
    print_line(&format!("Error: {error}"));
    CommandResult::of(error.exit_code())
}

/// Prints the outcome, and returns the exit code.
fn report(outcome: &Outcome, command: &str, printed: Printed, strict: bool, log: Option<&Log>) -> CommandResult {
    if let Status::NotStarted(errno) = outcome.status {
        let error = std::io::Error::from_raw_os_error(errno);
        print_line(&format!("Error: {command}: {error}; give the name of a program after --"));
        // As in a shell: 127 if there is no such program, 126 if it cannot be executed.
        return CommandResult::of(if errno == libc::ENOENT { 127 } else { 126 });
    }
    let faults = outcome.faults();
    let name = &outcome.shell.name;
    if printed == Printed::Everything {
        outcome.lines().iter().for_each(|line| print_line(&format!("{name}: {line}")));
    }
    let told = if printed == Printed::LogFaults { &outcome.log_faults() } else { &faults };
    told.iter().for_each(|fault| print_line(&format!("{name}: not faithful: {}", fault.0)));
    let failed = strict && !faults.is_empty();
    let mut unwritten = false;
    let log = log.map(|log| &log.folder).filter(|folder| match write_atomic(&folder.join(SHELL_FILE), outcome.json().as_bytes()) {
        Ok(()) => true,
        Err(error) => {
            let (path, folder) = (folder.join(SHELL_FILE), folder.display());
            let remedy = "the records written so far are complete; free some space, then make a result of them: sojourn log repair";
            print_line(&format!("Error: {}: {error}; {remedy} {folder}", path.display()));
            unwritten = true;
            false
        }
    });
    let code = match outcome.status {
        Status::Exited(0) if unwritten => MACHINE,
        Status::Exited(0) if failed => 1,
        Status::Exited(code) => code,
        Status::Killed(signal) => -signal,
        Status::NotStarted(_) => unreachable!("reported above"),
    };
    CommandResult { log: log.map(|folder| folder.display().to_string()), ..CommandResult::of(code) }
}

/// Prints a line to standard error. Control characters are escaped, so that a name in it cannot control the terminal.
fn print_line(line: &str) {
    // A closed pipe is not an error.
    let _ = writeln!(stderr(), "{}", printable(line));
}

/// Escapes control characters except tab and line feed, and bidirectional control characters.
fn printable(text: &str) -> String {
    let steers = |c: char| {
        c.is_control() && !matches!(c, '\t' | '\n') || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        if !steers(c) {
            shown.push(c);
        } else if c <= '\u{ff}' {
            shown += &format!("\\x{:02x}", c as u32);
        } else {
            shown += &format!("\\u{:04x}", c as u32);
        }
        shown
    })
}

/// Exit code if the machine lacks something, such as space.
const MACHINE: i32 = 3;

/// File of [`Outcome::json`] in a log's folder.
const SHELL_FILE: &str = "shell.json";

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn a_name_cannot_steer_a_terminal() {
        assert_eq!(printable("a\r \u{1b}[31m\u{84}\u{202e}\tü\n"), "a\\x0d \\x1b[31m\\x84\\u202e\tü\n");
    }
}
