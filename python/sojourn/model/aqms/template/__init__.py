"""A crate of one's own: a queue manager in Rust as a shared library. `lib.rs` is its source, built by a test."""
