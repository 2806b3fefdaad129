//! Opens libraries with a congestion control, and makes them definitions of controls.
#![allow(unsafe_code)]

use super::abi::{self, ControlLibrary};
use super::instance::Instance;
use crate::crash;
use crate::file::{LibraryFile, OpenedLibrary, one_line, open_once};
use crate::name::{escape, is_library, path_and_queue, unescape};
use sojourn_aqm::foreign::words;
use sojourn_tcp::cc::Needs;
use sojourn_tcp::cc::foreign::{CallKind, CallSet, ControlDefinition, ControlHost, Fault, ForeignControl};
use std::ffi::CString;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError};

/// Finds libraries by names like `./libmine.so` or `./libmine.so:mine`. Relative paths are looked up in `base`, then in
/// the current folder; escapes in a path are those of queue managers.
#[derive(Clone, Copy, Debug)]
pub struct Controls<'a> {
    /// First folder for relative paths.
    pub base: &'a Path,
}

impl Controls<'_> {
    /// The control `name` with the parameters `pairs`, where a single one named `text` holds words of the library's own
    /// syntax. `None` if the name is not that of a library.
    ///
    /// # Errors
    /// The place and the remedy, if the library cannot be loaded or refuses the parameters.
    pub fn find(&self, name: &str, pairs: &[(String, String)]) -> Option<Result<Arc<dyn ControlDefinition>, String>> {
        is_library(name).then(|| {
            let library = self.load(name)?;
            let text = words("", pairs).map_err(|error| error.to_string())?;
            let definition = Definition::new(library, text);
            definition.check()?;
            Ok(Arc::new(definition) as Arc<dyn ControlDefinition>)
        })
    }

    fn load(&self, name: &str) -> Result<&'static Library, String> {
        let (name, inside) = path_and_queue(name);
        let path = unescape(name);
        let folders = [self.base, Path::new("")];
        let found = folders.iter().map(|folder| folder.join(&path)).find(|path| path.is_file());
        let found = found.ok_or_else(|| match path.is_absolute() {
            true => format!("{name}: no such file; give the path of a shared library"),
            false => format!("{name}: no such file in {}; write e.g. \"./libmine.so\"", self.base.display()),
        })?;
        let library = open_once(&found, &OPEN, Library::load)?;
        match inside {
            Some(inside) if inside != library.name => {
                let own = &library.name;
                Err(format!("{name} has no congestion control {inside:?}, only {own:?}; write {name}:{own}, or {name}"))
            }
            _ => Ok(library),
        }
    }
}

static OPEN: Mutex<Vec<&'static Library>> = Mutex::new(Vec::new());

/// A loaded library.
pub(super) struct Library {
    file: LibraryFile,
    pub export: ControlLibrary,
    name: String,
}

// SAFETY: its pointers refer to constants and functions of a library that stays loaded; the header allows calls of
// different connections from any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Library").field(&self.file.path).finish()
    }
}

impl OpenedLibrary for Library {
    fn file(&self) -> &LibraryFile {
        &self.file
    }
}

impl Library {
    fn load(file: LibraryFile) -> Result<Self, String> {
        let export = file.load(abi::SYMBOL, "sojourn_cc.h")?;
        // SAFETY: the header reserves this symbol for this object.
        let export =
            unsafe { read_export(export.cast()) }.map_err(|wrong| format!("{}: {wrong}", file.path.display()))?;
        // SAFETY: null or a constant string of the library, by the header.
        let name = unsafe { one_line(export.name) };
        Ok(Self { file, export, name })
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// The library's text for the error `code`.
    pub fn error(&self, code: i32) -> String {
        let text = self.export.error.map(|error| {
            // SAFETY: the library returns null or a string.
            crash::within(self.path(), "error", || unsafe { one_line(error()) })
        });
        text.filter(|text| !text.is_empty()).unwrap_or_else(|| format!("error {code}"))
    }

    /// Calls for which the library has a function.
    fn calls(&self) -> CallSet {
        let export = &self.export;
        let has = |kind: &CallKind| match kind {
            CallKind::Ssthresh => export.ssthresh.is_some(),
            CallKind::Grow => export.grow.is_some(),
            CallKind::Acked => export.acked.is_some(),
            CallKind::Report => export.report.is_some(),
            CallKind::Delivered => export.delivered.is_some(),
            CallKind::State => export.state.is_some(),
            CallKind::Idle => export.idle.is_some(),
            CallKind::Reduced => export.reduced.is_some(),
            CallKind::TimedOut => export.timed_out.is_some(),
            CallKind::Undo => export.undo.is_some(),
            CallKind::MinCwnd => export.min_cwnd.is_some(),
            CallKind::Start => export.start.is_some(),
            CallKind::Ack => export.ack.is_some(),
            CallKind::Lost => export.lost.is_some(),
            CallKind::Repaired => export.repaired.is_some(),
            CallKind::Congestion => export.congestion.is_some(),
            CallKind::Sent => export.sent.is_some(),
        };
        CallSet::of(CallKind::ALL.iter().copied().filter(has))
    }
}

/// Copies and checks the export at `place`.
///
/// # Safety
/// `place` points to a library's `sojourn_cc`.
unsafe fn read_export(place: *const ControlLibrary) -> Result<ControlLibrary, String> {
    // SAFETY: every version begins with these two fields.
    let (size, version) =
        unsafe { (place.cast::<u32>().read_unaligned(), place.cast::<u32>().add(1).read_unaligned()) };
    if version != abi::ABI {
        let supported = abi::ABI;
        return Err(format!(
            "is built for version {version} of sojourn_cc.h; rebuild it with this one, version {supported}"
        ));
    }
    if (size as usize) < std::mem::offset_of!(ControlLibrary, clone) {
        return Err(format!("sojourn_cc.size is {size}; set it to sizeof(sojourn_cc_library)"));
    }
    let mut export = std::mem::MaybeUninit::<ControlLibrary>::zeroed();
    let known = size_of::<ControlLibrary>().min(size as usize);
    // SAFETY: both have at least `known` bytes; the remainder is zero, a valid value of every field.
    let export = unsafe {
        std::ptr::copy_nonoverlapping(place.cast::<u8>(), export.as_mut_ptr().cast::<u8>(), known);
        export.assume_init()
    };
    let face = match export.face {
        abi::WINDOW => [("ssthresh", export.ssthresh.is_some()), ("grow", export.grow.is_some())],
        abi::STEER => [("ack", export.ack.is_some()); 2],
        face => return Err(format!("sojourn_cc.face is {face}; take SOJOURN_CC_WINDOW or SOJOURN_CC_STEER")),
    };
    let needed = [("create", export.create.is_some()), ("free", export.free.is_some())];
    if let Some((name, _)) = needed.iter().chain(&face).find(|(_, given)| !given) {
        return Err(format!("sojourn_cc.{name} is null; it is needed"));
    }
    if export.needs >> abi::NEEDS.len() != 0 {
        let needs = export.needs;
        return Err(format!("sojourn_cc.needs is {needs:#x}, with an unknown bit; rebuild it with this sojourn_cc.h"));
    }
    let unfit = [
        ("ack", export.ack.is_some(), abi::WINDOW),
        ("lost", export.lost.is_some(), abi::WINDOW),
        ("congestion", export.congestion.is_some(), abi::WINDOW),
        ("grow", export.grow.is_some(), abi::STEER),
        ("acked", export.acked.is_some(), abi::STEER),
    ];
    if let Some((name, ..)) = unfit.iter().find(|(_, given, face)| *given && *face == export.face) {
        return Err(format!(
            "sojourn_cc.{name} is never called with this face; set it to null, or take the other face"
        ));
    }
    Ok(export)
}

/// A library's control with parameters.
#[derive(Debug)]
struct Definition {
    library: &'static Library,
    text: CString,
    spelling: String,
    fault: Mutex<Option<String>>,
}

impl Definition {
    fn new(library: &'static Library, text: String) -> Self {
        let name = escape(library.path());
        let spelling = if text.is_empty() { name } else { format!("{name} {text}") };
        let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
        Self { library, text, spelling, fault: Mutex::default() }
    }

    /// Checks the parameters with the library's `create`.
    fn check(&self) -> Result<(), String> {
        let host = ControlHost {
            random: 1,
            stack: sojourn_tcp::stack::NEWEST,
            ticks_per_second: 1_000, // a jiffy of Linux's stacks is 1 ms
            is_quic: false,
            is_paced: false,
            ecn: abi::needs_of(self.library.export.face, self.library.export.needs).ecn,
        };
        self.open(&host).map(drop).map_err(|text| format!("{}: {text}", self.spelling))
    }

    fn open(&self, host: &ControlHost) -> Result<Instance, String> {
        let stack = CString::new(host.stack).unwrap_or_default();
        let host = abi::Host {
            size: size_of::<abi::Host>() as u32,
            abi: abi::ABI,
            random: host.random,
            stack: stack.as_ptr(),
            ticks_per_second: host.ticks_per_second,
            is_quic: host.is_quic.into(),
            is_paced: host.is_paced.into(),
            ecn: host.ecn.into(),
        };
        let mut state = null_mut();
        let create = self.library.export.create.expect("checked when it was loaded");
        // SAFETY: the arguments live during the call.
        let code =
            crash::within(self.library.path(), "create", || unsafe { create(self.text.as_ptr(), &host, &mut state) });
        if code < 0 {
            return Err(self.library.error(code));
        }
        Ok(Instance::new(self.library, state))
    }
}

impl ControlDefinition for Definition {
    fn spelling(&self) -> &str {
        &self.spelling
    }

    fn needs(&self) -> Needs {
        abi::needs_of(self.library.export.face, self.library.export.needs)
    }

    fn calls(&self) -> CallSet {
        self.library.calls()
    }

    fn distinguishes_causes(&self) -> bool {
        self.library.export.needs & abi::CAUSES != 0
    }

    fn create(&self, host: &ControlHost) -> Result<Box<dyn ForeignControl>, Fault> {
        self.open(host).map(|instance| Box::new(instance) as _).map_err(Fault::Text)
    }

    fn record_fault(&self, text: String) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
    }

    fn fault(&self) -> Option<String> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
