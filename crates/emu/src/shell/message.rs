//! What a shell and its inner side tell each other, by the first byte of a message.

/// All is made; the number of the gateway's process, zero for none, and those of the devices follow. Devices and sockets
/// come along.
pub const READY: u8 = b'r';
/// It failed: the text says why.
pub const FAILED: u8 = b'f';
/// The command could not be started: its errno.
pub const NOT_STARTED: u8 = b'n';
/// The command has started: its number.
pub const STARTED: u8 = b's';
/// The command exited with a code.
pub const EXITED: u8 = b'x';
/// A signal ended the command.
pub const KILLED: u8 = b'k';
/// To the inner side: what the command has sent is delivered, and nothing is needed any more.
pub const DONE: u8 = b'd';
/// To the inner side: run the command.
pub const GO: u8 = b'g';
