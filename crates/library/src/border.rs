//! The border with programs in C: strings, structs and handles that they pass, errors and panics. Both libraries use it;
//! only this file and its callers dereference a program's pointers.
#![allow(unsafe_code)]

use crate::abi;
use crate::queue::Error;
use std::any::Any;
use std::cell::{RefCell, UnsafeCell};
use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Target of a handle that a program in C holds.
pub struct Handle<T> {
    /// Whether a call is in progress.
    busy: AtomicBool,
    /// Whether a call has panicked.
    failed: AtomicBool,
    inner: UnsafeCell<T>,
}

/// Names of a kind of handle in errors.
#[derive(Clone, Copy, Debug)]
pub struct HandleNames {
    /// The object: "queue".
    pub object: &'static str,
    /// The function that makes one.
    pub create: &'static str,
    /// Reason of concurrent calls, with a remedy.
    pub busy: &'static str,
}

impl<T> Handle<T> {
    /// A handle of `inner`, to be freed with [`free`](Self::free).
    pub fn create(inner: T) -> *mut Self {
        Box::into_raw(Box::new(Self { busy: false.into(), failed: false.into(), inner: inner.into() }))
    }

    /// Frees a handle after `last` was called on its object; null is nothing to free. If a call is in progress, nothing
    /// is done but to set the thread's error.
    ///
    /// # Safety
    /// `handle` is null, or from `create` and not yet freed.
    pub unsafe fn free(handle: *mut Self, names: &HandleNames, last: impl FnOnce(&mut T)) {
        // SAFETY: by this function's contract.
        let Some(target) = (unsafe { handle.as_ref() }) else { return };
        if target.busy.swap(true, Ordering::Acquire) {
            set_last_error(busy(names));
            return;
        }
        // SAFETY: `busy` was clear, so there is no other reference; it stays set, so there will be none.
        let inner = unsafe { &mut *target.inner.get() };
        let _ = guarded(None, || {
            last(inner);
            Ok(abi::OK)
        });
        let _ = guarded(None, || {
            // SAFETY: allocated by `create`; the references above are no longer used.
            drop(unsafe { Box::from_raw(handle) });
            Ok(abi::OK)
        });
    }

    /// Runs `call` on the object, unless another call is in progress or an earlier one failed.
    ///
    /// # Safety
    /// `handle` is null, or from `create` and not yet freed.
    #[inline]
    pub unsafe fn enter(
        handle: *const Self,
        names: &HandleNames,
        call: impl FnOnce(&mut T) -> Result<c_int, Error>,
    ) -> c_int {
        /// Clears `busy`.
        struct CallGuard<'a>(&'a AtomicBool);
        impl Drop for CallGuard<'_> {
            #[inline]
            fn drop(&mut self) {
                self.0.store(false, Ordering::Release);
            }
        }
        // SAFETY: by this function's contract.
        let Some(target) = (unsafe { handle.as_ref() }) else {
            return set_last_error(Error::invalid(format!(
                "{0} is null; make one with {1}",
                names.object, names.create
            )));
        };
        if target.busy.swap(true, Ordering::Acquire) {
            return set_last_error(busy(names));
        }
        let _idle = CallGuard(&target.busy);
        if target.failed.load(Ordering::Relaxed) {
            let text = format!("the {} failed in an earlier call; free it", names.object);
            return set_last_error(Error { code: abi::FAILED, text });
        }
        // SAFETY: `busy` was clear, so this is the only reference until `_idle` is dropped.
        let inner = unsafe { &mut *target.inner.get() };
        guarded(Some(&target.failed), || call(inner))
    }
}

fn busy(names: &HandleNames) -> Error {
    let text = format!("the {} is being called already; {}", names.object, names.busy);
    Error { code: abi::BUSY, text }
}

/// Reads a C string.
///
/// # Errors
/// For null, and for text that is not UTF-8.
///
/// # Safety
/// `text` is null or a string that ends with a zero byte and lives as long as `'a`.
pub unsafe fn read_text<'a>(what: &str, text: *const c_char) -> Result<&'a str, Error> {
    if text.is_null() {
        return Err(Error::invalid(format!("{what} is null; give a string")));
    }
    // SAFETY: not null, and by this function's contract.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Error::invalid(format!("{what}: {text:?} is not UTF-8")))
}

/// The result code of `call`; a panic becomes an error and sets `failed`.
#[inline]
pub fn guarded(failed: Option<&AtomicBool>, call: impl FnOnce() -> Result<c_int, Error>) -> c_int {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(number)) => number,
        Ok(Err(error)) => set_last_error(error),
        Err(payload) => {
            if let Some(failed) = failed {
                failed.store(true, Ordering::Relaxed);
            }
            set_last_error(Error { code: abi::PANICKED, text: format!("panicked: {}", panic_message(&*payload)) })
        }
    }
}

/// Message of a panic.
fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a text")
}

/// Stores the text of a refusal for [`error`], and returns its code.
pub(crate) fn refuse(text: String) -> c_int {
    set_last_error(Error { code: abi::REFUSED, text })
}

/// Stores the text of an error for [`error`], and returns its code.
pub fn set_last_error(Error { code, text }: Error) -> c_int {
    let text = CString::new(text.replace('\0', "?")).unwrap_or_default();
    // While the thread exits, its thread-local may be gone; the text is then lost.
    let _ = LAST.try_with(|last| *last.borrow_mut() = text);
    code
}

/// Text of this thread's last error.
pub extern "C" fn error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// A struct of the header that begins with its size.
///
/// # Safety
/// All zero bytes are a valid value, the first field is a `u32`, and the struct is `repr(C)`.
pub unsafe trait SizePrefixed: Copy {
    /// Name in errors.
    const NAME: &'static str;
    /// Size in the first version of the interface.
    const MIN_SIZE: u32;
}

/// Reads the `size` field of a struct, and checks it.
///
/// # Errors
/// For null and for a size below that of the first version.
///
/// # Safety
/// `place` is null or begins with a size.
#[inline]
pub unsafe fn size_of_given<T: SizePrefixed>(place: *const T) -> Result<u32, Error> {
    if place.is_null() {
        return Err(null_struct(T::NAME));
    }
    // SAFETY: not null; the first field is a `u32` by `SizePrefixed`.
    let size = unsafe { *place.cast::<u32>() };
    if size < T::MIN_SIZE { Err(small_struct(T::NAME, size, T::MIN_SIZE)) } else { Ok(size) }
}

#[cold]
fn null_struct(name: &str) -> Error {
    Error::invalid(format!("{name} is null; give the address of a sojourn_{name}"))
}

#[cold]
fn small_struct(name: &str, size: u32, least: u32) -> Error {
    Error::invalid(format!(
        "{name}.size: {size} is below {least}; set it to sizeof(sojourn_{name}) and build with this version's header"
    ))
}

/// Copies the struct at `place`; fields beyond its size are zero.
///
/// # Errors
/// As [`size_of_given`].
///
/// # Safety
/// `place` is null, or points to as many bytes as its `size` field.
pub unsafe fn read<T: SizePrefixed>(place: *const T) -> Result<T, Error> {
    // SAFETY: by this function's contract.
    let size = unsafe { size_of_given(place)? };
    let mut value = MaybeUninit::<T>::zeroed();
    let known = size_of::<T>().min(size as usize);
    // SAFETY: both have at least `known` bytes; the remainder is zero, a valid value of every field.
    unsafe {
        std::ptr::copy_nonoverlapping(place.cast::<u8>(), value.as_mut_ptr().cast::<u8>(), known);
        Ok(value.assume_init())
    }
}

/// Writes the first `size` bytes of `value`.
///
/// # Safety
/// `place` has room for `size` bytes.
#[inline]
pub unsafe fn write<T: SizePrefixed>(value: T, place: *mut T, size: u32) {
    let known = size_of::<T>().min(size as usize);
    // SAFETY: both have at least `known` bytes.
    unsafe { std::ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), place.cast::<u8>(), known) }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}
