//! The settings of `cost`.

use clap::Args;

use super::people::AskOptions;

#[derive(Debug, Clone, Args)]
pub(crate) struct CostOptions {
    #[command(flatten)]
    pub(crate) ask: AskOptions,

    /// Only what pods of this namespace carried
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

    /// Only what this team carried
    #[arg(long, value_name = "TEAM")]
    pub(crate) team: Option<String>,

    /// The time up to now: 90m, 24h, 7d; a week unless given
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with_all = ["from", "to"])]
    pub(crate) last: Option<String>,

    /// The start of the window, such as 2026-11-01T00:00:00Z
    #[arg(long, value_name = "INSTANT")]
    pub(crate) from: Option<String>,

    /// The end of the window; now unless given
    #[arg(long, value_name = "INSTANT", requires = "from")]
    pub(crate) to: Option<String>,

    /// By what to sum up, several apart by commas: namespace, team, project, cost-center, workload, workflow, pod, node, node-pool, gpu-model, capacity-type, label:KEY
    #[arg(
        long,
        value_name = "DIMENSIONS",
        default_value = "namespace",
        value_delimiter = ','
    )]
    pub(crate) by: Vec<String>,

    /// A line for each step of time: 5m, 1h or 1d
    #[arg(long, value_name = "STEP", value_parser = ["5m", "1h", "1d"])]
    pub(crate) step: Option<String>,

    /// At most so many lines
    #[arg(long, value_name = "NUMBER", default_value_t = 500)]
    pub(crate) limit: usize,
}

fn time(text: &str) -> Result<String, String> {
    crate::wire::cost::duration(text).map(|_| text.to_owned())
}
