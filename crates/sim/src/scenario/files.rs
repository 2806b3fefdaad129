//! Access to the files that a scenario names: on disk, or supplied by a host without a file system.

use super::control::ControlArguments;
use sojourn_tcp::cc::foreign::ControlDefinition;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path};
use std::sync::Arc;

/// Finds and opens the files that a scenario names.
pub trait Files {
    /// Full path of the file `name`; `find` of that path returns the same path.
    fn find(&self, name: &str) -> Result<String, String>;

    /// Opens a file by its full path; an error for pipes and devices, which cannot be read twice.
    fn open(&self, path: &str) -> Result<Box<dyn Read + '_>, String>;

    /// Whether a file exists at a full path.
    fn has(&self, path: &str) -> bool;

    /// The congestion control of a file, such as `my_cc.py:Mine`; `None` if the name is not of a kind that the host
    /// can load.
    fn control(
        &self,
        _name: &str,
        _arguments: &ControlArguments,
    ) -> Option<Result<Arc<dyn ControlDefinition>, String>> {
        None
    }

    /// Whether congestion controls of files that are compiled into a kernel (`kernel:NAME`) are read. Do not run a
    /// connection with one.
    fn has_kernel_names(&self) -> bool {
        false
    }
}

/// Files on disk; relative paths start from this folder.
pub struct Folder<'a>(pub &'a Path);

/// Files within a folder only, for requests whose sender may name but not read other files. Absent and forbidden files
/// give the same error, so that it does not reveal which files exist.
pub struct ConfinedFolder<'a>(pub &'a Path);

impl ConfinedFolder<'_> {
    /// Full path of a file in the folder; none if it is absent or outside.
    fn inside(&self, name: &str) -> Option<String> {
        let path = Path::new(name);
        let leads_out =
            path.components().any(|part| part == Component::ParentDir) || path.has_root() && !path.starts_with(self.0);
        if leads_out {
            return None;
        }
        // A symbolic link within the folder may lead out of it.
        let whole = self.0.join(path).canonicalize().ok()?;
        let is_inside = whole.starts_with(self.0.canonicalize().ok()?);
        whole.to_str().filter(|_| is_inside).map(String::from)
    }
}

impl Files for ConfinedFolder<'_> {
    fn find(&self, name: &str) -> Result<String, String> {
        self.inside(name).ok_or_else(|| absent(name))
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + '_>, String> {
        Ok(Box::new(regular(&self.find(path)?)?))
    }

    fn has(&self, path: &str) -> bool {
        self.inside(path).is_some()
    }
}

/// Opens a regular file at a full path. A study reads its files once per run, and a pipe or a device could not be read
/// a second time.
fn regular(path: &str) -> Result<File, String> {
    let fail = |e: std::io::Error| format!("{path}: {e}");
    if !Path::new(path).metadata().map_err(fail)?.is_file() {
        return Err(format!("{path} is not a regular file"));
    }
    File::open(path).map_err(fail)
}

/// Error for a file that was not supplied with the scenario.
pub fn absent(name: &str) -> String {
    format!("{name:?} is missing here; give the file as well")
}

impl Files for Folder<'_> {
    /// Absolute and without symbolic links.
    fn find(&self, name: &str) -> Result<String, String> {
        let path = self.0.join(name);
        let canonical = path.canonicalize().map_err(|e| format!("{}: {e}", path.display()))?;
        let text = canonical.to_str().map(String::from);
        text.ok_or_else(|| format!("{} is not valid UTF-8; rename the file", canonical.display()))
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + '_>, String> {
        Ok(Box::new(regular(path)?))
    }

    fn has(&self, path: &str) -> bool {
        Path::new(path).exists()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use sojourn_aqm::registry::REGISTERED;
    use std::fs;

    #[test]
    fn nothing_is_read_beside_what_is_in_the_folder() {
        let (outer, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = outer.path().join("in");
        fs::create_dir_all(folder.join("deep")).unwrap();
        let secret = other.path().join("secret");
        for path in [&secret, &folder.join("deep/here"), &outer.path().join("beside")] {
            fs::write(path, "root:hash\n").unwrap();
        }
        std::os::unix::fs::symlink(&secret, folder.join("link")).unwrap();
        let files = ConfinedFolder(&folder);
        let found = files.find("deep/here").unwrap();
        assert!(files.has(&found) && files.open(&found).is_ok());
        assert_eq!(files.find(&found).unwrap(), found, "a whole path of a file in it");
        for name in [
            "/etc/passwd",
            "../beside",
            "deep/../../beside",
            "link",
            "/none",
            "none",
            "",
            "deep",
            secret.to_str().unwrap(),
        ] {
            // A folder is found, and not opened.
            assert!(files.open(name).is_err(), "{name}");
            if !["", "deep"].contains(&name) {
                assert_eq!(files.find(name), Err(absent(name)));
            }
            for keys in [
                format!("trace = {name:?}"),
                format!("rate = '1 Mbit/s'\ndelay_trace = {name:?}"),
                format!("rate = '1 Mbit/s'\naqm = {:?}", format!("netem delay 5ms 1ms distribution {name}")),
                format!("rate = '1 Mbit/s'\n[[flows]]\nkind = 'pcap'\nfile = {name:?}"),
            ] {
                let text = format!("duration = '1 s'\n[link]\n{keys}\n[[flows]]\nkind = 'tcp'\n");
                let refused = Scenario::parse_among(&text, &[], &files, REGISTERED).unwrap_err().to_string();
                assert!(!refused.contains("root:") && !refused.contains("hash"), "{keys}: {refused}");
            }
        }
    }
}
