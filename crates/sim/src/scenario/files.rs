//! Where the files are that a scenario names: on disk, or with a host that has no file system.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Finds and opens the files that a scenario names.
pub trait Files {
    /// The whole path of the file that is written as `name`, which stays the same when it is looked for again.
    fn find(&self, name: &str) -> Result<String, String>;

    /// Opens a file that was found; one that cannot be read a second time is refused.
    fn open(&self, path: &str) -> Result<Box<dyn Read + '_>, String>;

    /// Whether there is a file at a whole path.
    fn has(&self, path: &str) -> bool;
}

/// Files on disk, whose relative paths start from a folder.
pub struct Folder<'a>(pub &'a Path);

impl Files for Folder<'_> {
    /// Absolute and without symbolic links.
    fn find(&self, name: &str) -> Result<String, String> {
        let path = self.0.join(name);
        let canonical = path.canonicalize().map_err(|e| format!("{}: {e}", path.display()))?;
        let text = canonical.to_str().map(String::from);
        text.ok_or_else(|| format!("{} is not valid UTF-8; rename the file", canonical.display()))
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + '_>, String> {
        let fail = |e: std::io::Error| format!("{path}: {e}");
        // A pipe or a device could not be read a second time, and a study reads its files once per run.
        if !Path::new(path).metadata().map_err(fail)?.is_file() {
            return Err(format!("{path} is not a regular file"));
        }
        Ok(Box::new(File::open(path).map_err(fail)?))
    }

    fn has(&self, path: &str) -> bool {
        Path::new(path).exists()
    }
}
