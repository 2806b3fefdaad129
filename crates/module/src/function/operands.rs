//! The operand stack, numeric instructions, accesses and calls.

use super::{Expression, Function, Line, Operand, RELOAD, Value, variable};
use crate::TranslateError;
use crate::instruction::{Access, Numeric, Trap};
use crate::module::Width;
use std::fmt::Write;

impl Function<'_, '_> {
    pub(super) fn text_line(&mut self, text: String) {
        self.lines.push(Line::Text(text));
    }

    /// Name of the variable of a place on the stack.
    pub(super) fn variable(&mut self, width: Width, place: usize) -> String {
        self.variables.insert((width, place));
        variable(width, place)
    }

    pub(super) fn push(&mut self, width: Width, text: String) {
        let variable = self.variable(width, self.stack.len());
        self.lines.push(Line::Assignment(variable, text));
        self.stack.push(Operand { width, value: Value::Variable });
    }

    pub(super) fn push_constant(&mut self, width: Width, value: u64) {
        self.stack.push(Operand { width, value: Value::Constant(value) });
    }

    pub(super) fn push_local(&mut self, local: u32) {
        self.stack.push(Operand { width: self.locals[local as usize], value: Value::Local(local) });
    }

    pub(super) fn atom(&mut self, operand: Operand, place: usize) -> Expression {
        let (text, constant, local) = match operand.value {
            Value::Variable => (self.variable(operand.width, place), None, None),
            Value::Constant(value) => (operand.width.literal(value), Some(value), None),
            Value::Local(local) => {
                self.read_locals.insert(local);
                (format!("l{local}"), None, Some(local))
            }
        };
        Expression { text, constant, local, is_atom: true, width: operand.width }
    }

    /// Takes the top operand; the assignment to its variable moves into the expression if nothing came after it.
    pub(super) fn pop(&mut self) -> Expression {
        let operand = self.stack.pop().expect("the module is valid");
        let expression = self.atom(operand, self.stack.len());
        if operand.value != Value::Variable {
            return expression;
        }
        match self.lines.pop() {
            Some(Line::Assignment(variable, text)) if variable == expression.text => {
                Expression { text: format!("({text})"), is_atom: false, ..expression }
            }
            last => {
                self.lines.extend(last);
                expression
            }
        }
    }

    pub(super) fn pop_three(&mut self) -> [Expression; 3] {
        let (three, two) = (self.pop(), self.pop());
        [self.pop(), two, three]
    }

    /// The same value as a name or a literal; `place` is its own on the stack.
    pub(super) fn as_atom(&mut self, expression: Expression, place: usize) -> Expression {
        if expression.is_atom {
            return expression;
        }
        let variable = self.variable(expression.width, place);
        self.lines.push(Line::Assignment(variable.clone(), expression.text));
        Expression { text: variable, is_atom: true, ..expression }
    }

    /// Moves the top `count` operands into their variables.
    pub(super) fn materialise(&mut self, count: usize) {
        for place in self.stack.len() - count..self.stack.len() {
            let operand = self.stack[place];
            if operand.value != Value::Variable {
                let value = self.atom(operand, place).text;
                let variable = self.variable(operand.width, place);
                self.lines.push(Line::Assignment(variable, value));
                self.stack[place].value = Value::Variable;
            }
        }
    }

    pub(super) fn set_local(&mut self, local: u32) {
        let value = self.pop().text;
        for place in 0..self.stack.len() {
            if self.stack[place].value == Value::Local(local) {
                let variable = self.variable(self.locals[local as usize], place);
                self.text_line(format!("{variable} = l{local};"));
                self.stack[place].value = Value::Variable;
            }
        }
        self.checked.remove(&local);
        self.changes[local as usize] += 1;
        self.text_line(format!("l{local} = {value};"));
    }

    pub(super) fn numeric(&mut self, numeric: &Numeric) {
        let mut args: Vec<_> = numeric.args.iter().map(|_| self.pop()).collect();
        args.reverse();
        // Named once more in the conditions.
        if !numeric.traps.is_empty() {
            let place = self.stack.len();
            args = args.into_iter().enumerate().map(|(i, arg)| self.as_atom(arg, place + i)).collect();
        }
        let constant_divisor = args.last().and_then(|arg| arg.constant).filter(|&value| value != 0);
        for &(condition, trap) in numeric.traps {
            if trap != Trap::Division || constant_divisor.is_none() {
                let condition = fill(condition, &args);
                self.trap_if(&condition, trap);
            }
        }
        self.push(numeric.result, fill(numeric.text, &args));
    }

    pub(super) fn trap_if(&mut self, condition: &str, trap: Trap) {
        self.traps.insert(trap);
        // Braces: gcc looks at the indentation of each other `if`, in a time that grows with the file.
        self.text_line(format!("if (unlikely({condition})) {{ goto {}; }}", trap.label()));
    }

    pub(super) fn trap(&mut self, trap: Trap) {
        self.traps.insert(trap);
        self.text_line(format!("goto {};", trap.label()));
        self.dead = Some(0);
    }

    pub(super) fn access(&mut self, access: &Access) {
        let value = access.is_store.then(|| self.pop().text);
        let address = self.pop();
        let place = self.stack.len();
        let address = self.as_atom(address, place);
        let at = self.address(&address, access.offset, u64::from(access.bytes));
        let text = access.text.replace("$at", &at);
        match value {
            Some(value) => self.text_line(format!("{};", text.replace("$b", &value))),
            None => self.push(access.width, text),
        }
    }

    /// Checks an access of `bytes` and returns its place.
    pub(super) fn address(&mut self, address: &Expression, offset: u64, bytes: u64) -> String {
        self.uses_memory = true;
        let initial = self.module.initial_bytes();
        let end = offset + bytes;
        if let Some(constant) = address.constant.filter(|constant| constant + end <= initial) {
            return format!("mem + {}", constant + offset);
        }
        if let Some(local) = address.local {
            let extent = self.extents.entry(self.place_of(local)).or_default();
            *extent = end.max(*extent);
        }
        let known = address.local.and_then(|local| self.checked.get(&local)).is_some_and(|&extent| extent >= end);
        if !known {
            self.uses_size = true;
            let reach = address.local.and_then(|local| self.reach.get(&self.place_of(local))).copied();
            let end = reach.unwrap_or(end);
            let text = &address.text;
            // The memory never shrinks below its initial size.
            let condition = match end <= initial {
                true => format!("{text} > size - {end}"),
                false => format!("size < {end}ull || {text} > size - {end}ull"),
            };
            self.trap_if(&condition, Trap::Bounds);
            if let Some(local) = address.local {
                self.checked.insert(local, end);
            }
        }
        match offset {
            0 => format!("mem + {}", address.text),
            offset => format!("mem + {} + {offset}", address.text),
        }
    }

    /// Place in the code as far as an address in a local variable is concerned.
    fn place_of(&self, local: u32) -> (u32, u32, u32) {
        (self.segment, local, self.changes[local as usize])
    }

    /// memory.copy or memory.fill by `function` of C.
    pub(super) fn block_access(&mut self, function: &str, is_copy: bool) {
        let [to, second, len] = self.pop_three();
        let place = self.stack.len();
        let [to, second] = [self.as_atom(to, place), self.as_atom(second, place + 1)];
        let len = self.as_atom(len, place + 2).text;
        (self.uses_memory, self.uses_size) = (true, true);
        let mut condition = format!("{len} > size || {} > size - {len}", to.text);
        let second = if is_copy {
            let _ = write!(condition, " || {} > size - {len}", second.text);
            format!("mem + {}", second.text)
        } else {
            format!("(u8){}", second.text)
        };
        self.trap_if(&condition, Trap::Bounds);
        self.text_line(format!("{function}(mem + {}, {second}, {len});", to.text));
    }

    pub(super) fn call(&mut self, name: &str, kind: u32, place: Option<String>) -> Result<(), TranslateError> {
        let signature = self.module.signature(kind)?;
        let mut args: Vec<_> = signature.params.iter().map(|_| self.pop().text).collect();
        args.extend(place);
        args.push("m".into());
        args.reverse();
        let call = format!("{name}({});", args.join(", "));
        match signature.result {
            Some(width) => {
                let variable = self.variable(width, self.stack.len());
                self.text_line(format!("{variable} = {call}"));
                self.stack.push(Operand { width, value: Value::Variable });
            }
            None => self.text_line(call),
        }
        self.calls = true;
        self.text_line("if (unlikely(m->trap)) { goto out; }".into());
        self.text_line(RELOAD.into());
        Ok(())
    }
}

fn fill(text: &str, args: &[Expression]) -> String {
    let text = text.replace("$a", &args[0].text);
    args.get(1).map_or(text.clone(), |arg| text.replace("$b", &arg.text))
}
