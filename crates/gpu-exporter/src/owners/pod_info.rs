//! What Kubernetes tells a pod of itself through the downward API: the files of its labels and annotations, and which
//! workflow it is a step of. Pure.
//!
//! A line is `key="value"` with the value quoted as Go quotes texts, so that a value with line ends is still one line.

/// The API server takes 256 KiB of annotations, and quoting can make four bytes of one.
pub const MOST_BYTES: u64 = 1024 * 1024;
/// More labels and annotations than any pod has; the rest is counted as bad.
const MOST_PAIRS: usize = 1024;
/// As for every label of the page: a name, not a document.
const LONGEST: usize = 256;

/// The pairs of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairs {
    /// In the order of the file, each key once.
    pub pairs: Vec<(String, String)>,
    /// Lines that are not of the form.
    pub bad: usize,
}

impl Pairs {
    pub fn parse(text: &str) -> Self {
        let mut parsed = Self::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match pair(line) {
                Some((key, value)) if parsed.pairs.len() < MOST_PAIRS && parsed.get(&key).is_none() => {
                    parsed.pairs.push((key, value));
                }
                _ => parsed.bad += 1,
            }
        }
        parsed
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        let mut pairs = self.pairs.iter();
        pairs.find(|(own, _)| own == key).map(|(_, value)| value.as_str())
    }
}

fn pair(line: &str) -> Option<(String, String)> {
    let (key, quoted) = line.split_once('=')?;
    let inside = quoted.trim_end().strip_prefix('"')?.strip_suffix('"')?;
    let is_key = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "./-_".contains(c));
    Some((is_key.then(|| key.to_owned())?, unquoted(inside)?))
}

/// Undoes Go's quoting. Bytes that are not UTF-8 become the replacement character.
fn unquoted(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        if letter == '"' {
            return None;
        }
        if letter != '\\' {
            bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let code = |rest: &mut std::str::Chars<'_>, digits: usize| {
            let text: String = rest.take(digits).collect();
            let is_whole = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_whole.then(|| u32::from_str_radix(&text, 16).ok()).flatten()
        };
        let byte = match rest.next()? {
            'a' => 0x07,
            'b' => 0x08,
            'f' => 0x0c,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 0x0b,
            '\\' => b'\\',
            '"' => b'"',
            '\'' => b'\'',
            'x' => u8::try_from(code(&mut rest, 2)?).ok()?,
            long @ ('u' | 'U') => {
                let digits = if long == 'u' { 4 } else { 8 };
                let letter = char::from_u32(code(&mut rest, digits)?)?;
                bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            _ => return None,
        };
        bytes.push(byte);
    }
    Some(
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    )
}

/// The names of the workflow's labels on the page.
pub const WORKFLOW: &str = "workflow";
pub const WORKFLOW_UID: &str = "workflow_uid";
pub const STEP: &str = "step";
pub const RETRY: &str = "retry";

/// Where programs that run steps in pods write the name of the run, the most telling first: the steps of some of them are
/// Jobs too.
const RUNS: [&str; 6] = [
    "workflows.argoproj.io/workflow",
    "tekton.dev/pipelineRun",
    "jobset.sigs.k8s.io/jobset-name",
    "training.kubeflow.org/job-name",
    "batch.kubernetes.io/job-name",
    "job-name",
];
/// The same of the step; Argo has it among the annotations only.
const STEPS: [&str; 4] = [
    "workflows.argoproj.io/node-name",
    "tekton.dev/pipelineTask",
    "jobset.sigs.k8s.io/replicatedjob-name",
    "batch.kubernetes.io/job-completion-index",
];

/// The workflow of the pod: what the settings say, and where they are silent what its labels and annotations do.
pub fn workflow(
    given: &[(&'static str, String)],
    labels: &Pairs,
    annotations: &Pairs,
) -> Vec<(&'static str, String)> {
    let told = |keys: &[&str]| {
        let mut values = keys
            .iter()
            .filter_map(|key| labels.get(key).or(annotations.get(key)));
        values.next().map(str::to_owned)
    };
    let value = |name: &'static str| {
        let set = given.iter().find(|(own, _)| *own == name);
        let value = set.map(|(_, value)| value.clone()).or_else(|| match name {
            WORKFLOW => told(&RUNS),
            STEP => told(&STEPS),
            _ => None,
        });
        value.filter(|value| !value.is_empty() && value.len() <= LONGEST)
    };
    let names = [WORKFLOW, WORKFLOW_UID, STEP, RETRY];
    names
        .into_iter()
        .filter_map(|name| Some((name, value(name)?)))
        .collect()
}

#[cfg(test)]
mod tests;
