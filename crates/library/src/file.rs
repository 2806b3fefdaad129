//! Files of shared libraries: each is loaded once, and stays loaded until the program ends, because any thread may be
//! running its code.
#![allow(unsafe_code)]

use crate::crash;
use std::ffi::{CStr, c_char, c_void};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A library's file, and its version when it was loaded.
#[derive(Debug)]
pub(crate) struct LibraryFile {
    pub path: PathBuf,
    stamp: FileStamp,
}

/// A library whose export has been read.
pub(crate) trait OpenedLibrary {
    /// Its file.
    fn file(&self) -> &LibraryFile;
}

/// Version of a file: device, inode, size, mtime (seconds, nanoseconds).
type FileStamp = (u64, u64, u64, i64, i64);

fn stamp(metadata: &Metadata) -> FileStamp {
    (metadata.dev(), metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec())
}

/// The library at `path`, from the list of those `open`, otherwise from `load`.
///
/// # Errors
/// If there is no such file, it cannot be loaded, or it has changed since it was loaded.
pub(crate) fn open_once<L: OpenedLibrary>(
    path: &Path,
    open: &Mutex<Vec<&'static L>>,
    load: impl FnOnce(LibraryFile) -> Result<L, String>,
) -> Result<&'static L, String> {
    let place = path.display();
    let path = path.canonicalize().map_err(|error| format!("{place}: {error}; give the path of a shared library"))?;
    let metadata = path.metadata().map_err(|error| format!("{place}: {error}"))?;
    let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(library) = open.iter().find(|library| library.file().path == path) {
        let same = library.file().stamp == stamp(&metadata);
        return if same { Ok(library) } else { Err(format!("{place}: has changed since it was loaded; start again")) };
    }
    let library: &'static L = Box::leak(Box::new(load(LibraryFile { path, stamp: stamp(&metadata) })?));
    open.push(library);
    Ok(library)
}

impl LibraryFile {
    /// Loads the file; its initialisers run. Returns the address of `symbol`, which `header` documents.
    ///
    /// # Errors
    /// If the file cannot be loaded, or has no such symbol.
    pub fn load(&self, symbol: &CStr, header: &str) -> Result<*const c_void, String> {
        let place = self.path.display();
        crash::install_handlers();
        let loaded = crash::within(&self.path, "loading it", || {
            // SAFETY: loading runs the library's initialisers, as the user requested.
            unsafe { libloading::os::unix::Library::open(Some(&self.path), libloading::os::unix::RTLD_NOW) }
        });
        let loaded = loaded.map_err(|error| format!("{place}: cannot be loaded: {}", loader_error(&error)))?;
        let name = symbol.to_string_lossy();
        // SAFETY: only the address is taken.
        let found = unsafe { loaded.get::<*const c_void>(symbol.to_bytes_with_nul()) };
        let address = found.map_err(|_| format!("{place}: does not export `{name}`; see {header}"))?.as_raw_ptr();
        // Keep it loaded.
        std::mem::forget(loaded);
        Ok(address.cast())
    }
}

/// Message of the dynamic loader, without libloading's prefix.
fn loader_error(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), |source| source.to_string())
}

/// A library's string on one line; empty for null.
///
/// # Safety
/// `text` is null or a string.
pub(crate) unsafe fn one_line(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null, and by this function's contract.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
