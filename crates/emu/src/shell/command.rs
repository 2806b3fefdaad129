//! What runs inside a shell.

use std::ffi::CString;
use std::net::IpAddr;

/// What runs inside a shell.
pub enum InnerCommand {
    /// A program and its arguments; at least one word.
    Program(Vec<CString>),
    /// A function of this program, in a process of its own; it gets `$SOJOURN_HOST` and returns an exit code.
    Own(Box<dyn Fn(IpAddr) -> i32>),
}

impl InnerCommand {
    /// How it is called.
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Program(words) => texts(words),
            Self::Own(_) => Vec::new(),
        }
    }
}

/// Words of a command as text.
pub(crate) fn texts(words: &[CString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}
