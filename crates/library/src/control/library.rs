//! Opens libraries with a congestion control, and makes them definitions of controls.
#![allow(unsafe_code)]

use super::abi::{self, ControlLibrary};
use super::instance::Instance;
use crate::crash;
use crate::file::{LibraryFile, LibraryKind, OpenedLibrary, error_text, one_line, open_once};
use crate::name::{escape, is_library};
use sojourn_aqm::foreign::words;
use sojourn_tcp::cc::Needs;
use sojourn_tcp::cc::foreign::{CallKind, CallSet, ControlDefinition, ControlHost, Fault, ForeignControl};
use std::ffi::CString;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, OnceLock};

/// Finds libraries by names like `./libmine.so` or `./libmine.so:mine`. Relative paths are looked up in `base`, then in
/// the current folder; escapes in a path are those of queue managers.
#[derive(Clone, Copy, Debug)]
pub struct Controls<'a> {
    /// First folder for relative paths.
    pub base: &'a Path,
}

impl Controls<'_> {
    /// The control `name` with the parameters `pairs`; one named `text` holds words of the library's own syntax. `None`
    /// if the name is not that of a library.
    ///
    /// # Errors
    /// The place and the remedy, if the library cannot be loaded or refuses the parameters.
    pub fn find(&self, name: &str, pairs: &[(String, String)]) -> Option<Result<Arc<dyn ControlDefinition>, String>> {
        is_library(name).then(|| {
            let library = KIND.open_named(name, self.base, |path| open_once(path, &OPEN, Library::load))?;
            let text = words("", pairs).map_err(|error| error.to_string())?;
            let definition = Definition::new(library, text);
            definition.check()?;
            Ok(Arc::new(definition) as Arc<dyn ControlDefinition>)
        })
    }
}

/// Libraries with a congestion control.
const KIND: LibraryKind = LibraryKind {
    noun: "congestion control",
    example: "libmine.so",
    symbol: abi::SYMBOL,
    structure: "sojourn_cc_library",
    header: "sojourn_cc.h",
    abi: abi::ABI,
    min_size: std::mem::offset_of!(ControlLibrary, clone),
};

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
    fn name(&self) -> &str {
        &self.name
    }
}

impl Library {
    fn load(file: LibraryFile) -> Result<Self, String> {
        // SAFETY: the kind's struct; its fields are integers, pointers and optional functions.
        let export: ControlLibrary = unsafe { KIND.load(&file)? };
        let export = checked(export).map_err(|wrong| format!("{}: {wrong}", file.path.display()))?;
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
        error_text(self.path(), self.export.error, code)
    }

    /// Calls with a function in the library.
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

/// Checks face, functions and needs of an export.
fn checked(export: ControlLibrary) -> Result<ControlLibrary, String> {
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
    fault: OnceLock<String>,
}

impl Definition {
    fn new(library: &'static Library, text: String) -> Self {
        let name = escape(library.path());
        let spelling = if text.is_empty() { name } else { format!("{name} {text}") };
        let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
        Self { library, text, spelling, fault: OnceLock::new() }
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
        // The first one counts.
        let _ = self.fault.set(text);
    }

    fn fault(&self) -> Option<String> {
        self.fault.get().cloned()
    }
}
