//! Words for people: what a finding says in an event, in a mail and in a chat.

use gpu_model::NanoUsd;
use jiff::Timestamp;

use super::diary::{Act, ActKind, passed};

/// The API server takes no longer note.
pub(super) const LONGEST_NOTE: usize = 1024;

/// An amount as people write it, to the cent: `$1,234.50`.
pub fn dollars(amount: NanoUsd) -> String {
    const CENT: u64 = 10_000_000;
    let sign = if amount.0 < 0 { "-" } else { "" };
    let cents = (amount.0.unsigned_abs() + CENT / 2) / CENT;
    let whole = (cents / 100).to_string();
    let mut grouped = String::new();
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}${grouped}.{:02}", cents % 100)
}

/// `35 min`, `2 h 5 min`, `3 d 4 h`.
pub(super) fn lasting(from: Timestamp, to: Timestamp) -> String {
    let minutes = passed(from, to).as_secs() / 60;
    let (hours, days) = (minutes / 60, minutes / 1440);
    if days > 0 {
        format!("{days} d {} h", hours % 24)
    } else if hours > 0 {
        format!("{hours} h {} min", minutes % 60)
    } else {
        format!("{minutes} min")
    }
}

/// What an act says, in at most the length of a note. What matters most comes first, so that a cut takes the least.
pub(super) fn note(act: &Act, now: Timestamp) -> String {
    let entry = &act.entry;
    let cause = entry.cause.as_str();
    let since = entry.since.strftime("%Y-%m-%d %H:%M UTC");
    let mut parts = Vec::new();
    match (&act.kind, &act.finding) {
        (ActKind::Resolve(outcome), _) => {
            parts.push(format!("{cause} since {since} is over ({})", outcome.as_str()));
            if let Some(monthly) = entry.monthly {
                parts.push(format!("it wasted about {} a month", dollars(monthly)));
            }
        }
        (_, Some(finding)) => {
            parts.push(format!("{cause} since {since} ({})", lasting(entry.since, now)));
            match finding.monthly {
                Some(monthly) => parts.push(format!(
                    "about {} a month wasted ({})",
                    dollars(monthly),
                    finding.price_note
                )),
                None => parts.push(format!("no price known ({})", finding.price_note)),
            }
            if let Some(fix) = &finding.fix {
                parts.push(format!("Fix: {}", fix.text.trim_end_matches('.')));
                parts.extend(fix.commands.first().map(|command| format!("Run: {command}")));
            }
            let said: Vec<&str> = finding
                .evidence
                .iter()
                .filter(|evidence| evidence.speaks == gpu_waste::Speaks::For)
                .map(|evidence| evidence.words.as_str())
                .collect();
            if !said.is_empty() {
                parts.push(format!("Seen: {}", said.join("; ")));
            }
            parts.push(
                "To be left alone: annotate the pod with gpu-autoscaler.io/exempt-until=<time> or gpu-autoscaler.io/optimize=false"
                    .to_owned(),
            );
        }
        (_, None) => parts.push(format!("{cause} since {since}")),
    }
    cut(&format!("{}.", parts.join(". ")), LONGEST_NOTE)
}

/// Cuts at a character, and shows that it did.
pub(super) fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let room = bytes.saturating_sub("…".len());
    let end = (0..=room)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    //! Amounts and cuts.

    use super::*;

    #[test]
    fn dollars_are_grouped_and_rounded_to_the_cent() {
        assert_eq!(dollars(NanoUsd(1_234_500_000_000)), "$1,234.50");
        assert_eq!(dollars(NanoUsd(999_999_999_999)), "$1,000.00");
        assert_eq!(dollars(NanoUsd(4_900_000)), "$0.00");
        assert_eq!(dollars(NanoUsd(-1_000_000_000_000_000)), "-$1,000,000.00");
    }

    #[test]
    fn a_cut_never_splits_a_character_and_keeps_its_bound() {
        let text = "ü".repeat(900);
        let short = cut(&text, LONGEST_NOTE);
        assert!(short.len() <= LONGEST_NOTE && short.ends_with('…'));
        assert_eq!(cut("short", 10), "short");
    }
}
