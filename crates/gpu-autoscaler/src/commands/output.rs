//! One answer in the form that was asked for.

use anyhow::Context as _;
use gpu_runtime::Terminal;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::table::Table;
use crate::cli::people::Output;

/// Prints a document as JSON or YAML, or as what `table` makes of it.
pub(super) fn print<T: Serialize>(
    output: Output,
    document: &T,
    text: impl FnOnce(Width) -> String,
    table: impl FnOnce() -> Table,
) -> anyhow::Result<()> {
    let words = match output {
        Output::Table => text(Width::Narrow),
        Output::Wide => text(Width::Wide),
        Output::Json => serde_json::to_string_pretty(document).context("failed to write JSON")? + "\n",
        Output::Yaml => serde_saphyr::to_string(document).context("failed to write YAML")?,
        Output::Csv => table().csv(),
    };
    Terminal::stdout().say(words);
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Narrow,
    Wide,
}

/// A dash where something is not known.
pub(super) fn dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
}

/// Dollars as people write them: cents below a hundred, thousands apart.
pub(super) fn dollars(amount: Option<f64>) -> String {
    let Some(amount) = amount else {
        return "-".to_owned();
    };
    if amount.abs() < 100.0 {
        return format!("${amount:.2}");
    }
    let whole = format!("{:.0}", amount.abs());
    let mut text = String::new();
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    format!("{}${text}", if amount < 0.0 { "-" } else { "" })
}

/// How long ago, in the two largest units: `3d4h`, `12m`, `45s`.
pub(super) fn ago(since: Timestamp, now: Timestamp) -> String {
    spoken(now.duration_since(since))
}

pub(super) fn spoken(time: SignedDuration) -> String {
    let seconds = time.as_secs().max(0);
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, minutes) => format!("{minutes}m"),
        (0, hours, minutes) => format!("{hours}h{minutes}m"),
        (days, hours, _) => format!("{days}d{hours}h"),
    }
}

/// The words that stand over everything simulated.
pub(super) fn banner(source: Option<&str>) -> &'static str {
    match source {
        Some("sim") => "SIMULATED: this fleet does not exist.\n\n",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::{dollars, spoken};
    use jiff::SignedDuration;

    #[test]
    fn money_is_written_as_people_write_it() {
        for (amount, words) in [
            (None, "-"),
            (Some(0.0), "$0.00"),
            (Some(12.345), "$12.35"),
            (Some(1234.4), "$1,234"),
            (Some(1_234_567.0), "$1,234,567"),
            (Some(-150.0), "-$150"),
        ] {
            assert_eq!(dollars(amount), words);
        }
    }

    #[test]
    fn times_are_told_in_their_two_largest_units() {
        for (seconds, words) in [
            (-5, "0s"),
            (45, "45s"),
            (720, "12m"),
            (3700, "1h1m"),
            (273_600, "3d4h"),
        ] {
            assert_eq!(spoken(SignedDuration::from_secs(seconds)), words);
        }
    }
}
