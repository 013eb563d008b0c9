//! The commands for people: what they ask, of which server, and in which form the answer comes.

use clap::{Args, ValueEnum};
use gpu_waste::Cause;

/// Where the control plane is, and how to answer.
#[derive(Debug, Clone, Args)]
pub(crate) struct AskOptions {
    /// The control plane's address, such as http://127.0.0.1:8080; without it the cluster is asked for its Service
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "GPU_AUTOSCALER_SERVER",
        help_heading = "Where to ask"
    )]
    pub(crate) server: Option<String>,

    /// The kubeconfig context by which the Service is reached
    #[arg(
        long,
        global = true,
        value_name = "CONTEXT",
        env = "GPU_AUTOSCALER_CONTEXT",
        help_heading = "Where to ask"
    )]
    pub(crate) context: Option<String>,

    /// The Service of the control plane, as NAMESPACE/NAME
    #[arg(
        long,
        global = true,
        value_name = "NAMESPACE/NAME",
        default_value = "gpu-autoscaler-system/gpu-autoscaler",
        env = "GPU_AUTOSCALER_SERVICE",
        help_heading = "Where to ask"
    )]
    pub(crate) service: String,

    /// The form of the answer
    #[arg(
        long,
        short = 'o',
        global = true,
        value_name = "FORM",
        default_value = "table",
        help_heading = "Output"
    )]
    pub(crate) output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    Table,
    Wide,
    Json,
    Yaml,
    Csv,
}

/// The settings of `status`.
#[derive(Debug, Clone, Args)]
pub(crate) struct StatusOptions {
    #[command(flatten)]
    pub(crate) ask: AskOptions,

    /// Only what belongs to this namespace
    #[arg(
        long,
        short = 'n',
        value_name = "NAMESPACE",
        conflicts_with = "all_namespaces"
    )]
    pub(crate) namespace: Option<String>,

    /// Every namespace, which is the default
    #[arg(long, short = 'A')]
    pub(crate) all_namespaces: bool,
}

/// The settings of `optimize`.
#[derive(Debug, Clone, Args)]
pub(crate) struct OptimizeOptions {
    #[command(flatten)]
    pub(crate) ask: AskOptions,

    /// Only findings of this namespace
    #[arg(
        long,
        short = 'n',
        value_name = "NAMESPACE",
        conflicts_with = "all_namespaces"
    )]
    pub(crate) namespace: Option<String>,

    /// Every namespace, which is the default
    #[arg(long, short = 'A')]
    pub(crate) all_namespaces: bool,

    /// Only findings of this cause, such as held-idle
    #[arg(long, value_name = "CAUSE", value_parser = cause)]
    pub(crate) cause: Option<Cause>,

    /// Only findings with at least this score
    #[arg(long, value_name = "SCORE", default_value_t = 50, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) min_waste_score: u8,

    /// At most so many findings
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    pub(crate) limit: usize,

    /// End with exit code 3 when a finding has at least this score
    #[arg(long, value_name = "SCORE", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) fail_on: Option<u8>,
}

/// The settings of `explain`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExplainOptions {
    /// What to explain: pod/NAME, pod/NAMESPACE/NAME or node/NAME
    #[arg(value_name = "pod/NAME|node/NAME")]
    pub(crate) what: String,

    #[command(flatten)]
    pub(crate) ask: AskOptions,

    /// The namespace of a pod that is given by its name alone
    #[arg(long, short = 'n', value_name = "NAMESPACE", default_value = "default")]
    pub(crate) namespace: String,
}

/// The settings of `pause` and `resume`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PauseOptions {
    /// Why, for those who find everything standing still
    #[arg(long, value_name = "WORDS")]
    pub(crate) reason: Option<String>,

    /// The kubeconfig context of the cluster
    #[arg(long, value_name = "CONTEXT", env = "GPU_AUTOSCALER_CONTEXT")]
    pub(crate) context: Option<String>,

    /// The namespace of the control plane
    #[arg(
        long,
        value_name = "NAMESPACE",
        default_value = "gpu-autoscaler-system",
        env = "GPU_AUTOSCALER_NAMESPACE"
    )]
    pub(crate) namespace: String,
}

fn cause(text: &str) -> Result<Cause, String> {
    Cause::ALL
        .into_iter()
        .find(|cause| cause.as_str() == text)
        .ok_or_else(|| {
            let known: Vec<&str> = Cause::ALL.into_iter().map(Cause::as_str).collect();
            format!("give one of {}", known.join(", "))
        })
}
