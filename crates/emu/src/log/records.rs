//! The log from which results are computed: a head in JSON, then records of 32 bytes, with an extension record before
//! the arrival of a super-packet or of a packet with a class.
//!
//! The file begins with [`MAGIC`] and the length of the JSON text (u32, little-endian). Spaces pad the text, so that
//! the records begin at a multiple of [`HEAD_UNIT`] bytes. A truncated file is valid up to its last whole record.

use super::error::{LogError, WriteError};
use super::output::Output;
use super::record::{RECORD_BYTES, Record};
use super::{LogWriter, RecordKind};
use crate::Error;
use crate::path::config::{DirectionConfig, LogConfig, PathKind};
use serde_json::{Value, json};
use sojourn_aqm::Instant;

/// Writer of this format.
pub struct Records(pub(super) Output);

impl Records {
    pub fn create(log: &LogConfig, config: &DirectionConfig, seed: u64) -> Result<Self, Error> {
        let mut output = Output::create(&log.path)?;
        let kind = match &config.kind {
            PathKind::Link(_) => "link",
            PathKind::Delay(_) => "delay",
            PathKind::Loss(_) => "loss",
            PathKind::OnOff { .. } => "on-off",
        };
        let link = if let PathKind::Link(spec) = &config.kind { spec.canonical() } else { Value::Null };
        let head = json!({
            "format": FORMAT,
            "side": config.side.name(),
            "number": config.number,
            "kind": kind,
            "link": link,
            "mtu": config.mtu,
            "gso": config.gso.name(),
            "seed": seed,
            "epoch_ns": config.epoch_ns,
            "command": log.command,
        });
        let mut text = head.to_string().into_bytes();
        let size = (MAGIC.len() + 4 + text.len()).next_multiple_of(HEAD_UNIT);
        text.resize(size - MAGIC.len() - 4, b' ');
        output.buffer.extend(MAGIC);
        output.buffer.extend((text.len() as u32).to_le_bytes());
        output.buffer.extend(text);
        // Flush now, so that an error is reported before the command runs.
        output.flush()?;
        Ok(Self(output))
    }
}

impl LogWriter for Records {
    fn write(&mut self, records: &[Record]) -> Result<(), WriteError> {
        for record in records {
            if let Some(more) = record.more() {
                self.0.buffer.extend(more.to_bytes());
            }
            self.0.buffer.extend(record.to_bytes());
        }
        self.0.flush()
    }

    fn finish(&mut self, end: Instant) -> Result<(), WriteError> {
        self.write(&[Record::event(end, RecordKind::End, 0, 0)])
    }
}

/// Parses a log: its head, with the changes as `changes`, and all whole records.
pub fn read(bytes: &[u8]) -> Result<(Value, Vec<Record>), LogError> {
    let body = bytes.strip_prefix(MAGIC).ok_or(LogError::NoLog)?;
    let (size, body) = body.split_first_chunk::<4>().ok_or(LogError::CutOff)?;
    let (text, body) = body.split_at_checked(u32::from_le_bytes(*size) as usize).ok_or(LogError::CutOff)?;
    let mut head: Value = serde_json::from_slice(text).map_err(LogError::Head)?;
    if head["format"] != FORMAT {
        return Err(LogError::Format { found: head["format"].to_string(), expected: FORMAT });
    }
    let mut records = Vec::with_capacity(body.len() / RECORD_BYTES);
    let (mut more, mut text, mut changes) = (None, Vec::new(), Vec::new());
    for (i, bytes) in body.chunks_exact(RECORD_BYTES).enumerate() {
        let record = Record::from_bytes(bytes.try_into().expect("chunks are exact")).ok_or(LogError::Record(i))?;
        match record.kind {
            RecordKind::Text => {
                text.extend(record.text());
                continue;
            }
            RecordKind::Changed => {
                changes.push(change(&record, &std::mem::take(&mut text)).ok_or(LogError::Record(i))?)
            }
            _ => {}
        }
        match more.take() {
            _ if record.kind == RecordKind::More => more = Some(record),
            None => records.push(record),
            Some(extension) => records.push(record.with(&extension).ok_or(LogError::Record(i))?),
        }
    }
    if !changes.is_empty() {
        head["changes"] = changes.into();
    }
    Ok((head, records))
}

/// Entry of the head's `changes`: the keys and the time.
fn change(record: &Record, text: &[u8]) -> Option<Value> {
    let mut keys: serde_json::Map<String, Value> = serde_json::from_slice(text).ok()?;
    keys.insert("at".to_string(), format!("{} ns", record.at.as_nanos()).into());
    Some(keys.into())
}

/// The first bytes of a log.
pub const MAGIC: &[u8; 8] = b"sojourn\n";

/// Alignment of the head's length, in bytes.
pub const HEAD_UNIT: usize = 64;

const FORMAT: u32 = 2;
