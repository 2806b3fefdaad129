//! The bug museum: errors of other implementations, planted one at a time, are caught by the tests of this crate.
//!
//! A mutant is a textual change of the source, so production code has no hooks for it. The crate is copied and the copy
//! is changed; then the named test must fail there. The normal test run includes a sample; `make museum` runs every
//! mutant, `SOJOURN_MUSEUM=NAME,NAME` selects some.

mod mutants;

use mutants::{MUTANTS, Mutant};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Mutants of the normal test run; each test target is built once.
const SAMPLE: [&str; 3] = ["codel-time-inside-the-root", "red-limit-ignored", "fq-batch-from-the-wrong-flow"];

#[test]
fn mutants_are_caught() {
    let choice = std::env::var("SOJOURN_MUSEUM").unwrap_or_default();
    let all = choice == "all";
    let named: Vec<&str> = choice.split(',').filter(|name| !all && !name.is_empty()).collect();
    let unknown = named.iter().find(|&&name| MUTANTS.iter().all(|mutant| mutant.name != name));
    assert_eq!(unknown, None, "SOJOURN_MUSEUM names a mutant that is none");
    let chosen = |name: &str| all || if named.is_empty() { SAMPLE.contains(&name) } else { named.contains(&name) };
    let copy = CrateCopy::new();
    let targets: BTreeSet<_> = MUTANTS.iter().map(|mutant| mutant.caught_by.0).collect();
    for target in targets.into_iter().filter(|_| all) {
        let run = copy.test(target, None);
        assert!(run.failed.is_empty() && run.passed > 0, "{target} without a mutant: {:?} fail", run.failed);
    }
    let mut missed = vec![];
    for mutant in MUTANTS.iter().filter(|mutant| chosen(mutant.name)) {
        let (target, test) = mutant.caught_by;
        let run = copy.with(mutant, |copy| copy.test(target, Some(test)));
        let caught = run.failed.iter().any(|failed| failed == test);
        println!("{}: {} by {test} of {target}", mutant.name, if caught { "caught" } else { "missed" });
        if !caught {
            missed.push(format!("{} is not caught by {test}", mutant.name));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn every_mutant_applies_and_its_test_exists() {
    for mutant in MUTANTS {
        let original = source(mutant.file);
        let mutated = mutant.applied(&original).unwrap_or_else(|e| panic!("{e}"));
        assert_ne!(original, mutated, "{}", mutant.name);
        assert!(!mutant.history.is_empty(), "{}", mutant.name);
        let (target, test) = mutant.caught_by;
        let (module, function) = test.rsplit_once("::").expect("a test lies in a module");
        let function = format!("fn {function}()");
        let tests = if target == LIB { files("src") } else { vec![format!("tests/{module}.rs")] };
        assert!(tests.iter().any(|file| source(file).contains(&function)), "{}: {test} is gone", mutant.name);
    }
    let names: BTreeSet<_> = MUTANTS.iter().map(|mutant| mutant.name).collect();
    assert_eq!(names.len(), MUTANTS.len(), "each has a name of its own");
    assert!(SAMPLE.iter().all(|name| names.contains(name)), "the sample is part of it");
}

impl Mutant {
    /// The source with this error; each original text must occur exactly once.
    fn applied(&self, source: &str) -> Result<String, String> {
        self.edits.iter().try_fold(source.to_string(), |text, (from, to)| match text.matches(from).count() {
            1 => Ok(text.replacen(from, to, 1)),
            n => Err(format!(
                "mutant {} of {}: its text is there {n} times; write anew what is to be changed:\n{from}",
                self.name, self.file
            )),
        })
    }
}

/// A copy of this crate in its own workspace, which shares the dependencies built so far.
struct CrateCopy {
    workspace: PathBuf,
    target: PathBuf,
}

/// Results of a target's tests.
struct TestOutcome {
    passed: usize,
    failed: Vec<String>,
}

impl CrateCopy {
    fn new() -> Self {
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let target = scratch.parent().expect("cargo's tmp lies in its target folder").to_path_buf();
        let copy = Self { workspace: scratch.join("museum"), target };
        let _ = fs::remove_dir_all(&copy.workspace);
        let folders = ["src", "tests", "examples"].into_iter().flat_map(files);
        for file in folders.chain(["Cargo.toml".into()]) {
            // Vectors are compressed.
            copy.write(&file, fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file)).expect("a readable file"));
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let manifest = read(&root.join("Cargo.toml"));
        let members = manifest.lines().find(|line| line.starts_with("members")).expect("a workspace has members");
        assert!(manifest.contains(BUILT_FOR_RUNS), "the profile of this crate is as it is replaced here");
        let manifest = manifest.replace(members, r#"members = ["crates/aqm"]"#).replace(BUILT_FOR_RUNS, QUICKLY_BUILT);
        fs::write(copy.workspace.join("Cargo.toml"), manifest).expect("the copy can be written");
        fs::copy(root.join("Cargo.lock"), copy.workspace.join("Cargo.lock")).expect("the copy can be written");
        copy
    }

    fn with<T>(&self, mutant: &Mutant, work: impl FnOnce(&Self) -> T) -> T {
        let original = source(mutant.file);
        self.write(mutant.file, mutant.applied(&original).unwrap_or_else(|e| panic!("{e}")));
        let result = work(self);
        self.write(mutant.file, original);
        result
    }

    /// Builds and runs the tests of a target, `lib` or `all`, or only one test, because a mutant may keep others from
    /// ending.
    fn test(&self, target: &str, one: Option<&str>) -> TestOutcome {
        let chosen = if target == LIB { vec!["--lib"] } else { vec!["--test", target] };
        let output = Command::new(env!("CARGO"))
            .args(["test", "--offline", "--package", "sojourn-aqm"])
            .args(chosen)
            .args(one.into_iter().flat_map(|test| ["--", "--exact", test]))
            .current_dir(&self.workspace)
            .env("CARGO_TARGET_DIR", &self.target)
            // A mutant changes one file of many.
            .env("CARGO_INCREMENTAL", "1")
            .output()
            .expect("cargo can be run");
        let report = String::from_utf8_lossy(&output.stdout);
        let tests = || report.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
        let failed = tests().filter(|(_, result)| result.starts_with("FAILED")).map(|(test, _)| test.to_string());
        let run =
            TestOutcome { passed: tests().filter(|&(_, result)| result == "ok").count(), failed: failed.collect() };
        let ran = run.passed + run.failed.len() > 0;
        assert!(ran, "{target} does not build or run:\n{}", String::from_utf8_lossy(&output.stderr));
        run
    }

    fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        let path = self.workspace.join("crates/aqm").join(file);
        fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("the copy can be written");
        fs::write(path, text).expect("the copy can be written");
    }
}

/// The files below a folder of this crate.
fn files(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).expect("a folder of this crate");
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    let below = paths.flat_map(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8");
        let inside = format!("{folder}/{name}");
        match path.is_dir() {
            true => files(&inside),
            false => vec![inside],
        }
    });
    below.collect()
}

/// A file of this crate.
fn source(file: &str) -> String {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Optimises for build time: each mutant costs a build and few seconds of tests.
const QUICKLY_BUILT: &str = "[profile.dev.package.sojourn-aqm]\nopt-level = 0\ndebug = false\n";
/// The profile that it replaces.
const BUILT_FOR_RUNS: &str = "[profile.dev.package.sojourn-aqm]\nopt-level = 2\n";
/// The unit tests.
const LIB: &str = "lib";
