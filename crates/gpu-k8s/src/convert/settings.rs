//! What owners tell us by annotations. A value that cannot be read changes nothing and is told to the owner in words.

use std::collections::BTreeMap;

use gpu_model::{MigProfileName, PodSettings, SharingMode};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::{Labels, shortened};
use crate::names::{PREFIX, annotation, label};

/// What somebody says about being optimised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OwnSay {
    #[default]
    Nothing,
    OptIn,
    OptOut,
}

/// More than these would be noise to the owner, who mends them one by one.
const MOST_PROBLEMS: usize = 8;
/// Words such as a gang's name become labels of metrics, so they are as long as a label's value may be.
const LONGEST_WORD: usize = 63;
/// What is shown of a value that cannot be read.
const SHOWN: usize = 40;

/// Reads the annotations of a pod. The second value is what the pod itself says about being optimised.
pub fn settings(annotations: &Labels, labels: &Labels) -> (PodSettings, OwnSay) {
    let mut reader = Reader {
        annotations,
        problems: Vec::new(),
    };
    let optimize = match reader.read(annotation::OPTIMIZE, "\"true\" or \"false\"", switch) {
        Some(true) => OwnSay::OptIn,
        Some(false) => OwnSay::OptOut,
        None => OwnSay::Nothing,
    };
    let word = "a word of at most 63 characters";
    let truth = "\"true\" or \"false\"";
    let settings = PodSettings {
        is_opted_out: optimize == OwnSay::OptOut,
        exempt_until: reader.read(
            annotation::EXEMPT_UNTIL,
            "a time such as 2026-07-01T12:00:00Z or a date such as 2026-07-01",
            instant,
        ),
        workload_type: reader.read(annotation::WORKLOAD_TYPE, word, some_word),
        gang: reader.read(annotation::GANG, word, some_word),
        is_movable: reader.read(annotation::MOVABLE, truth, switch),
        is_spot_ok: reader.read(annotation::SPOT_OK, truth, switch),
        cost_center: reader
            .read(annotation::COST_CENTER, word, some_word)
            .or_else(|| labels.get(label::COST_CENTER).cloned()),
        may_share: reader.read(annotation::SHARING, "\"enabled\" or \"disabled\"", switch),
        sharing_mode: reader.read(
            annotation::SHARING_MODE,
            "\"mig\", \"mps\" or \"time-slicing\"",
            sharing_mode,
        ),
        mig_profile: reader.read(
            annotation::MIG_PROFILE,
            "a MIG profile such as \"1g.10gb\"",
            mig_profile,
        ),
        priority: reader.read(annotation::PRIORITY, "a whole number", |text| text.parse().ok()),
        problems: Vec::new(),
    };
    reader.look_for_unknown_names();
    (
        PodSettings {
            problems: reader.problems,
            ..settings
        },
        optimize,
    )
}

/// What a namespace says about its pods being optimised.
pub fn namespace_says(labels: &Labels) -> OwnSay {
    match labels.get(label::OPTIMIZE).and_then(|text| switch(text)) {
        Some(true) => OwnSay::OptIn,
        Some(false) => OwnSay::OptOut,
        None => OwnSay::Nothing,
    }
}

struct Reader<'a> {
    annotations: &'a BTreeMap<String, String>,
    problems: Vec<String>,
}

impl Reader<'_> {
    fn read<T>(&mut self, name: &str, right: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let text = self.annotations.get(name)?;
        let value = parse(text.trim());
        if value.is_none() {
            self.complain(format!(
                "annotation `{name}`: \"{}\" has no meaning here; write {right}",
                shortened(text, SHOWN)
            ));
        }
        value
    }

    fn look_for_unknown_names(&mut self) {
        let unknown = self
            .annotations
            .keys()
            .filter(|name| name.starts_with(PREFIX) && !annotation::ALL.contains(&name.as_str()));
        for name in unknown {
            let words = format!(
                "annotation `{}` is not known; look for a typing error",
                shortened(name, 80)
            );
            if self.problems.len() < MOST_PROBLEMS {
                self.problems.push(words);
            }
        }
    }

    fn complain(&mut self, words: String) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(words);
        }
    }
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "enabled" | "yes" | "on" => Some(true),
        "false" | "disabled" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn some_word(text: &str) -> Option<String> {
    let is_fine =
        !text.is_empty() && text.chars().count() <= LONGEST_WORD && !text.chars().any(char::is_control);
    is_fine.then(|| text.to_owned())
}

fn sharing_mode(text: &str) -> Option<SharingMode> {
    match text.to_ascii_lowercase().as_str() {
        "mig" => Some(SharingMode::Mig),
        "mps" => Some(SharingMode::Mps),
        "time-slicing" | "timeslicing" => Some(SharingMode::TimeSlicing),
        _ => None,
    }
}

/// `3g.40gb`, `1g.10gb+me`, `1c.3g.40gb`.
fn mig_profile(text: &str) -> Option<MigProfileName> {
    let (size, extra) = text
        .split_once('+')
        .map_or((text, None), |(size, extra)| (size, Some(extra)));
    let is_number = |text: &str, unit: &str| {
        text.strip_suffix(unit)
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
    };
    let parts: Vec<&str> = size.split('.').collect();
    let is_profile = match parts[..] {
        [slices, memory] => is_number(slices, "g") && is_number(memory, "gb"),
        [instance, slices, memory] => {
            is_number(instance, "c") && is_number(slices, "g") && is_number(memory, "gb")
        }
        _ => false,
    };
    let extra_is_fine = extra.is_none_or(|extra| {
        !extra.is_empty()
            && extra
                .bytes()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == b'.')
    });
    (is_profile && extra_is_fine).then(|| MigProfileName::new(text).ok())?
}

/// A time with its zone, or a day, which ends its night in UTC.
fn instant(text: &str) -> Option<Timestamp> {
    if let Ok(instant) = text.parse() {
        return Some(instant);
    }
    let day: Date = text.parse().ok()?;
    let end = day.tomorrow().ok()?;
    Some(end.to_zoned(TimeZone::UTC).ok()?.timestamp())
}
