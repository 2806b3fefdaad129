//! Changes the number of flows of a group from a given time: adds companion groups that start then, or stops the flows
//! that started last.

use crate::request::{RequestError, nanos};
use crate::toml::{put, span, time};
use serde_json::Value as Json;
use sojourn_aqm::Instant;
use toml_edit::{DocumentMut, Item, Table};

/// Sets the number of active flows of a group and its companions from the edit's time on.
pub fn count(document: &mut DocumentMut, edit: &Json) -> Result<(), RequestError> {
    let at = nanos(edit, "at_ns")?;
    let whole = |key: &str| edit[key].as_u64().ok_or_else(|| RequestError(format!("{key}: a whole number is missing")));
    let (group, wanted) = (whole("group")? as usize, whole("count")?);
    let groups = document.get_mut("flows").and_then(Item::as_array_of_tables_mut);
    let groups = groups.ok_or_else(|| RequestError("flows: write them as [[flows]]".into()))?;
    let first = groups.get(group).ok_or_else(|| RequestError(format!("flows[{group}]: no such entry")))?.clone();
    if first.contains_key("stagger") || first.contains_key("rtt_stagger") {
        return Err(RequestError(format!(
            "flows[{group}]: its flows differ (stagger), so none can be added or removed"
        )));
    }
    let family: Vec<usize> =
        (0..groups.len()).filter(|&i| groups.get(i).is_some_and(|g| are_companions(g, &first))).collect();
    let active = |g: &Table| starts(g) <= at && time(g, "stop").is_none_or(|stop| stop > at);
    let running = |groups: &toml_edit::ArrayOfTables| -> Vec<usize> {
        family.iter().copied().filter(|&i| groups.get(i).is_some_and(active)).collect()
    };
    let present: u64 = running(groups).iter().filter_map(|&i| groups.get(i)).map(flows).sum();
    if wanted > present {
        let mut more = companion(&first, wanted - present);
        put(&mut more, "start", &span(at).into());
        groups.push(more);
        return Ok(());
    }
    let mut excess = present - wanted;
    // Last in, first out.
    let mut last_first = running(groups);
    last_first.sort_by_key(|&i| std::cmp::Reverse((groups.get(i).map(starts), i)));
    for i in last_first {
        let Some(entry) = groups.get_mut(i).filter(|_| excess > 0) else { break };
        let (present, stopped) = (flows(entry), excess.min(flows(entry)));
        excess -= stopped;
        if stopped == present {
            put(entry, "stop", &span(at).into());
            continue;
        }
        put(entry, "count", &(present - stopped).into());
        let mut stopping = companion(entry, stopped);
        put(&mut stopping, "stop", &span(at).into());
        groups.push(stopping);
    }
    Ok(())
}

/// A copy of an entry with another number of flows, for the end of the text.
fn companion(entry: &Table, count: u64) -> Table {
    let mut other = entry.clone();
    other.set_position(None);
    other.decor_mut().clear();
    put(&mut other, "count", &count.into());
    other
}

/// Whether two entries are companions: they differ at most in `count`, `start` and `stop`.
fn are_companions(a: &Table, b: &Table) -> bool {
    let settings = |entry: &Table| {
        let mut settings: Vec<(String, String)> = entry
            .iter()
            .filter(|(key, _)| !["count", "start", "stop"].contains(key))
            .map(|(key, item)| (key.to_string(), item.to_string().trim().to_string()))
            .collect();
        settings.sort();
        settings
    };
    settings(a) == settings(b)
}

fn starts(entry: &Table) -> Instant {
    time(entry, "start").unwrap_or(Instant::ZERO)
}

fn flows(entry: &Table) -> u64 {
    entry.get("count").and_then(Item::as_integer).map_or(1, |count| count as u64)
}
