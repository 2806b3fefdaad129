//! s2n-quic 1.91.0 in its own simulation, whose network is a net.

pub mod endpoint;
pub mod network;
