//! Compiles C programs and libraries with this build's header and library.
#![allow(dead_code)] // Each test binary uses a part of this module.

use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Directory of this crate.
pub const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// Cargo's output directory, with this build's libraries.
pub fn libraries() -> PathBuf {
    env::current_exe().expect("the test runs").parent().expect("it lies in a folder").to_path_buf()
}

/// Text of one of the headers.
pub fn header_text(file: &str) -> String {
    std::fs::read_to_string(Path::new(HERE).join("include").join(file)).expect("the header is there")
}

pub fn without_comments(text: &str) -> String {
    let mut parts = text.split("/*");
    let first = parts.next().unwrap_or("").to_string();
    parts.fold(first, |code, part| code + part.split_once("*/").expect("comments end").1)
}

/// Names that begin with `prefix`, without it.
pub fn constants<'h>(header: &'h str, prefix: &'h str) -> impl Iterator<Item = &'h str> {
    let words = header.split(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
    words.filter_map(move |word| word.strip_prefix(prefix))
}

/// Number of fields in the structs of a header without comments.
pub fn fields_in_structs(header: &str) -> usize {
    let structs = header.split("typedef struct ").filter_map(|part| part.split_once("{\n")?.1.split_once("\n}"));
    structs.map(|(body, _)| body.lines().filter(|line| line.trim_end().ends_with(';')).count()).sum()
}

/// Compiles `source` as C99, without warnings, into `folder`, and links it with this build's shared library.
pub fn compile(folder: &Path, source: &Path) -> PathBuf {
    let program = folder.join(source.file_stem().expect("a source has a name"));
    let libraries = libraries();
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wno-missing-field-initializers", "-Werror", "-g", "-I"]);
    cc.arg(Path::new(HERE).join("include")).arg(source).arg("-o").arg(&program);
    cc.arg(libraries.join("libsojourn_capi.so"));
    succeeds(&mut cc);
    program
}

/// Compiles `source` into a shared library in `folder`, with `-D` for each of `defines`.
pub fn compile_library(folder: &Path, source: &Path, name: &str, defines: &[&str]) -> PathBuf {
    let library = folder.join(name);
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror", "-shared", "-fPIC", "-I"]);
    cc.arg(Path::new(HERE).join("include")).args(defines.iter().map(|define| format!("-D{define}")));
    succeeds(cc.arg(source).arg("-o").arg(&library));
    library
}

/// A command for `program`, with the shared library under its installed name in the library path.
pub fn command(folder: &Path, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let link = folder.join("libsojourn_aqm.so");
    if !link.exists() {
        std::os::unix::fs::symlink(libraries().join("libsojourn_capi.so"), &link).expect("the folder is ours");
    }
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", folder);
    command
}

/// Output of `command`, which must exit with 0.
pub fn succeeds(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("it can be started");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{stdout}{stderr}");
    stdout.into_owned()
}

/// Asserts that each expression of C has its value in a program that includes `header`.
pub fn assert_values_in_c(header: &str, expected: &[(String, i64)]) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut code = format!("#include <{header}>\n#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{{\n");
    for (expression, _) in expected {
        writeln!(code, "    printf(\"%lld\\n\", (long long)({expression}));").expect("strings can be written");
    }
    code += "    return 0;\n}\n";
    let source = folder.path().join("facts.c");
    std::fs::write(&source, code).expect("the folder is ours");
    let printed = succeeds(&mut command(folder.path(), compile(folder.path(), &source)));
    let found: Vec<i64> = printed.lines().map(|line| line.parse().expect("a number")).collect();
    assert_eq!(found.len(), expected.len());
    for ((what, expected), found) in expected.iter().zip(found) {
        assert_eq!(found, *expected, "{what}");
    }
}

/// Valgrind's command; prints a note and returns `None` if it is not installed.
pub fn valgrind() -> Option<&'static str> {
    let found = Command::new("valgrind").arg("--version").output().is_ok_and(|out| out.status.success());
    if !found {
        println!("skipped: C programs under valgrind, which is absent (Debian: valgrind)");
    }
    found.then_some("valgrind")
}
