//! All tests of this folder in one program, which is linked once; `--test all NAME::` selects a file.

mod common;

mod cc_header;
mod header;
mod libraries;
mod net;
mod ns3;
mod programs;
