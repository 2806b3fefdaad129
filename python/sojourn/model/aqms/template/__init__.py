"""Template of a queue manager in Rust as a shared library: `lib.rs` is its source; a test builds it."""
