//! The event loop of an emulation, and what it serves besides packets: orders, the live view, stalls, the machine's load.

pub(crate) mod desk;
pub(crate) mod load;
pub(crate) mod meter;
pub(crate) mod stalls;
