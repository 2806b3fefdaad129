//! The command inside a shell.

use std::ffi::CString;
use std::net::IpAddr;

/// The command inside a shell.
pub enum InnerCommand {
    /// A program and its arguments; at least one word.
    Program(Vec<CString>),
    /// A function of this program, run in a child process. Its argument is `$SOJOURN_HOST`, its result the exit code.
    Own(Box<dyn Fn(IpAddr) -> i32>),
}

impl InnerCommand {
    /// Program and arguments as text; empty for a function.
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Program(words) => texts(words),
            Self::Own(_) => Vec::new(),
        }
    }
}

/// Words of a command as text; invalid UTF-8 is replaced.
pub(crate) fn texts(words: &[CString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}
