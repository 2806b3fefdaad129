//! A WebAssembly module as one C file for a kernel: integers only, every access checked, no dependency.
//!
//! A queue discipline compiled for `wasm32-unknown-unknown` goes through [`translate`], and the C compiler of any kernel
//! takes the result, with that kernel's own flags. Floating-point instructions become calls of integer functions, because
//! a kernel has no floating-point registers. A trap sets a field of the instance and every function returns at once;
//! there is no jump across frames, which a kernel's shadow stacks forbid.
//!
//! | module | contents |
//! |---|---|
//! | `module` | sections of the binary |
//! | `function` | structured control and the operand stack as labels and variables |
//! | `instruction` | numeric and memory instructions as C expressions |
//! | `writer` | the C file |
//! | `support/*.c` | types, memory, arithmetic, soft floats; parts of each C file |

mod function;
mod instruction;
mod module;
mod writer;

use thiserror::Error;

/// Translates the binary `wasm`. The same input gives the same text.
///
/// # Errors
///
/// The binary is invalid, or uses something that C functions over one memory cannot express, which is named.
pub fn translate(wasm: &[u8]) -> Result<String, TranslateError> {
    wasmparser::Validator::new().validate_all(wasm)?;
    writer::write(&module::Module::read(wasm)?)
}

/// A refused module.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TranslateError {
    /// Not a valid WebAssembly binary.
    #[error("not a valid WebAssembly module: {0}; compile it with --target wasm32-unknown-unknown")]
    Invalid(#[from] wasmparser::BinaryReaderError),
    /// An instruction without translation.
    #[error(
        "function {function}: the instruction {name} is not supported; compile without the target feature it needs"
    )]
    Instruction {
        /// Index of the function.
        function: u32,
        /// Name of the instruction.
        name: String,
    },
    /// Another part of the module without translation.
    #[error("{0} is not supported")]
    Unsupported(String),
}

/// The soft floats and the integer functions as they are part of each C file.
pub fn support() -> String {
    [writer::INTEGERS, writer::SOFT_FLOATS].concat()
}
