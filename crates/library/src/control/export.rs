//! A congestion control in Rust as a library: [`export_cc!`](crate::export_cc).
#![allow(unsafe_code)]

use super::abi::{self, ControlLibrary, Host};
use crate::export::{self, refuse};
use sojourn_tcp::cc::foreign::{
    AckView, Call, ControlHost, DeliveryCounts, Fault, FlightView, ForeignControl, LossView, NativeControl, SampleView,
    SsthreshCause,
};
use sojourn_tcp::cc::{AnyCc, Needs};
use sojourn_tcp::{CaState, stack};
use std::ffi::{CStr, c_char, c_int, c_void};

/// Creates a control from its parameters; the error says what is wrong and what to write.
pub type Constructor = fn(&str) -> Result<AnyCc, String>;

/// The export of a library, which its host reads only.
#[repr(transparent)]
pub struct Export(pub ControlLibrary);

// SAFETY: constant strings and functions.
unsafe impl Sync for Export {}

/// `create` of an exported control.
pub type Create = unsafe extern "C" fn(*const c_char, *const Host, *mut *mut c_void) -> c_int;

/// The export of a control with `needs`: name, summary and source in `texts`.
pub const fn library(texts: [&'static CStr; 3], needs: &Needs, create: Create) -> ControlLibrary {
    let steers = needs.steers;
    // Functions that the face does not call stay null.
    let base = ControlLibrary {
        size: size_of::<ControlLibrary>() as u32,
        abi: abi::ABI,
        face: if steers { abi::STEER } else { abi::WINDOW },
        needs: abi::bits_of(needs) | if steers { 0 } else { abi::CAUSES },
        name: texts[0].as_ptr(),
        summary: texts[1].as_ptr(),
        source: texts[2].as_ptr(),
        create: Some(create),
        free: Some(free),
        clone: Some(clone),
        error: Some(error),
        ssthresh: Some(ssthresh),
        grow: None,
        acked: None,
        report: None,
        reduced: None,
        timed_out: None,
        min_cwnd: None,
        state: Some(state),
        delivered: Some(delivered),
        idle: Some(idle),
        undo: Some(undo),
        start: Some(start),
        sent: Some(sent),
        ack: None,
        lost: None,
        repaired: None,
        congestion: None,
    };
    if steers {
        return ControlLibrary { ack: Some(ack), lost: Some(lost), repaired: Some(repaired), ..base };
    }
    ControlLibrary {
        grow: Some(grow),
        acked: Some(acked),
        report: Some(report),
        reduced: Some(reduced),
        timed_out: Some(timed_out),
        min_cwnd: Some(min_cwnd),
        ..base
    }
}

/// Creates the state of a connection.
///
/// # Safety
/// As in the header.
pub unsafe fn create(
    needs: &Needs,
    constructor: Constructor,
    parameters: *const c_char,
    host: *const Host,
    state: *mut *mut c_void,
) -> c_int {
    let make = || -> Result<NativeControl, String> {
        // SAFETY: as in the header.
        let (parameters, host) = unsafe { (CStr::from_ptr(parameters), &*host) };
        let parameters = parameters.to_str().map_err(|_| "the parameters are not valid UTF-8; write text")?;
        let control = constructor(parameters)?;
        if control.needs() != *needs {
            return Err("the control's needs differ from those that the library exports; export the same".to_string());
        }
        // SAFETY: as in the header.
        let name = unsafe { CStr::from_ptr(host.stack) }.to_str().unwrap_or_default();
        let known = stack::NAMES.iter().map(|&(known, _)| known).find(|&known| known == name);
        let host = ControlHost {
            random: host.random,
            stack: known.ok_or_else(|| format!("the stack {name:?} is unknown to this library; rebuild it"))?,
            ticks_per_second: host.ticks_per_second,
            is_quic: host.is_quic != 0,
            is_paced: host.is_paced != 0,
            ecn: host.ecn != 0,
        };
        NativeControl::new(control, &host).map_err(|fault| match fault {
            Fault::Text(text) => text,
            Fault::Pending => "failed".to_string(),
        })
    };
    match make() {
        Ok(control) => {
            // SAFETY: as in the header.
            unsafe { *state = Box::into_raw(Box::new(control)).cast() };
            crate::abi::OK
        }
        Err(text) => refuse(text),
    }
}

unsafe extern "C" fn free(state: *mut c_void) {
    // SAFETY: `create` or `clone` made it, and the host frees it once.
    drop(unsafe { Box::from_raw(state.cast::<NativeControl>()) });
}

unsafe extern "C" fn clone(state: *const c_void, copy: *mut *mut c_void) -> c_int {
    // SAFETY: `create` or `clone` made it; the host gives the address of a pointer.
    unsafe { *copy = Box::into_raw(Box::new((*state.cast::<NativeControl>()).clone())).cast() };
    crate::abi::OK
}

unsafe extern "C" fn error() -> *const c_char {
    export::error()
}

/// Makes a call of the control in `state`.
///
/// # Safety
/// Both pointers are those of a call of the header.
unsafe fn call(state: *mut c_void, flight: *mut FlightView, call: Call) -> u32 {
    // SAFETY: by this function's contract; a control has one call at a time.
    let (control, view) = unsafe { (&mut *state.cast::<NativeControl>(), &mut *flight) };
    // A control of Rust cannot refuse a call.
    control.call(call, view).unwrap_or(0)
}

/// Declares the functions of the header: name, further arguments, and the call.
macro_rules! functions {
    ($( fn $name:ident($( $arg:ident: $type:ty ),*) $( -> $value:ty )? => $call:expr; )+) => { $(
        unsafe extern "C" fn $name(state: *mut c_void, flight: *mut FlightView $(, $arg: $type )*) $( -> $value )? {
            // SAFETY: the host follows the header; pointers are valid during the call.
            let result = unsafe { call(state, flight, $call) };
            functions!(@result result $( $value )?)
        }
    )+ };
    (@result $result:ident) => { { let _ = $result; } };
    (@result $result:ident $value:ty) => { $result };
}

functions! {
    fn ssthresh(cause: c_int) -> u32 => Call::Ssthresh(match cause {
        1 => SsthreshCause::Loss,
        2 => SsthreshCause::TimeOut,
        _ => SsthreshCause::Reduction,
    });
    fn grow(ack: *const AckView) => Call::Grow(*ack);
    fn acked(ack: *const AckView) => Call::Acked(*ack);
    fn report(ack: *const AckView) => Call::Report(*ack);
    fn reduced() => Call::Reduced;
    fn timed_out() => Call::TimedOut;
    fn min_cwnd() -> u32 => Call::MinCwnd;
    fn state(entered: c_int) => Call::State(match entered {
        0 => CaState::Open,
        1 => CaState::Disorder,
        2 => CaState::Cwr,
        3 => CaState::Recovery,
        _ => CaState::Loss,
    });
    fn delivered(packets: u32, ce: u32) => Call::Delivered(DeliveryCounts { packets, ce });
    fn idle(last_sent: i64) => Call::Idle(last_sent);
    fn undo() -> u32 => Call::Undo;
    fn start() => Call::Start;
    fn sent(bytes: u32) => Call::Sent(bytes);
    fn ack(sample: *const SampleView) => Call::Ack(*sample);
    fn lost(loss: *const LossView) => Call::Lost(*loss);
    fn repaired(app_limited: c_int) => Call::Repaired((app_limited != 0).into());
}

/// Exports `sojourn_cc` with the control that `$constructor` creates from its parameters, named `$name`, with a summary
/// and its source. `$needs` are the [`Needs`](sojourn_tcp::cc::Needs) of that control. Use it once, in a crate of type
/// `cdylib`. A panic ends the program; its host names the library.
///
/// ```
/// # use sojourn_tcp::cc::{Ack, AnyCc, CongestionControl, Needs, Window, WindowControl};
/// #[derive(Clone, Debug)]
/// struct Twice;
///
/// impl CongestionControl for Twice {
///     fn window(&mut self) -> Option<&mut dyn WindowControl> {
///         Some(self)
///     }
/// }
///
/// impl WindowControl for Twice {
///     fn ssthresh(&mut self, window: &Window) -> u32 {
///         (window.cwnd * 3 / 4).max(2)
///     }
///     fn grow(&mut self, window: &mut Window, ack: &Ack, _: bool) {
///         window.cwnd_cnt += 2 * ack.packets;
///         window.cwnd += window.cwnd_cnt / window.cwnd;
///         window.cwnd_cnt %= window.cwnd;
///     }
/// }
///
/// fn twice(parameters: &str) -> Result<AnyCc, String> {
///     match parameters {
///         "" => Ok(AnyCc::custom(Twice)),
///         _ => Err(format!("{parameters:?}: there are no parameters; leave them out")),
///     }
/// }
///
/// sojourn_library::export_cc!("twice", "Two segments more per round trip", "this example", Needs::NONE, twice);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! export_cc {
    ($name:literal, $summary:literal, $source:literal, $needs:expr, $constructor:expr) => {
        #[allow(unsafe_code, non_upper_case_globals)]
        const _: () = {
            use ::std::ffi::{CStr, c_char, c_int, c_void};
            use $crate::control::{abi::Host, export};

            static NEEDS: export::ExportedNeeds = $needs;

            unsafe extern "C" fn create_state(
                parameters: *const c_char,
                host: *const Host,
                state: *mut *mut c_void,
            ) -> c_int {
                // SAFETY: the caller follows the header.
                unsafe { export::create(&NEEDS, $constructor, parameters, host, state) }
            }

            const TEXTS: [&CStr; 3] =
                $crate::export::texts([concat!($name, "\0"), concat!($summary, "\0"), concat!($source, "\0")]);

            #[unsafe(no_mangle)]
            static sojourn_cc: export::Export = export::Export(export::library(TEXTS, &$needs, create_state));
        };
    };
}

/// Type of the needs in [`export_cc!`](crate::export_cc).
pub type ExportedNeeds = Needs;
