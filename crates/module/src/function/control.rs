//! Blocks and branches as labels and jumps.

use super::{Frame, Function, Kind, Line, Operand, Value};
use crate::TranslateError;
use crate::module::{Width, unsupported};
use std::collections::BTreeMap;
use std::fmt::Write;
use wasmparser::{BlockType, BrTable};

impl Function<'_, '_> {
    pub(super) fn block(&mut self, kind: Kind, block: BlockType) -> Result<(), TranslateError> {
        let (params, results) = match block {
            BlockType::Empty => (Vec::new(), Vec::new()),
            BlockType::Type(value) => (Vec::new(), vec![Width::of(value)?]),
            BlockType::FuncType(kind) => self.module.widths(kind)?,
        };
        if kind == Kind::If && !params.is_empty() {
            return unsupported("an if with parameters".into());
        }
        let condition = (kind == Kind::If).then(|| self.pop().text);
        // A branch may change local variables on one path only.
        self.materialise(self.stack.len());
        let mut frame = Frame::new(kind, self.stack.len() - params.len(), params, results);
        if kind == Kind::Loop {
            frame.label = Some(self.labels);
            self.labels += 1;
            self.lines.push(Line::Label(self.labels - 1));
            self.checked.clear();
        }
        if let Some(condition) = condition {
            self.text_line(format!("if ({condition}) {{"));
            frame.checked = self.checked.clone();
        }
        self.frames.push(frame);
        Ok(())
    }

    pub(super) fn else_arm(&mut self) {
        let is_alive = self.dead.take().is_none();
        if is_alive {
            self.materialise(self.frames.last().map_or(0, |frame| frame.results.len()));
        }
        let frame = self.frames.last_mut().expect("the module is valid");
        (frame.kind, frame.first_arm_ends) = (Kind::Else, is_alive);
        self.stack.truncate(frame.height);
        self.checked = std::mem::take(&mut frame.checked);
        self.text_line("} else {".into());
    }

    pub(super) fn end(&mut self) {
        let mut is_alive = self.dead.take().is_none();
        let results = self.frames.last().map_or(0, |frame| frame.results.len());
        if self.frames.len() == 1 {
            if is_alive {
                let branch = self.branch(0);
                self.text_line(branch);
            }
            return;
        }
        if is_alive {
            self.materialise(results);
        }
        let frame = self.frames.pop().expect("the module is valid");
        if matches!(frame.kind, Kind::If | Kind::Else) {
            self.text_line("}".into());
            self.checked.clear();
            // Without a second arm the condition leads here.
            is_alive |= frame.kind == Kind::If || frame.first_arm_ends;
        }
        if let Some(label) = frame.label.filter(|_| frame.kind != Kind::Loop) {
            self.lines.push(Line::Label(label));
            self.checked.clear();
            is_alive = true;
        }
        self.stack.truncate(frame.height);
        if is_alive {
            self.stack.extend(frame.results.iter().map(|&width| Operand { width, value: Value::Variable }));
        } else {
            self.dead = Some(0);
        }
    }

    /// Statements that leave `depth` blocks; the operands stay.
    pub(super) fn branch(&mut self, depth: u32) -> String {
        let target = self.frames.len() - 1 - depth as usize;
        let frame = &mut self.frames[target];
        let widths = if frame.kind == Kind::Loop { frame.params.clone() } else { frame.results.clone() };
        let from = self.stack.len() - widths.len();
        let mut text = String::new();
        if frame.kind == Kind::Function {
            let result = widths.first().map(|_| self.atom(self.stack[from], from).text);
            if self.counts_depth {
                text += "m->depth--; ";
            }
            let _ = write!(text, "return{}{};", if result.is_some() { " " } else { "" }, result.unwrap_or_default());
            return text;
        }
        let (label, height) = (frame.label.unwrap_or(self.labels), frame.height);
        if frame.label.replace(label).is_none() {
            self.labels += 1;
        }
        for (i, &width) in widths.iter().enumerate() {
            let value = self.atom(self.stack[from + i], from + i).text;
            let variable = self.variable(width, height + i);
            if value != variable {
                let _ = write!(text, "{variable} = {value}; ");
            }
        }
        text + &format!("goto L{label};")
    }

    pub(super) fn branch_table(&mut self, targets: &BrTable) -> Result<(), TranslateError> {
        let index = self.pop().text;
        self.text_line(format!("switch ({index}) {{"));
        let mut cases: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (value, target) in targets.targets().enumerate() {
            let target = target?;
            if target != targets.default() {
                cases.entry(target).or_default().push(value);
            }
        }
        for (target, values) in cases {
            let labels: String = values.iter().map(|value| format!("case {value}: ")).collect();
            let branch = self.branch(target);
            self.text_line(format!("{labels}{branch}"));
        }
        let branch = self.branch(targets.default());
        self.text_line(format!("default: {branch}"));
        self.text_line("}".into());
        self.dead = Some(0);
        Ok(())
    }
}
