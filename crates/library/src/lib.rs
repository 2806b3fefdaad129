//! Queue disciplines across the border of a shared library: what `sojourn_aqm.h` says, in Rust.
//!
//! # Map
//!
//! | module | what it is for |
//! |---|---|
//! | [`abi`] | structs and numbers of the header |
//! | [`queue`] | a queue of ours as a host in C sees it: packets by opaque pointers, time from a start |
//! | [`border`] | calls from C: pointers checked and followed, no panic gets out, texts of errors |
//! | [`foreign`] | queues of shared libraries as queue disciplines by name; what they do wrong is found out |
//! | [`load`] | libraries found, opened and called |
//! | `crash` | names the library that ends the program |
//!
//! The functions that C calls by name are in the crate `sojourn-capi`, which makes `libsojourn_aqm` of them.

pub mod abi;
mod crash;
pub mod export;
pub mod foreign;
pub mod load;
pub mod name;
pub mod queue;

pub use sojourn_aqm::registry::REGISTERED;

/// Makes a library of an algorithm: exports `sojourn_library` with queues of `$algorithm`, a static
/// [`Algorithm`](sojourn_aqm::registry::Algorithm) whose name is `$name`, with what it does and where it is published.
/// For a crate of the type `cdylib`, once.
///
/// ```
/// # use sojourn_aqm::{Aqm, config, params::Value, registry::{Algorithm, Managed}};
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
/// # impl Managed for Config {
/// #     type Aqm = Mine;
/// #     fn aqm(&self) -> Mine { Mine }
/// # }
/// static MINE: Algorithm = Algorithm::own::<Config>("mine", "Accepts what fits", "this example");
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
                // SAFETY: the caller keeps to the header.
                unsafe { $crate::export::create(concat!($name, " "), &[&$algorithm], text, host, queue) }
            }

            const fn text(with_end: &'static str) -> &'static CStr {
                match CStr::from_bytes_with_nul(with_end.as_bytes()) {
                    Ok(text) => text,
                    Err(_) => panic!("it has no zero byte"),
                }
            }

            const TEXTS: [&CStr; 3] =
                [text(concat!($name, "\0")), text(concat!($summary, "\0")), text(concat!($source, "\0"))];

            #[unsafe(no_mangle)]
            static sojourn_library: $crate::export::Export =
                $crate::export::Export($crate::export::discipline(TEXTS, FIFO, create));
        };
    };
}
