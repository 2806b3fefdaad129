//! The shell commands without Python, for measurements: `cargo run --release -p sojourn-emu --example shell -- link
//! --rate 1gbit`.

#[cfg(target_os = "linux")]
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    std::process::exit(sojourn_emu::cli::main(&words, sojourn_aqm::registry::REGISTERED).code);
}

#[cfg(not(target_os = "linux"))]
fn main() {}
