//! BLUE of `examples/rust-aqm` as a shared library: `cargo build --release -p sojourn-example-library`, then
//! `link.aqm = "target/release/libsojourn_example_library.so increment 0.05"`.

use sojourn_example_aqm::BLUE;

sojourn_library::export!(
    "my_blue",
    "BLUE: a drop probability steered by overflows and idle times",
    "W. Feng et al., University of Michigan CSE-TR-387-99, 1999",
    BLUE
);
