//! A log file, written in blocks; errors name it. An existing file stays until the first block of the new one is
//! written.

use super::error::WriteError;
use crate::Error;
use crate::atomic_file::AtomicFile;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file and its write buffer.
pub struct Output {
    path: PathBuf,
    file: AtomicFile,
    /// Filled by the log; written by [`Self::flush`].
    pub buffer: Vec<u8>,
}

impl Output {
    /// Creates the file at `path`; an existing one is replaced by the first flush.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let file = AtomicFile::create(path).map_err(|e| Error::Machine(format!("{}: {e}", path.display())))?;
        Ok(Self { path: path.into(), file, buffer: Vec::with_capacity(FULL + 4096) })
    }

    /// Writes the buffer if it is full.
    pub fn settle(&mut self) -> Result<(), WriteError> {
        if self.buffer.len() >= FULL { self.flush() } else { Ok(()) }
    }

    /// Writes the buffer.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        let written = self.file.file.write_all(&self.buffer).and_then(|()| self.file.commit());
        self.buffer.clear();
        written.map_err(|error| WriteError { path: self.path.clone(), error })
    }
}

const FULL: usize = 1 << 18;
