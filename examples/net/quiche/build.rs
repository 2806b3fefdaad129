fn main() {
    println!("cargo:rustc-link-arg-bins=-Wl,--wrap=RAND_bytes");
}
