//! The C file.

use crate::TranslateError;
use crate::function::{head, translate};
use crate::instruction::Trap;
use crate::module::Module;
use std::collections::BTreeSet;
use std::fmt::Write;
use wasmparser::Operator;

pub(crate) const INTEGERS: &str = include_str!("support/integers.c");
pub(crate) const SOFT_FLOATS: &str = include_str!("support/soft_float.c");

pub(crate) fn write(module: &Module) -> Result<String, TranslateError> {
    let imported = module.imports.len() as u32;
    let recursive = recursive(module)?;
    let mut functions = String::new();
    for (index, body) in (imported..).zip(&module.bodies) {
        functions += &translate(module, index, body, recursive.contains(&index))?;
    }
    let mut text = format!("/* Translated from WebAssembly by sojourn-module {}. */\n", env!("CARGO_PKG_VERSION"));
    text += INTEGERS;
    if functions.contains("f64_") || functions.contains("f32_") || functions.contains("ed64_of(") {
        text += SOFT_FLOATS;
    }
    text += &instance(module);
    for index in 0..imported + module.bodies.len() as u32 {
        let _ = writeln!(text, "{};", head(module, index, &module.signature(module.type_of(index))?, false));
    }
    text += "\n";
    for kind in called_types(module)? {
        text += &indirect(module, kind)?;
    }
    text += &functions;
    for (i, &(name, index)) in module.exports.iter().enumerate() {
        if module.exports[..i].iter().any(|&(_, other)| other == index) || index < imported {
            return crate::module::unsupported(format!("the second name {name} of a function"));
        }
    }
    text += &start(module);
    Ok(text)
}

/// The instance, its constants and the texts of its traps.
fn instance(module: &Module) -> String {
    let mut text = format!("#define WASM_PAGES {}u /* of 64 KiB, at the start */\n", module.pages);
    let _ = writeln!(text, "#define WASM_DEPTH {MAX_DEPTH}u /* activations of recursive functions */");
    for &(name, index) in &module.global_exports {
        let global = &module.globals[index as usize];
        if !global.is_mutable {
            let _ = writeln!(text, "#define wasm_{name} {}", global.width.literal(global.value));
        }
    }
    text += "\nstruct wasm {\n\tu8 *memory;\n\tu32 size;\t/* of the memory in bytes */\n";
    text += "\tu32 trap;\t/* 0, or its reason: then the instance is not used again */\n\tu32 depth;\n";
    for (i, global) in module.globals.iter().enumerate() {
        if global.is_mutable {
            let _ = writeln!(text, "\t{} g{i};", global.width.c());
        }
    }
    text += "};\n\nWASM const char *wasm_reason(u32 trap)\n{\n\tswitch (trap) {\n";
    for (trap, reason) in Trap::ALL {
        let _ = writeln!(text, "\tcase {}: return \"{reason}\";", trap as u32);
    }
    text + "\tdefault: return \"a trap of the host\";\n\t}\n}\n\nWASM u32 wasm_grow(struct wasm *m, u32 pages);\n"
}

/// Types of indirect calls, each by its smallest index.
fn called_types(module: &Module) -> Result<BTreeSet<u32>, TranslateError> {
    let mut types = BTreeSet::new();
    for body in &module.bodies {
        for op in body.get_operators_reader()? {
            if let Operator::CallIndirect { type_index, .. } = op? {
                types.insert(module.first_equal_type(type_index));
            }
        }
    }
    Ok(types)
}

/// Calls a function of the table: a place outside it or a function of another type traps. Comparisons and direct calls
/// instead of pointers, which a kernel may check against their types or replace by slow sequences.
fn indirect(module: &Module, kind: u32) -> Result<String, TranslateError> {
    let signature = module.signature(kind)?;
    let result = signature.result.map_or("void", |width| width.c());
    let params: String = signature.params.iter().enumerate().map(|(i, w)| format!(", {} l{i}", w.c())).collect();
    let args: String = (0..signature.params.len()).map(|i| format!(", l{i}")).collect();
    let mut text = format!("WASM {result} call{kind}(struct wasm *m, u32 place{params})\n{{\n");
    for i in 0..signature.params.len() {
        let _ = writeln!(text, "\t(void)l{i};");
    }
    text += "\tswitch (place) {\n";
    for (place, function) in module.table.iter().enumerate() {
        let Some(function) = function.filter(|&function| module.same_type(module.type_of(function), kind)) else {
            continue;
        };
        let name = module.name(function);
        let _ = match signature.result {
            Some(_) => writeln!(text, "\tcase {place}: return {name}(m{args});"),
            None => writeln!(text, "\tcase {place}: {name}(m{args}); return;"),
        };
    }
    let zero = if signature.result.is_some() { " 0" } else { "" };
    let _ = writeln!(text, "\tdefault: m->trap = {}; return{zero};\n\t}}\n}}\n", Trap::Call as u32);
    Ok(text)
}

/// Functions that can be active twice.
fn recursive(module: &Module) -> Result<BTreeSet<u32>, TranslateError> {
    let imported = module.imports.len();
    let count = imported + module.bodies.len();
    let mut calls = vec![BTreeSet::new(); count];
    for (index, body) in (imported..).zip(&module.bodies) {
        for op in body.get_operators_reader()? {
            match op? {
                Operator::Call { function_index } => {
                    calls[index].insert(function_index as usize);
                }
                Operator::CallIndirect { type_index, .. } => {
                    let targets = module.table.iter().flatten();
                    let targets = targets.filter(|&&f| module.same_type(module.type_of(f), type_index));
                    calls[index].extend(targets.map(|&f| f as usize));
                }
                _ => {}
            }
        }
    }
    let reaches_itself = |start: usize| {
        let (mut seen, mut open) = (vec![false; count], vec![start]);
        while let Some(function) = open.pop() {
            for &callee in &calls[function] {
                if callee == start {
                    return true;
                }
                if !std::mem::replace(&mut seen[callee], true) {
                    open.push(callee);
                }
            }
        }
        false
    };
    Ok((0..count).filter(|&function| reaches_itself(function)).map(|function| function as u32).collect())
}

/// Initial contents of the memory and the globals.
fn start(module: &Module) -> String {
    let mut text = String::new();
    for (i, (_, bytes)) in module.data.iter().enumerate() {
        let _ = write!(text, "static const u8 data{i}[] = {{");
        for (at, byte) in bytes.iter().enumerate() {
            let _ = write!(text, "{}{byte},", if at % 32 == 0 { "\n\t" } else { "" });
        }
        text += "\n};\n\n";
    }
    text += "/* The memory has WASM_PAGES pages of zeros. */\nWASM void wasm_start(struct wasm *m)\n{\n";
    text += "\tm->trap = 0;\n\tm->depth = 0;\n";
    for (i, global) in module.globals.iter().enumerate() {
        if global.is_mutable {
            let _ = writeln!(text, "\tm->g{i} = {};", global.width.literal(global.value));
        }
    }
    for (i, (at, bytes)) in module.data.iter().enumerate() {
        if !bytes.is_empty() {
            let _ = writeln!(text, "\tmemcpy(m->memory + {at}, data{i}, {});", bytes.len());
        }
    }
    if let Some(start) = module.start {
        let _ = writeln!(text, "\t{}(m);", module.name(start));
    }
    text + "}\n"
}

/// A frame of the formatting code has some hundred bytes, a kernel's stack 8 to 16 KiB.
const MAX_DEPTH: u32 = 24;
