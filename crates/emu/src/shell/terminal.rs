//! The terminal: given back as it was found.

use crate::sys::process;
use nix::sys::signal::{SigHandler, Signal};
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::{Pid, tcgetpgrp, tcsetpgrp};
use std::io::{self, IsTerminal};

/// What the terminal was like at the start.
pub struct Terminal {
    modes: Termios,
    /// None where it is not the terminal of our session.
    group: Option<Pid>,
}

impl Terminal {
    /// The terminal of the standard input, if it is one.
    pub fn save() -> Option<Self> {
        let input = io::stdin();
        if !input.is_terminal() {
            return None;
        }
        Some(Self { modes: tcgetattr(&input).ok()?, group: tcgetpgrp(&input).ok() })
    }

    /// Puts back the modes and the group in the foreground, which a command that was killed may have changed.
    pub fn restore(&self) {
        let input = io::stdin();
        // A process in the background that changes the terminal is stopped by this signal.
        let before = process::on(Signal::SIGTTOU, SigHandler::SigIgn);
        if let Some(group) = self.group {
            let _ = tcsetpgrp(&input, group);
        }
        let _ = tcsetattr(&input, SetArg::TCSADRAIN, &self.modes);
        if let Ok(action) = before {
            let _ = process::on(Signal::SIGTTOU, action.handler());
        }
    }
}
