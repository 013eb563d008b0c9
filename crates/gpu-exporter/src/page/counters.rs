//! The counters file of dcgm-exporter: `FIELD, type, help` a line. What it names decides which families of the `dcgm`
//! vocabulary are shown, under the names, types and help texts it gives. A field that cannot be had is told and counted,
//! and does not spoil the rest; a line that makes no sense is an error with its number.

use std::fmt;

use gpu_exposition::{MetricKind, is_metric_name};

use super::catalog::{FamilySpec, Vocabulary};

/// A parsed file.
#[derive(Debug, Clone, Default)]
pub struct CountersFile {
    /// In the order of the file.
    pub families: Vec<Counter>,
    pub labels: Vec<IdentityLabel>,
    pub skipped: Vec<Skipped>,
}

/// One family to show.
#[derive(Debug, Clone)]
pub struct Counter {
    /// As the file spells it: the name before or since DCGM 4.6.
    pub name: String,
    pub help: String,
    pub kind: MetricKind,
    pub spec: &'static FamilySpec,
}

/// A text of the device that the file makes a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityLabel {
    pub name: String,
    pub(super) text: IdentityText,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdentityText {
    DriverVersion,
    Model,
    Serial,
    Uuid,
    MinorNumber,
    PciBusId,
    Vbios,
}

impl IdentityLabel {
    /// The one label of the default counters file.
    pub(super) fn driver_version() -> Self {
        Self {
            name: "DCGM_FI_DRIVER_VERSION".to_owned(),
            text: IdentityText::DriverVersion,
        }
    }

    fn find(name: &str) -> Option<Self> {
        let text = match name {
            "DCGM_FI_DRIVER_VERSION" | "DCGM_FI_SYSTEM_DRIVER_VERSION" => IdentityText::DriverVersion,
            "DCGM_FI_DEV_NAME" | "DCGM_FI_DEV_GPU_NAME" => IdentityText::Model,
            "DCGM_FI_DEV_SERIAL" | "DCGM_FI_DEV_BOARD_SERIAL" => IdentityText::Serial,
            "DCGM_FI_DEV_UUID" | "DCGM_FI_DEV_GPU_UUID" => IdentityText::Uuid,
            "DCGM_FI_DEV_MINOR_NUMBER" | "DCGM_FI_DEV_GPU_MINOR_NUMBER" => IdentityText::MinorNumber,
            "DCGM_FI_DEV_PCI_BUSID" | "DCGM_FI_DEV_PCI_BUS_ID" => IdentityText::PciBusId,
            "DCGM_FI_DEV_VBIOS_VERSION" => IdentityText::Vbios,
            _ => return None,
        };
        Some(Self {
            name: name.to_owned(),
            text,
        })
    }
}

/// An entry that is not shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub line: usize,
    pub field: String,
    pub reason: SkipReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// The drivers we read have no such value, or the name is misspelt.
    NotProvided,
    /// The field stands in the file more than once.
    Repeated,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.reason {
            SkipReason::NotProvided => "this exporter has no such value",
            SkipReason::Repeated => "it stands in the file more than once",
        };
        write!(f, "line {}: `{}` is left out: {why}", self.line, self.field)
    }
}

/// Why a file was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to read the counters file at line {line}: {problem}")]
pub struct CountersError {
    pub line: usize,
    pub problem: CountersProblem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CountersProblem {
    #[error(
        "expected 3 columns (field, type, help) and found {found}: put a help text with commas in quotes"
    )]
    Columns { found: usize },
    #[error("`{text}` is no type: use gauge, counter or label")]
    Kind { text: String },
    #[error("`{text}` is not the name of a field")]
    FieldName { text: String },
    #[error("a quote is not closed on its line")]
    Quote,
    #[error("the help text exceeds {limit} bytes")]
    HelpLong { limit: usize },
    #[error("more than {limit} entries")]
    TooMany { limit: usize },
}

/// DCGM has some 650 fields with two names each.
const MOST_ENTRIES: usize = 2_000;
/// The longest help text of the default file has 100 bytes.
const LONGEST_HELP: usize = 1_024;
/// What an error repeats of a line.
const EXCERPT: usize = 64;

impl CountersFile {
    pub fn parse(text: &str) -> Result<Self, CountersError> {
        let mut file = Self::default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (at, line) in text.lines().enumerate() {
            let line_number = at + 1;
            file.entry(line_number, line).map_err(|problem| CountersError {
                line: line_number,
                problem,
            })?;
        }
        Ok(file)
    }

    fn entry(&mut self, line_number: usize, line: &str) -> Result<(), CountersProblem> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let columns = columns(line)?;
        let Ok([field, kind, help]) = <[String; 3]>::try_from(columns) else {
            return Err(CountersProblem::Columns {
                found: self::columns(line)?.len(),
            });
        };
        let is_field = ["DCGM_FI_", "DCGM_EXP_"]
            .iter()
            .any(|prefix| field.starts_with(prefix));
        if !is_field || !is_metric_name(&field) {
            return Err(CountersProblem::FieldName {
                text: excerpt(&field),
            });
        }
        if help.len() > LONGEST_HELP {
            return Err(CountersProblem::HelpLong { limit: LONGEST_HELP });
        }
        if self.families.len() + self.labels.len() + self.skipped.len() == MOST_ENTRIES {
            return Err(CountersProblem::TooMany { limit: MOST_ENTRIES });
        }
        let added = match kind.as_str() {
            "gauge" => self.add_family(&field, help, MetricKind::Gauge),
            "counter" => self.add_family(&field, help, MetricKind::Counter),
            "label" => self.add_label(&field),
            _ => return Err(CountersProblem::Kind { text: excerpt(&kind) }),
        };
        if let Err(reason) = added {
            self.skipped.push(Skipped {
                line: line_number,
                field: excerpt(&field),
                reason,
            });
        }
        Ok(())
    }

    fn add_family(&mut self, name: &str, help: String, kind: MetricKind) -> Result<(), SkipReason> {
        let spec = Vocabulary::Dcgm
            .families()
            .find(|spec| spec.is_called(name))
            .ok_or(SkipReason::NotProvided)?;
        if self.families.iter().any(|family| family.name == name) {
            return Err(SkipReason::Repeated);
        }
        self.families.push(Counter {
            name: name.to_owned(),
            help,
            kind,
            spec,
        });
        Ok(())
    }

    fn add_label(&mut self, name: &str) -> Result<(), SkipReason> {
        let label = IdentityLabel::find(name).ok_or(SkipReason::NotProvided)?;
        if self.labels.contains(&label) {
            return Err(SkipReason::Repeated);
        }
        self.labels.push(label);
        Ok(())
    }
}

/// The columns of a line, trimmed. A quoted one may hold commas, and a doubled quote stands for one.
fn columns(line: &str) -> Result<Vec<String>, CountersProblem> {
    let mut columns = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start();
        let column = match rest.strip_prefix('"') {
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                let column = rest[..end].trim_end().to_owned();
                rest = &rest[end..];
                column
            }
            Some(quoted) => {
                let (column, after) = unquote(quoted)?;
                rest = after.trim_start();
                if !rest.is_empty() && !rest.starts_with(',') {
                    return Err(CountersProblem::Quote);
                }
                column
            }
        };
        columns.push(column);
        match rest.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Ok(columns),
        }
    }
}

fn unquote(quoted: &str) -> Result<(String, &str), CountersProblem> {
    let mut column = String::new();
    let mut rest = quoted;
    loop {
        let end = rest.find('"').ok_or(CountersProblem::Quote)?;
        column.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                column.push('"');
                rest = more;
            }
            None => return Ok((column.trim().to_owned(), rest)),
        }
    }
}

fn excerpt(text: &str) -> String {
    text.chars().take(EXCERPT).collect()
}

#[cfg(test)]
mod tests;
