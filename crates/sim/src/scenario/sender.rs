//! Packet fields by which queues classify a group of flows: DSCP, or the name of a class.

use super::ValueError;
use super::keys::{CustomForm, mismatch};
use serde_json::{Value, json};
use sojourn_aqm::class::ClassId;
use sojourn_aqm::dscp;

/// A differentiated services code point, 0 to 63.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dscp(pub u8);

impl Dscp {
    /// Reads a name, `"EF"`, or a number, `"46"` or `46`.
    pub(super) fn read(value: &Value) -> Result<Self, ValueError> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            other => return Err(mismatch(other, r#"a code point such as "EF", or a number from 0 to 63"#)),
        };
        dscp::parse(&text).map(Self).map_err(ValueError::Form)
    }

    pub(super) fn write(self) -> Value {
        dscp::spelling(self.0).into()
    }
}

/// Reads a class, `"1:10"`, or a priority, `"0:6"`.
pub(super) fn read_class(value: &Value) -> Result<ClassId, ValueError> {
    let Value::String(text) = value else { return Err(mismatch(value, r#"a class such as "1:10""#)) };
    let wrong =
        || ValueError::Form(format!("{text:?} is not a class; write e.g. \"1:10\", or \"0:6\" for the priority 6"));
    if !text.contains(':') {
        return Err(wrong());
    }
    let class = ClassId::parse(text, 0).map_err(ValueError::Form)?;
    if class.is_none() || class.major() == 0 && class.minor() > 15 { Err(wrong()) } else { Ok(class) }
}

pub(super) static DSCP: CustomForm = CustomForm {
    check: |value| Dscp::read(value).map(|_| ()),
    schema: || json!({ "title": "name or number", "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 0, "maximum": 63 }], "examples": ["EF", 46] }),
};

pub(super) static CLASS: CustomForm = CustomForm {
    check: |value| read_class(value).map(|_| ()),
    schema: || json!({ "title": "class", "type": "string", "pattern": "^[0-9a-fA-F]{1,4}:[0-9a-fA-F]{0,4}$", "examples": ["1:10"] }),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_and_classes_are_read_as_they_are_written() {
        for (value, point, written) in
            [(json!("ef"), 46, "EF"), (json!(46), 46, "EF"), (json!("3"), 3, "3"), (json!(8), 8, "CS1")]
        {
            let read = Dscp::read(&value).unwrap();
            assert_eq!((read.0, read.write()), (point, json!(written)));
            assert_eq!(Dscp::read(&read.write()).unwrap(), read);
        }
        assert_eq!(read_class(&json!("1:1a")).unwrap(), ClassId::new(1, 26));
        for (wrong, error) in [
            (
                Dscp::read(&json!(64)).unwrap_err(),
                "\"64\" is not a code point; write a name such as \"EF\", \"CS1\" or \"AF41\", or a number from 0 to 63",
            ),
            (
                Dscp::read(&json!(true)).unwrap_err(),
                "expected a code point such as \"EF\", or a number from 0 to 63, found true or false",
            ),
            (
                read_class(&json!("10")).unwrap_err(),
                "\"10\" is not a class; write e.g. \"1:10\", or \"0:6\" for the priority 6",
            ),
            (
                read_class(&json!("0:10")).unwrap_err(),
                "\"0:10\" is not a class; write e.g. \"1:10\", or \"0:6\" for the priority 6",
            ),
        ] {
            assert_eq!(wrong.to_string(), error);
        }
    }
}
