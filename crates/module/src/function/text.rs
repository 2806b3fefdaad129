//! The text of a function.

use super::{Function, Line, RELOAD, variable};
use crate::instruction::Trap;
use crate::module::Width::{self, W32, W64};
use crate::module::{Module, Signature};
use std::collections::BTreeSet;
use std::fmt::Write;

impl Function<'_, '_> {
    pub(super) fn text(mut self) -> String {
        let signature = self.module.signature(self.module.type_of(self.index)).expect("it was read");
        let mut text = format!("{}\n{{\n", head(self.module, self.index, &signature, true));
        if self.counts_depth {
            self.traps.insert(Trap::Depth);
        }
        let used = self.used_names();
        for width in [W32, W64] {
            let own = (self.params..self.locals.len()).filter(|&local| self.locals[local] == width);
            let locals = own.map(|local| (format!("l{local}"), " = 0"));
            let places = self.variables.iter().filter(|&&(kind, _)| kind == width);
            let names = locals.chain(places.map(|&(_, place)| (variable(width, place), "")));
            let names: Vec<_> = names
                .filter(|(name, _)| used.contains(name.as_str()))
                .map(|(name, value)| format!("{name}{value}"))
                .collect();
            for names in names.chunks(12) {
                let _ = writeln!(text, "\t{} {};", width.c(), names.join(", "));
            }
        }
        if self.uses_memory {
            text += "\tu8 *mem = m->memory;\n";
        }
        if self.uses_size {
            text += "\tu32 size = m->size;\n";
        }
        // Neither unused nor only written, for the compiler's warnings.
        if !self.uses_memory && !self.uses_size && !used.contains("m") && !self.counts_depth && self.traps.is_empty() {
            text += "\t(void)m;\n";
        }
        for local in 0..self.locals.len() as u32 {
            let name = format!("l{local}");
            let is_declared = (local as usize) < self.params || used.contains(name.as_str());
            if is_declared && !self.read_locals.contains(&local) {
                let _ = writeln!(text, "\t(void){name};");
            }
        }
        if self.counts_depth {
            text += "\tif (unlikely(m->depth++ >= WASM_DEPTH)) { goto depth; }\n";
        }
        for line in &self.lines {
            match line {
                Line::Assignment(variable, value) => {
                    let _ = writeln!(text, "\t{variable} = {value};");
                }
                // A loop that nothing repeats has no branch to its start.
                Line::Label(label) if used.contains(format!("L{label}").as_str()) => {
                    let _ = writeln!(text, "L{label}:;");
                }
                Line::Label(_) => {}
                Line::Text(line) if line == RELOAD => match (self.uses_memory, self.uses_size) {
                    (true, true) => text += "\tmem = m->memory; size = m->size;\n",
                    (true, false) => text += "\tmem = m->memory;\n",
                    (false, _) => {}
                },
                Line::Text(line) => {
                    let _ = writeln!(text, "\t{line}");
                }
            }
        }
        text + &self.ends(signature.result.is_some()) + "}\n\n"
    }

    /// Names of variables in the lines.
    pub(super) fn used_names(&self) -> BTreeSet<&str> {
        let words = |text| str::split(text, |c: char| !c.is_ascii_alphanumeric() && c != '_');
        let mut used = BTreeSet::new();
        for line in &self.lines {
            match line {
                Line::Assignment(variable, text) => {
                    used.insert(variable.as_str());
                    used.extend(words(text));
                }
                Line::Text(text) => used.extend(words(text)),
                Line::Label(_) => {}
            }
        }
        used
    }

    /// Labels that traps and calls go to.
    pub(super) fn ends(&self, has_result: bool) -> String {
        let mut text = String::new();
        let count = self.traps.len();
        for (i, &trap) in self.traps.iter().enumerate() {
            let _ = writeln!(text, "{}:\n\tm->trap = {};", trap.label(), trap as u32);
            if i + 1 < count {
                text += "\tgoto out;\n";
            }
        }
        if count > 1 || self.calls {
            text += "out:\n";
        }
        if count > 0 || self.calls {
            text += if has_result { "\treturn 0;\n" } else { "\treturn;\n" };
        }
        text
    }
}

/// Declaration of a function, with or without names of its parameters.
pub(crate) fn head(module: &Module, index: u32, signature: &Signature, is_definition: bool) -> String {
    let result = signature.result.map_or("void", Width::c);
    let params: String = signature
        .params
        .iter()
        .enumerate()
        .map(|(i, width)| if is_definition { format!(", {} l{i}", width.c()) } else { format!(", {}", width.c()) })
        .collect();
    format!("WASM {result} {}(struct wasm *m{params})", module.name(index))
}
