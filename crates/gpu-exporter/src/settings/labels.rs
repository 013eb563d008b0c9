//! Which labels of pods and of the node are taken over from the API server: by name, by prefix, or by dcgm-exporter's
//! expressions. Whether this build can ask the API server at all is decided here too, before anything starts.

use gpu_model::NodeName;

use super::SettingsError;
use super::file::FileSettings;
use super::flags::Flags;

/// Every rule is tried on every label of every pod; a longer list is not meant.
const MOST_RULES: usize = 16;
/// What to say where the wish cannot be met.
const NO_CLIENT: &str =
    "this build has no client of the API server; build it with `--features kubernetes-labels`";
const CAN_ASK: bool = cfg!(feature = "kubernetes-labels");

/// What is asked of the API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiLabels {
    /// The node by its name in the API, whose pods are watched.
    pub node: NodeName,
    pub of_pods: AllowList,
    pub of_node: AllowList,
}

/// The labels that may be taken over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowList(Vec<Rule>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Rule {
    Name(String),
    Prefix(String),
    #[cfg(feature = "kubernetes-labels")]
    Expression(Expression),
}

impl AllowList {
    /// Reads names and prefixes with `*`.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let texts = texts.into_iter().map(str::trim).filter(|text| !text.is_empty());
        let rules: Vec<Rule> = texts.map(Rule::parse).collect::<Result<_, _>>()?;
        Self::bounded(rules)
    }

    /// Every label there is.
    pub fn everything() -> Self {
        Self(vec![Rule::Prefix(String::new())])
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn takes(&self, name: &str) -> bool {
        self.0.iter().any(|rule| match rule {
            Rule::Name(own) => own == name,
            Rule::Prefix(prefix) => name.starts_with(prefix.as_str()),
            #[cfg(feature = "kubernetes-labels")]
            Rule::Expression(expression) => expression.0.is_match(name),
        })
    }

    fn bounded(rules: Vec<Rule>) -> Result<Self, String> {
        if rules.len() > MOST_RULES {
            let count = rules.len();
            return Err(format!(
                "{count} names are given, at most {MOST_RULES} can be; use a prefix with `*`"
            ));
        }
        Ok(Self(rules))
    }
}

impl Rule {
    fn parse(text: &str) -> Result<Self, String> {
        let (name, rule): (_, fn(String) -> Self) = match text.strip_suffix('*') {
            Some(prefix) => (prefix, Self::Prefix),
            None => (text, Self::Name),
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "./-_".contains(c);
        if !name.chars().all(is_plain) {
            return Err(format!(
                "`{text}` is not the name of a label; write one such as `app.kubernetes.io/name`, or a prefix with `*`"
            ));
        }
        Ok(rule(name.to_owned()))
    }
}

/// An expression of dcgm-exporter's allow-list; it fits a name that it fits anywhere in.
#[cfg(feature = "kubernetes-labels")]
#[derive(Debug, Clone)]
struct Expression(regex::Regex);

#[cfg(feature = "kubernetes-labels")]
impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

#[cfg(feature = "kubernetes-labels")]
impl Eq for Expression {}

/// Puts the settings together; `None` where nothing is asked of the API server.
pub(super) fn resolve(
    flags: &Flags,
    file: &FileSettings,
    node: &str,
) -> Result<Option<ApiLabels>, SettingsError> {
    let named = |name, flag: &Option<Vec<String>>, file: &Option<Vec<String>>| {
        let texts = flag.as_ref().or(file.as_ref()).into_iter().flatten();
        let refused = |problem| SettingsError::Value { name, problem };
        let list = AllowList::parse(texts.map(String::as_str)).map_err(refused)?;
        if !CAN_ASK && !list.is_empty() {
            return Err(refused(NO_CLIENT.to_owned()));
        }
        Ok(list)
    };
    let mut of_pods = named("pod-label-allow", &flags.pod_label_allow, &file.pod_label_allow)?;
    let of_node = named(
        "node-label-allow",
        &flags.node_label_allow,
        &file.node_label_allow,
    )?;
    if CAN_ASK && flags.dcgm.kubernetes_enable_pod_labels {
        of_pods = with_expressions(of_pods, expressions(flags))?;
        if of_pods.is_empty() {
            of_pods = AllowList::everything();
        }
    }
    if of_pods.is_empty() && of_node.is_empty() {
        return Ok(None);
    }
    let node = node_name(node)?;
    Ok(Some(ApiLabels {
        node,
        of_pods,
        of_node,
    }))
}

/// The labels of its own pod that a sidecar shows; no client is needed for those.
pub(super) fn of_own_pod(flags: &Flags, file: &FileSettings) -> Result<AllowList, SettingsError> {
    let of_node = flags.node_label_allow.as_ref().or(file.node_label_allow.as_ref());
    if of_node.is_some_and(|names| !names.is_empty()) {
        return Err(SettingsError::Value {
            name: "node-label-allow",
            problem: "a sidecar cannot ask for the labels of its node; leave it out".to_owned(),
        });
    }
    let names = flags.pod_label_allow.as_ref().or(file.pod_label_allow.as_ref());
    let texts = names.into_iter().flatten().map(String::as_str);
    AllowList::parse(texts).map_err(|problem| SettingsError::Value {
        name: "pod-label-allow",
        problem,
    })
}

/// The node whose pods the API server is asked for, for a setting that needs such a build.
pub(super) fn asked_node(setting: &'static str, node: &str) -> Result<NodeName, SettingsError> {
    if !CAN_ASK {
        return Err(SettingsError::Value {
            name: setting,
            problem: NO_CLIENT.to_owned(),
        });
    }
    node_name(node)
}

/// The name becomes a part of what is asked, so that it must be one that a node can have.
fn node_name(text: &str) -> Result<NodeName, SettingsError> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    let name = NodeName::new(text).ok().filter(|_| text.chars().all(is_plain));
    name.ok_or_else(|| SettingsError::Value {
        name: "node-name",
        problem: format!(
            "`{text}` is not the name of a node; labels come from the node of this name in the API"
        ),
    })
}

fn expressions(flags: &Flags) -> impl Iterator<Item = &str> {
    let texts = flags.dcgm.kubernetes_pod_label_allowlist_regex.iter().flatten();
    texts.map(|text| text.trim()).filter(|text| !text.is_empty())
}

#[cfg(feature = "kubernetes-labels")]
fn with_expressions<'a>(
    list: AllowList,
    texts: impl Iterator<Item = &'a str>,
) -> Result<AllowList, SettingsError> {
    let refused = |problem| SettingsError::Value {
        name: "kubernetes-pod-label-allowlist-regex",
        problem,
    };
    let mut rules = list.0;
    for text in texts {
        let expression = regex::Regex::new(text).map_err(|error| refused(error.to_string()))?;
        rules.push(Rule::Expression(Expression(expression)));
    }
    AllowList::bounded(rules).map_err(refused)
}

#[cfg(not(feature = "kubernetes-labels"))]
fn with_expressions<'a>(
    list: AllowList,
    _texts: impl Iterator<Item = &'a str>,
) -> Result<AllowList, SettingsError> {
    Ok(list)
}

/// What dcgm-exporter's switches for labels ask for and do not get, so that nobody believes they do.
pub fn unmet_label_wish(flags: &Flags) -> Option<&'static str> {
    let asks = flags.dcgm.kubernetes_enable_pod_labels;
    if asks && !CAN_ASK {
        return Some(NO_CLIENT);
    }
    if !asks && expressions(flags).next().is_some() {
        return Some("the expressions for labels have no effect without --kubernetes-enable-pod-labels");
    }
    None
}

#[cfg(test)]
mod tests;
