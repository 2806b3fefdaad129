//! Qdiscs in shared libraries, in both directions: the Rust side of `sojourn_aqm.h`.
//!
//! # Map
//!
//! | module | contents |
//! |---|---|
//! | [`abi`] | structs and constants of the header |
//! | [`queue`] | Sojourn queues for hosts in C, in safe code |
//! | [`export`](mod@export) | functions that C calls: pointer checks, panics as errors, error texts |
//! | [`foreign`] | queues of shared libraries as qdiscs; every answer is checked |
//! | [`control`] | congestion controls, the Rust side of `sojourn_cc.h` |
//! | `file` | files of libraries, each loaded once |
//! | [`load`] | opening libraries and calling them |
//! | [`name`] | names of libraries in configurations |
//! | `crash` | names the library that ends the program |
//!
//! The exported C functions are in the crate `sojourn-capi`, which builds `libsojourn_aqm`.

pub mod abi;
pub mod border;
pub mod control;
mod crash;
pub mod export;
mod file;
pub mod foreign;
pub mod load;
pub mod name;
pub mod queue;

pub use sojourn_aqm::registry::REGISTERED;

/// Exports `sojourn_library` with queues of `$algorithm`, a static [`Algorithm`](sojourn_aqm::registry::Algorithm)
/// whose name is `$name`, with a summary and its source. Use it once, in a crate of type `cdylib`.
///
/// ```
/// # use sojourn_aqm::{Aqm, config, params::Value, registry::{Algorithm, AqmConfig}};
/// # config! {
/// #     /// None.
/// #     pub struct Config {
/// #         /// Not used.
/// #         depth: u64 = 10, in Value::Count(1) => Value::Count(9);
/// #     }
/// #     profiles { "plain", "none" => |_| {}; }
/// #     validate |_| Ok(())
/// # }
/// # pub struct Mine;
/// # impl Aqm for Mine {}
/// # impl AqmConfig for Config {
/// #     type Aqm = Mine;
/// #     fn aqm(&self) -> Mine { Mine }
/// # }
/// static MINE: Algorithm = Algorithm::custom::<Config>("mine", "Accepts what fits", "this example");
/// sojourn_library::export!("mine", "Accepts what fits", "this example", MINE);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! export {
    ($name:literal, $summary:literal, $source:literal, $algorithm:expr) => {
        #[allow(unsafe_code, non_upper_case_globals)]
        const _: () = {
            use ::std::ffi::{CStr, c_char, c_int};
            use $crate::abi::{FIFO, Host, Queue};

            unsafe extern "C" fn create(text: *const c_char, host: *const Host, queue: *mut *mut Queue) -> c_int {
                // SAFETY: the caller follows the header.
                unsafe { $crate::export::create(concat!($name, " "), &[&$algorithm], text, host, queue) }
            }

            const TEXTS: [&CStr; 3] =
                $crate::export::texts([concat!($name, "\0"), concat!($summary, "\0"), concat!($source, "\0")]);

            #[unsafe(no_mangle)]
            static sojourn_library: $crate::export::Export =
                $crate::export::Export($crate::export::discipline(TEXTS, FIFO, create));
        };
    };
}
