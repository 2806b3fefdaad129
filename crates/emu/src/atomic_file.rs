//! Atomic replacement of files: write to a temporary file in the same folder, then rename it over the target.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Replaces the file at `path` atomically, after the new content has been synced to disk.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut new = AtomicFile::create(path)?;
    new.file.write_all(bytes)?;
    if new.temporary.is_some() {
        new.file.sync_all()?;
    }
    new.commit()
}

/// A file not yet renamed to its target. Dropping it before [`Self::commit`] removes the temporary file. A pipe or a
/// device is written directly.
#[derive(Debug)]
pub struct AtomicFile {
    /// The temporary file, or the target itself if it is a pipe or a device.
    pub file: File,
    temporary: Option<PathBuf>,
    target: PathBuf,
}

impl AtomicFile {
    /// Creates the temporary file beside `path`; an existing file stays unchanged.
    pub fn create(path: &Path) -> io::Result<Self> {
        // A symbolic link stays, and its target is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file()) {
            let file = File::options().write(true).open(&target)?;
            return Ok(Self { file, temporary: None, target });
        }
        let temporary = temporary_path(&target).ok_or(io::ErrorKind::InvalidInput)?;
        let file = File::create(&temporary)?;
        Ok(Self { file, temporary: Some(temporary), target })
    }

    /// Renames the temporary file to the target. [`Self::file`] can still be written afterwards.
    pub fn commit(&mut self) -> io::Result<()> {
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.target)?;
            self.temporary = None;
        }
        Ok(())
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Hidden temporary name with host and PID; `sojourn.base.files` recognises by it what a killed process left.
fn temporary_path(target: &Path) -> Option<PathBuf> {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let fits = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let host: String = host.trim_end().chars().map(fits).take(64).collect();
    let mut name = OsString::from(".");
    name.push(target.file_name()?);
    name.push(format!(".{host}.{}.part", std::process::id()));
    Some(target.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_stays_if_the_new_one_is_not_put() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a b.json"), folder.path().join("link"));
        write_atomic(&path, b"old").unwrap();
        let mut new = AtomicFile::create(&path).unwrap();
        new.file.write_all(b"ne").unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(folder.path()).len()), (b"old".to_vec(), 2));
        drop(new);
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"old".to_vec(), vec!["a b.json".to_string()]));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_atomic(&link, b"new").unwrap();
        assert_eq!((fs::read(&path).unwrap(), fs::read_link(&link).unwrap()), (b"new".to_vec(), path.clone()));
    }

    #[test]
    fn what_is_no_file_is_written_as_it_is() {
        write_atomic(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert_eq!(write_atomic(Path::new("/dev/full"), b"x").unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(write_atomic(Path::new("/"), b"x").is_err());
    }
}
