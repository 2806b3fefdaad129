//! All tests of this folder in one program, which is linked once; `--test all NAME::` selects a file.

mod controls;
mod mechanisms;
mod ns2_senders;
