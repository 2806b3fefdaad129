//! All tests of this folder in one program, which is linked once; `--test all NAME::` selects a file.

#[path = "common/kernel.rs"]
mod kernel;

mod ack_filter;
mod bad_input;
mod changes;
mod codel_properties;
mod conformance;
mod conformance_mutants;
mod exclude_ce;
mod fuzz;
mod kernel_cake;
mod kernel_codel;
mod kernel_flows;
mod kernel_fq;
mod kernel_netem;
mod kernel_newer;
mod kernel_pie;
mod kernel_red;
mod kernel_sfb;
mod nesting;
mod pie_properties;
