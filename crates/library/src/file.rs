//! Files of shared libraries: each is loaded once, and stays loaded until the program ends, because any thread may be
//! running its code.
#![allow(unsafe_code)]

use crate::crash;
use crate::name::{path_and_queue, unescape};
use std::ffi::{CStr, c_char, c_void};
use std::fs::Metadata;
use std::mem::MaybeUninit;
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
    /// Name of what it exports.
    fn name(&self) -> &str;
}

/// Kind of library, for messages.
pub(crate) struct LibraryKind {
    /// Exported thing: a "queue manager".
    pub noun: &'static str,
    /// Name of a file.
    pub example: &'static str,
    /// Exported symbol, the struct behind it, and their header.
    pub symbol: &'static CStr,
    pub structure: &'static str,
    pub header: &'static str,
    /// Version of the header, and size of the struct in its first version.
    pub abi: u32,
    pub min_size: usize,
}

impl LibraryKind {
    /// Opens the library `name`, a path relative to `base` or else to the current folder; a name behind a colon must be
    /// that of what the library exports.
    ///
    /// # Errors
    /// The place and the remedy, if there is no such file or it exports something else; those of `open`.
    pub fn open_named<L: OpenedLibrary>(
        &self,
        name: &str,
        base: &Path,
        open: impl FnOnce(&Path) -> Result<&'static L, String>,
    ) -> Result<&'static L, String> {
        let (noun, example) = (self.noun, self.example);
        let (name, inside) = path_and_queue(name);
        let path = unescape(name);
        let found = [base, Path::new("")].iter().map(|folder| folder.join(&path)).find(|path| path.is_file());
        let found = found.ok_or_else(|| match path.is_absolute() {
            true => format!("{name}: no such file; give the path of a shared library"),
            false => format!("{name}: no such file in {}; write e.g. \"./{example}\"", base.display()),
        })?;
        let library = open(&found)?;
        match inside {
            Some(inside) if inside != library.name() => {
                let own = library.name();
                Err(format!("{name} has no {noun} {inside:?}, only {own:?}; write {name}:{own}, or {name}"))
            }
            _ => Ok(library),
        }
    }

    /// Loads `file`, and copies its export; fields beyond the export's size are zero.
    ///
    /// # Errors
    /// If the file cannot be loaded, or exports nothing of this kind and version.
    ///
    /// # Safety
    /// `T` is this kind's struct, and all zero bytes are a value of it.
    pub unsafe fn load<T: Copy>(&self, file: &LibraryFile) -> Result<T, String> {
        let address = file.address_of(self.symbol, self.header)?;
        let symbol = self.symbol.to_string_lossy();
        // SAFETY: the header reserves this symbol for this struct, and every version begins with these two fields.
        let (size, version) = unsafe {
            let fields = address.cast::<u32>();
            (fields.read_unaligned() as usize, fields.add(1).read_unaligned())
        };
        let (header, supported, place) = (self.header, self.abi, file.path.display());
        if version != supported {
            return Err(format!(
                "{place}: is built for version {version} of {header}; rebuild it with this one, version {supported}"
            ));
        }
        if size < self.min_size {
            return Err(format!("{place}: {symbol}.size is {size}; set it to sizeof({})", self.structure));
        }
        let mut export = MaybeUninit::<T>::zeroed();
        let known = size_of::<T>().min(size);
        // SAFETY: both have at least `known` bytes; the remainder is zero, by this function's contract.
        unsafe {
            std::ptr::copy_nonoverlapping(address.cast::<u8>(), export.as_mut_ptr().cast::<u8>(), known);
            Ok(export.assume_init())
        }
    }
}

/// Text of the error `code` by the function `error` of the library at `path`, if it has one.
pub(crate) fn error_text(path: &Path, error: Option<ErrorFunction>, code: i32) -> String {
    let text = error.map(|error| {
        // SAFETY: the library returns null or a string.
        crash::within(path, "error", || unsafe { one_line(error()) })
    });
    text.filter(|text| !text.is_empty()).unwrap_or_else(|| format!("error {code}"))
}

/// Function that returns the text of a thread's last error, or null.
pub(crate) type ErrorFunction = unsafe extern "C" fn() -> *const c_char;

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
    fn address_of(&self, symbol: &CStr, header: &str) -> Result<*const c_void, String> {
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
