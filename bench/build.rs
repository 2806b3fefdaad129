//! Tells the program which build it is: instruction counts are compared within one only.

use std::env;
use std::process::Command;

fn main() {
    let rustc = env::var("RUSTC").expect("cargo names the compiler");
    let output = Command::new(rustc).arg("--version").output().expect("the compiler tells its version");
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split(' ').nth(1).unwrap_or("unknown").trim();
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo names the target");
    // What a profile is changed with for a quick build.
    let other: String = ["LTO", "CODEGEN_UNITS", "OPT_LEVEL"]
        .into_iter()
        .filter_map(|name| {
            let variable = format!("CARGO_PROFILE_RELEASE_{name}");
            println!("cargo:rerun-if-env-changed={variable}");
            env::var(variable).ok().map(|value| format!("-{}-{value}", name.to_lowercase()))
        })
        .collect();
    println!("cargo:rustc-env=SOJOURN_BUILD=rustc-{version}-{arch}{other}");
    println!("cargo:rerun-if-changed=build.rs");
}
