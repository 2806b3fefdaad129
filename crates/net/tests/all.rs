//! All tests of this folder in one program, which is linked once; `--test all NAME::` selects a file.

mod common;

mod attribute;
mod capture;
mod ip;
mod paths;
mod quinn;
mod runtime;
mod stack_budgets;
mod world;
