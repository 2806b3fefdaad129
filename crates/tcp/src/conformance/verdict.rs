//! The parts of a report.

use super::check::{Outcome, Part};
use super::copies::Copies;
use super::judge::Judge;
use super::memory::MemoryWatch;
use super::repeat::Repeat;
use super::situations::Findings;

/// Parts of the report, in order; `steers` is the control's face.
pub(super) fn parts(
    (judge, findings): (&Judge, &Findings),
    (repeat, copies): (&Repeat, &Copies),
    (memory, steers): (&MemoryWatch, bool),
) -> Vec<Part> {
    let part = |name, (outcome, detail)| Part { name, outcome, detail };
    vec![
        part("faults", failed_if(judge.fault.clone(), || "none".to_string())),
        part(
            "stuck",
            failed_if(summary(&findings.stuck), || format!("moves again each time, in {} calls", judge.calls)),
        ),
        part("bounds", failed_if(summary(&findings.bounds), || "in proportion to path and application".to_string())),
        part("equal twice", repeated(repeat)),
        part("copies", copied(copies)),
        part("memory", grown(memory)),
        part("time-outs", timeouts(judge)),
        part("undo", undos(judge)),
        part("idle", noted_if(summary(&findings.idle), || "restarts from the initial window, or paced".to_string())),
        part("marks", marks(judge, steers)),
    ]
}

type Verdict = (Outcome, String);

fn failed_if(finding: Option<String>, otherwise: impl FnOnce() -> String) -> Verdict {
    match finding {
        Some(text) => (Outcome::Failed, text),
        None => (Outcome::Passed, otherwise()),
    }
}

fn noted_if(finding: Option<String>, otherwise: impl FnOnce() -> String) -> Verdict {
    match finding {
        Some(text) => (Outcome::Noted, text),
        None => (Outcome::Passed, otherwise()),
    }
}

/// The first finding and the number of others.
fn summary(findings: &[String]) -> Option<String> {
    let (first, others) = findings.split_first()?;
    Some(match others.len() {
        0 => first.clone(),
        n => format!("{first} (and {n} more)"),
    })
}

fn repeated(repeat: &Repeat) -> Verdict {
    match repeat.calls {
        0 => (Outcome::Skipped, "the check has ended before".to_string()),
        calls => failed_if(repeat.first.clone(), || format!("{calls} calls")),
    }
}

fn copied(copies: &Copies) -> Verdict {
    if let Some(text) = &copies.first {
        return (Outcome::Failed, text.clone());
    }
    if let Some(text) = copies.disturbed() {
        return (Outcome::Failed, format!("a copy shares state with its original: {text}"));
    }
    match &copies.refusal {
        None if copies.count == 0 => (Outcome::Skipped, "nothing was copied".to_string()),
        Some(refusal) => (Outcome::Passed, format!("{} connections made again, because: {refusal}", copies.replayed)),
        None => (Outcome::Passed, format!("{} copies go on equally", copies.count)),
    }
}

fn grown(memory: &MemoryWatch) -> Verdict {
    match memory.is_watched() {
        true => failed_if(memory.growth(), || "does not grow".to_string()),
        false => (Outcome::Skipped, "not measured".to_string()),
    }
}

fn timeouts(judge: &Judge) -> Verdict {
    let watch = &judge.timeouts;
    let count = watch.count;
    let finding = match (watch.restored, watch.unreduced) {
        (restored @ 1.., _) => Some(format!("{restored} of {count} time-outs are followed by the whole window")),
        (_, unreduced) if 2 * unreduced > count => {
            Some(format!("{unreduced} of {count} time-outs leave a threshold of the whole window or more"))
        }
        _ => None,
    };
    observed(count, finding, || format!("{count} time-outs"))
}

fn undos(judge: &Judge) -> Verdict {
    let (count, short) = (judge.undos.count, judge.undos.short);
    let finding = (5 * short > count)
        .then(|| format!("{short} of {count} needless reductions leave a smaller window than before them"));
    observed(count, finding, || format!("{count} needless reductions, {short} of them leave a smaller window"))
}

fn marks(judge: &Judge, steers: bool) -> Verdict {
    let (count, repeated) = (judge.marks.count, judge.marks.repeated);
    if steers {
        return (Outcome::Skipped, "the control sets the window itself".to_string());
    }
    let finding = (10 * repeated > count)
        .then(|| format!("{repeated} of {count} reductions are in the round trip of another one"));
    observed(count, finding, || format!("{count} reductions, {repeated} of them in the round trip of another one"))
}

/// A part about events that may not have occurred.
fn observed(count: u32, finding: Option<String>, otherwise: impl FnOnce() -> String) -> Verdict {
    match count {
        0 => (Outcome::Skipped, "did not occur".to_string()),
        _ => noted_if(finding, otherwise),
    }
}
