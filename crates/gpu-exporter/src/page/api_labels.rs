//! Labels of pods and of the node as the page shows them: names made valid, those that are taken left out and counted.

use std::borrow::Cow;
use std::collections::BTreeSet;

use gpu_exposition::is_label_name;

use super::catalog::Vocabulary;
use super::settings::{PageSettings, is_label_of_dcgm};
use crate::snapshot::NodeSnapshot;

/// A store for metrics takes about thirty labels a series, and ten are our own.
const MOST: usize = 20;
/// As for the operator's own labels; the API server allows 63 characters.
const LONGEST_VALUE: usize = 256;

/// A pod's labels in one vocabulary.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shown<'a> {
    pub(super) pairs: Vec<(String, &'a str)>,
    /// The names, as the API has them, of labels that cannot be shown.
    pub(super) left_out: Vec<&'a str>,
}

/// Decides over the labels in the order given: of two whose names become the same, the first is shown.
pub(super) fn shown<'a>(
    labels: &'a [(String, String)],
    vocabulary: Vocabulary,
    settings: &PageSettings,
) -> Shown<'a> {
    let mut shown = Shown::default();
    for (name, value) in labels {
        let valid = valid_name(name, vocabulary);
        let is_free = !is_taken(&valid, vocabulary, settings)
            && shown.pairs.iter().all(|(earlier, _)| *earlier != valid);
        if !settings.labels.keeps(&valid) {
            continue;
        }
        if is_free && value.len() <= LONGEST_VALUE && shown.pairs.len() < MOST {
            shown.pairs.push((valid, value));
        } else {
            shown.left_out.push(name);
        }
    }
    shown
}

/// How many names of labels at least one series does without; `None` where the API server is not asked.
pub(super) fn left_out(snapshot: &NodeSnapshot, settings: &PageSettings) -> Option<usize> {
    let node = snapshot.node_labels.as_deref()?;
    let mut names: BTreeSet<&str> = shown(node, Vocabulary::Gpu, settings)
        .left_out
        .into_iter()
        .collect();
    let holders = snapshot.devices.iter().flat_map(|device| &device.holders);
    for holder in holders.filter(|holder| !holder.labels.is_empty()) {
        for vocabulary in &settings.vocabularies {
            names.extend(shown(&holder.labels, *vocabulary, settings).left_out);
        }
    }
    Some(names.len())
}

/// `app.kubernetes.io/name` as dcgm-exporter writes it, and behind a prefix in our own names, where nothing else begins
/// with it.
fn valid_name(name: &str, vocabulary: Vocabulary) -> String {
    let letters = name.chars();
    let plain: String = letters
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    let prefix: Cow<'_, str> = match vocabulary {
        Vocabulary::Gpu | Vocabulary::NvidiaSmi | Vocabulary::Amd => "label_".into(),
        Vocabulary::Dcgm if plain.starts_with(|c: char| c.is_ascii_digit()) => "_".into(),
        Vocabulary::Dcgm => "".into(),
    };
    format!("{prefix}{plain}")
}

fn is_taken(name: &str, vocabulary: Vocabulary, settings: &PageSettings) -> bool {
    let is_own = vocabulary == Vocabulary::Dcgm && is_label_of_dcgm(name);
    let is_operators = settings.static_labels.iter().any(|(own, _)| own == name);
    is_own || is_operators || name.starts_with("__") || !is_label_name(name)
}

#[cfg(test)]
mod tests {
    //! What names become, and which of them are left out.

    use super::{PageSettings, Shown, Vocabulary, shown};
    use crate::page::{LabelChoice, StaticLabels};

    fn check(vocabulary: Vocabulary, labels: &[(&str, &str)], pairs: &[(&str, &str)], left_out: &[&str]) {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let labels: Vec<(String, String)> = labels.iter().map(owned).collect();
        let settings = PageSettings {
            static_labels: StaticLabels::parse(["team=ops"]).unwrap(),
            ..PageSettings::default()
        };
        let expected = Shown {
            pairs: pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
            left_out: left_out.to_vec(),
        };
        assert_eq!(shown(&labels, vocabulary, &settings), expected);
    }

    #[test]
    fn names_become_valid() {
        let labels = [("app.kubernetes.io/name", "a"), ("0-tier", "b"), ("Größe", "c")];
        let dcgm = [("app_kubernetes_io_name", "a"), ("_0_tier", "b"), ("Gr__e", "c")];
        check(Vocabulary::Dcgm, &labels, &dcgm, &[]);
        let own = [
            ("label_app_kubernetes_io_name", "a"),
            ("label_0_tier", "b"),
            ("label_Gr__e", "c"),
        ];
        check(Vocabulary::Gpu, &labels, &own, &[]);
    }

    #[test]
    fn what_is_taken_is_left_out() {
        // The operator's `team`, dcgm-exporter's own names, and the second of two that become the same.
        let labels = [
            ("a-b", "1"),
            ("a.b", "2"),
            ("device", "x"),
            ("err_code", "x"),
            ("name", "3"),
            ("pod", "x"),
            ("team", "x"),
        ];
        let left_out = ["a.b", "device", "err_code", "pod", "team"];
        check(
            Vocabulary::Dcgm,
            &labels,
            &[("a_b", "1"), ("name", "3")],
            &left_out,
        );
        let own = [
            ("label_a_b", "1"),
            ("label_device", "x"),
            ("label_err_code", "x"),
            ("label_name", "3"),
            ("label_pod", "x"),
            ("label_team", "x"),
        ];
        check(Vocabulary::Gpu, &labels, &own, &["a.b"]);
        check(
            Vocabulary::Dcgm,
            &[("__meta", "x"), ("", "x")],
            &[],
            &["__meta", ""],
        );
    }

    #[test]
    fn number_and_length_are_bounded() {
        let long = "x".repeat(257);
        let names: Vec<String> = (b'a'..=b'z')
            .map(|letter| char::from(letter).to_string())
            .collect();
        let mut labels = vec![("long", long.as_str())];
        labels.extend(names.iter().map(|name| (name.as_str(), "1")));
        let pairs: Vec<(&str, &str)> = labels[1..=20].to_vec();
        check(
            Vocabulary::Dcgm,
            &labels,
            &pairs,
            &["long", "u", "v", "w", "x", "y", "z"],
        );
    }

    #[test]
    fn the_allow_list_of_labels_has_the_last_word() {
        let labels = [("team".to_owned(), "red".to_owned())];
        let settings = |names: &str| PageSettings {
            labels: LabelChoice::parse(names),
            ..PageSettings::default()
        };
        let pairs = |names| shown(&labels, Vocabulary::Gpu, &settings(names)).pairs.len();
        assert_eq!([pairs(""), pairs("pod"), pairs("pod,label_team")], [1, 0, 1]);
    }
}
