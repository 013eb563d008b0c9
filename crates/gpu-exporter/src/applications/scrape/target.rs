//! Where a pod's page is. The host comes from the operator's rule or is the pod's own address as the API server has it; a pod
//! chooses its port and path at most. So no pod can send the exporter to somebody else.

use std::net::{IpAddr, Ipv6Addr};

use gpu_model::{Namespace, PodName};

/// Every rule is tried on every pod; a longer list is not meant.
const MOST_RULES: usize = 64;
/// A path is for a page, not for a document.
const LONGEST_PATH: usize = 256;
/// As in DNS.
const LONGEST_HOST: usize = 253;

/// Where to ask for one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub host: Host,
    pub port: u16,
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// The operator wrote this address, or the API server gave it to the pod.
    Address(IpAddr),
    /// To be looked up; what is found must be an address that a pod can have.
    Name(String),
}

/// An operator's word on where pages of some pods are: `NAMESPACE/POD=http://HOST:PORT/PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScrapeRule {
    namespace: String,
    pod: String,
    host: String,
    port: u16,
    path: String,
}

impl ScrapeRule {
    /// Reads all rules of the settings.
    pub fn parse_all<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Vec<Self>, String> {
        let texts = texts.into_iter().map(str::trim).filter(|text| !text.is_empty());
        let rules: Vec<Self> = texts.map(Self::parse).collect::<Result<_, _>>()?;
        if rules.len() > MOST_RULES {
            let count = rules.len();
            return Err(format!(
                "{count} rules are given, at most {MOST_RULES} can be; use `*` in names"
            ));
        }
        Ok(rules)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!(
                "`{text}`: {what}; write `NAMESPACE/POD=http://HOST:PORT/PATH`, such as `ml/vllm-*=http://{{pod}}.vllm.{{namespace}}.svc:8000/metrics`"
            )
        };
        let (pods, url) = text.split_once('=').ok_or_else(|| wrong("there is no `=`"))?;
        let (namespace, pod) = pods
            .split_once('/')
            .ok_or_else(|| wrong("there is no `/` before `=`"))?;
        let is_pattern = |part: &str| {
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.*".contains(c);
            !part.is_empty() && part.chars().all(is_plain)
        };
        if !is_pattern(namespace) || !is_pattern(pod) {
            return Err(wrong(
                "namespace and pod are names, in which `*` stands for anything",
            ));
        }
        let rest = url
            .strip_prefix("http://")
            .ok_or_else(|| wrong("only http:// is spoken"))?;
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/metrics"),
        };
        let (host, port) = authority
            .rsplit_once(':')
            .ok_or_else(|| wrong("the port is missing"))?;
        let port = port.parse().ok().filter(|port| *port != 0);
        let port = port.ok_or_else(|| wrong("the port is not a number from 1 to 65535"))?;
        if !is_path(path) {
            return Err(wrong("the path has a character that a path cannot have"));
        }
        let rule = Self {
            namespace: namespace.to_owned(),
            pod: pod.to_owned(),
            host: host.to_owned(),
            port,
            path: path.to_owned(),
        };
        rule.host_of("n", "p")
            .ok_or_else(|| wrong("the host is neither a name nor an address"))?;
        Ok(rule)
    }

    /// The page of a pod, if the rule is for it.
    pub fn target(&self, namespace: &Namespace, pod: &PodName) -> Option<Target> {
        let (namespace, pod) = (namespace.as_str(), pod.as_str());
        if !fits(&self.namespace, namespace) || !fits(&self.pod, pod) {
            return None;
        }
        Some(Target {
            host: self.host_of(namespace, pod)?,
            port: self.port,
            path: self.path.clone(),
        })
    }

    fn host_of(&self, namespace: &str, pod: &str) -> Option<Host> {
        let host = self.host.replace("{namespace}", namespace).replace("{pod}", pod);
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Ok(address) = bare.unwrap_or(&host).parse() {
            return Some(Host::Address(address));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
        let is_name = !host.is_empty() && host.len() <= LONGEST_HOST && host.chars().all(is_plain);
        is_name.then_some(Host::Name(host))
    }
}

/// Whether a text is a path of ours to ask for: it stands in the first line of a request as it is.
pub(super) fn is_path(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.~%?&=:,+".contains(c);
    text.starts_with('/') && text.len() <= LONGEST_PATH && text.chars().all(is_plain)
}

/// Whether a pod can have this address. Those of the machine itself and of its link are nobody's, and it is there that metadata
/// services answer.
pub(super) fn is_of_pod(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            !(v4.is_loopback()
                || v4.is_unspecified()
                || v4.is_link_local()
                || v4.is_multicast()
                || v4.is_broadcast())
        }
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_of_pod(IpAddr::V4(v4)),
            None => {
                !(v6 == Ipv6Addr::LOCALHOST
                    || v6.is_unspecified()
                    || v6.is_unicast_link_local()
                    || v6.is_multicast())
            }
        },
    }
}

/// Whether a name fits a pattern, in which `*` stands for anything. Patterns are the operator's and short.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    //! Which pods a rule is for, where it sends, and where nobody is sent.

    use super::{Host, ScrapeRule, fits, is_of_pod, is_path};
    use gpu_model::{Namespace, PodName};

    fn target(rule: &str, namespace: &str, pod: &str) -> Option<String> {
        let rules = ScrapeRule::parse_all([rule]).unwrap();
        let (namespace, pod) = (Namespace::new(namespace).unwrap(), PodName::new(pod).unwrap());
        let target = rules[0].target(&namespace, &pod)?;
        let host = match target.host {
            Host::Address(address) => format!("address {address}"),
            Host::Name(name) => format!("name {name}"),
        };
        Some(format!("{host} {} {}", target.port, target.path))
    }

    #[test]
    fn a_rule_sends_to_what_it_says() {
        let rule = "ml/vllm-*=http://{pod}.vllm.{namespace}.svc:8000/metrics";
        assert_eq!(
            target(rule, "ml", "vllm-0").unwrap(),
            "name vllm-0.vllm.ml.svc 8000 /metrics"
        );
        assert_eq!(target(rule, "ml", "other"), None);
        assert_eq!(target(rule, "other", "vllm-0"), None);
        assert_eq!(
            target("*/*=http://[::1]:80", "a", "b").unwrap(),
            "address ::1 80 /metrics"
        );
        let local = "a/b=http://127.0.0.1:9/x?y=1";
        assert_eq!(target(local, "a", "b").unwrap(), "address 127.0.0.1 9 /x?y=1");
    }

    #[test]
    fn wrong_rules_are_named_with_the_right_form() {
        for (rule, word) in [
            ("ml/vllm", "no `=`"),
            ("ml=http://a:1", "no `/`"),
            ("ml/a=https://a:1", "only http://"),
            ("ml/a=http://a", "port"),
            ("ml/a=http://a:0", "port"),
            ("ml/a=http://user@host:1", "host"),
            ("ml/a=http://a:1/a b", "path"),
            ("ML/a=http://a:1", "names"),
        ] {
            let error = ScrapeRule::parse_all([rule]).unwrap_err();
            assert!(
                error.contains(word) && error.contains("NAMESPACE/POD="),
                "{error}"
            );
        }
    }

    #[test]
    fn patterns_fit_names() {
        for (pattern, name, expected) in [
            ("*", "anything", true),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "ab", false),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("abc", "abcd", false),
            ("*-0", "trainer-0", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn nobody_is_sent_to_the_machine_or_its_link() {
        for address in [
            "127.0.0.1",
            "169.254.169.254",
            "0.0.0.0",
            "224.0.0.1",
            "::1",
            "fe80::1",
            "::ffff:127.0.0.1",
            "ff02::1",
        ] {
            assert!(!is_of_pod(address.parse().unwrap()), "{address}");
        }
        for address in ["10.1.2.3", "100.64.0.1", "fd00::1"] {
            assert!(is_of_pod(address.parse().unwrap()), "{address}");
        }
        assert!(is_path("/metrics") && !is_path("metrics") && !is_path("/a b") && !is_path("/a\r\nhost: x"));
    }
}
