//! The shells without Python: `cargo run --example shell -- delay 20ms -- ping -c 3 100.64.0.1`.

fn main() {
    #[cfg(target_os = "linux")]
    std::process::exit({
        let words: Vec<String> = std::env::args().skip(1).collect();
        let code = sojourn_emu::cli::main(&words).code;
        if code < 0 { 128 - code } else { code }
    })
}
