//! Names of families: which an operator wants, and which are not an application's to use.

use crate::page::Vocabulary;

/// More rules than anybody reads.
const MOST_RULES: usize = 64;

/// An allow-list of families, by name and by prefix with `*`. An empty one takes all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameList {
    names: Vec<String>,
    prefixes: Vec<String>,
}

impl NameList {
    /// Reads names and prefixes with `*`.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut list = Self::default();
        for text in texts.into_iter().map(str::trim).filter(|text| !text.is_empty()) {
            let (name, rules) = match text.strip_suffix('*') {
                Some(prefix) => (prefix, &mut list.prefixes),
                None => (text, &mut list.names),
            };
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "_:".contains(c);
            if !name.chars().all(is_plain) {
                return Err(format!(
                    "`{text}` is not the name of a family; write one such as `train_steps_total`, or a prefix with `*`"
                ));
            }
            rules.push(name.to_owned());
        }
        let count = list.names.len() + list.prefixes.len();
        if count > MOST_RULES {
            return Err(format!(
                "{count} names are given, at most {MOST_RULES} can be; use a prefix with `*`"
            ));
        }
        Ok(list)
    }

    /// Whether the family of this name is wanted.
    pub fn takes(&self, name: &str) -> bool {
        let is_all = self.names.is_empty() && self.prefixes.is_empty();
        is_all
            || self.names.iter().any(|own| own == name)
            || self
                .prefixes
                .iter()
                .any(|prefix| name.starts_with(prefix.as_str()))
    }

    /// Whether a line of a page may belong to a wanted family: it bears the family's name with a suffix more, or in
    /// OpenMetrics one less.
    pub(super) fn may_take(&self, line: &str) -> bool {
        let with = |suffix: &str| self.takes(&format!("{line}{suffix}"));
        let stem = line.rfind('_').map_or(line, |end| &line[..end]);
        self.takes(line) || self.takes(stem) || with("_total") || with("_info")
    }
}

/// Names that begin so are the exporter's, now or in a later release, and Prometheus' own.
const OUR_PREFIXES: &[&str] = &["gpu_", "dcgm_", "DCGM_", "nvidia_smi_", "scrape_"];
const OUR_NAMES: &[&str] = &["up"];

/// Whether an application may not use this name, because what it says would be taken for the exporter's own word.
pub(super) fn is_ours(name: &str) -> bool {
    let mut catalogue = Vocabulary::ALL.into_iter().flat_map(Vocabulary::families);
    OUR_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || OUR_NAMES.contains(&name)
        || catalogue.any(|spec| spec.is_called(name))
}

#[cfg(test)]
mod tests {
    //! What lists take, and whose names are whose.

    use super::{NameList, is_ours};

    #[test]
    fn names_and_prefixes_choose() {
        let list = NameList::parse(["train_steps_total", " vllm:*", ""]).unwrap();
        for (name, taken) in [
            ("train_steps_total", true),
            ("train_steps", false),
            ("vllm:tokens", true),
            ("up", false),
        ] {
            assert_eq!(list.takes(name), taken, "{name}");
        }
        assert!(NameList::default().takes("anything"));
        assert!(NameList::parse(["a-b"]).unwrap_err().contains("a-b"));
        assert!(NameList::parse(["a"; 65]).is_err());
    }

    #[test]
    fn lines_of_a_wanted_family_are_found() {
        let list = NameList::parse(["latency_seconds", "steps_total"]).unwrap();
        for line in [
            "latency_seconds_bucket",
            "latency_seconds_sum",
            "steps",
            "steps_total",
        ] {
            assert!(list.may_take(line), "{line}");
        }
        assert!(!list.may_take("other"));
    }

    #[test]
    fn the_exporters_names_are_not_an_applications() {
        for name in [
            "gpu_utilization_ratio",
            "gpu_tokens",
            "DCGM_FI_DEV_GPU_UTIL",
            "dcgm_up",
            "gpu_exporter_source_up",
            "nvidia_smi_x",
            "up",
        ] {
            assert!(is_ours(name), "{name}");
        }
        for name in ["vllm:gpu_cache_usage_perc", "train_steps_total", "uptime"] {
            assert!(!is_ours(name), "{name}");
        }
    }
}
