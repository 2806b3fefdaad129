//! Messages between a shell and its inner side, by their first byte.

/// Setup is complete. The gateway's PID (zero for none) and the interface indices follow, with the descriptors of
/// devices and sockets.
pub const READY: u8 = b'r';
/// Setup failed; an error message follows.
pub const FAILED: u8 = b'f';
/// The command could not be started; `errno` follows.
pub const NOT_STARTED: u8 = b'n';
/// The command has started; its PID follows.
pub const STARTED: u8 = b's';
/// The command exited; its exit code follows.
pub const EXITED: u8 = b'x';
/// A signal ended the command; its number follows.
pub const KILLED: u8 = b'k';
/// To the inner side: the command's packets are delivered, so the gateway can end.
pub const DONE: u8 = b'd';
/// To the inner side: run the command.
pub const GO: u8 = b'g';
