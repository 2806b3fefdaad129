//! Files that are complete or absent.

use crate::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file under another name until it is complete; it is removed if it never is.
#[derive(Debug)]
pub(crate) struct UnfinishedFile {
    path: PathBuf,
    unfinished: PathBuf,
    file: File,
}

impl UnfinishedFile {
    /// Creates the file, and its folder.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let unfinished = path.with_extension(format!("{}.{}.part", std::process::id(), thread_number()));
        let create = || {
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            File::create(&unfinished)
        };
        let file = create().map_err(|source| Error::File { path: path.into(), source })?;
        Ok(Self { path: path.into(), unfinished, file })
    }

    /// A writer that adds to the file.
    pub fn writer(&self) -> Result<Box<dyn Write + Send>, Error> {
        let file = self.file.try_clone().map_err(|source| self.failed(source))?;
        Ok(Box::new(file))
    }

    /// Gives the file its name if it was `written`.
    pub fn complete(self, written: io::Result<()>) -> Result<(), Error> {
        written.and_then(|()| std::fs::rename(&self.unfinished, &self.path)).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::File { path: self.path.clone(), source }
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        // A complete file is no longer there.
        let _ = std::fs::remove_file(&self.unfinished);
    }
}

/// Writes a text to a file, which is complete or absent.
pub(crate) fn write_atomically(path: &Path, text: &str) -> Result<(), Error> {
    let mut unfinished = UnfinishedFile::create(path)?;
    let written = unfinished.file.write_all(text.as_bytes());
    unfinished.complete(written)
}

/// Number of the current thread within the process: tests run side by side.
fn thread_number() -> String {
    format!("{:?}", std::thread::current().id()).chars().filter(char::is_ascii_digit).collect()
}
