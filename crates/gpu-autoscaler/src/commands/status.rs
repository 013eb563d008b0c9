//! `gpu-autoscaler status`: the fleet, its waste and the control plane on one screen.

use crate::cli::people::StatusOptions;
use crate::wire::status::StatusDocument;
use crate::wire::waste::{CauseLine, WasteDocument};

use serde::Serialize;

use super::Ending;
use super::ask::Api;
use super::output::{Width, banner, dash, dollars, print, spoken};
use super::table::Table;

#[derive(Serialize)]
struct Answer {
    status: StatusDocument,
    waste: WasteDocument,
}

pub(crate) async fn status(options: StatusOptions) -> anyhow::Result<Ending> {
    let api = Api::connect(&options.ask).await?;
    let status: StatusDocument = api.get("/api/v1/status", &[]).await?;
    let mut query = vec![("limit", TOP.to_string())];
    if let Some(namespace) = &options.namespace {
        query.push(("namespace", namespace.clone()));
    }
    let waste: WasteDocument = api.get("/api/v1/waste", &query).await?;
    let answer = Answer { status, waste };
    print(
        options.ask.output,
        &answer,
        |width| text(&answer, width),
        || totals(&answer.waste),
    )?;
    Ok(Ending::Done)
}

/// The dearest findings on the screen; `optimize` has them all.
const TOP: usize = 5;

fn text(answer: &Answer, width: Width) -> String {
    let Answer { status, waste } = answer;
    let mut text = banner(status.source.as_deref()).to_owned();
    let fleet = &status.fleet;
    let busy = fleet.utilization.map_or_else(
        || "not known".to_owned(),
        |percent| format!("{percent:.1} % busy"),
    );
    text += &format!(
        "Cluster    {}\nFleet      {} GPUs on {} nodes, {} allocated, {busy}\nPods       {} with GPUs, {} waiting\n",
        status.cluster, fleet.gpus, fleet.nodes, fleet.allocated, fleet.running_pods, fleet.pending_pods
    );
    let unpriced = match fleet.unpriced_nodes {
        0 => String::new(),
        nodes => format!(", without the {nodes} nodes that have no price"),
    };
    text += &format!("Cost       {} an hour{unpriced}\n", dollars(fleet.hourly_usd));
    let metrics = &status.metrics;
    let age = metrics.age_seconds.map(|seconds| format!("{seconds:.0}s old"));
    text += &format!(
        "Metrics    {}, {} targets, {} failing, {}\n",
        metrics.kind,
        metrics.targets,
        metrics.failing,
        age.unwrap_or_else(|| "nothing collected yet".to_owned())
    );
    if let Some(pause) = &status.paused {
        let since = spoken(status.timestamp.duration_since(pause.since));
        text += &format!(
            "Paused     by {} {since} ago: {}\n",
            pause.by,
            pause.reason.as_deref().unwrap_or("no reason given")
        );
    }
    for (name, problem) in &status.problems {
        text += &format!("Problem    {name}: {problem}\n");
    }
    text += "\n";
    text += &totals(waste).text();
    if waste.findings.is_empty() {
        text += "\nNo waste found.\n";
        return text;
    }
    text += &format!(
        "\nThe dearest {} of {} findings (all: gpu-autoscaler optimize)\n",
        waste.findings.len(),
        waste.found
    );
    text += &super::optimize::table(waste, width).text();
    text
}

fn totals(waste: &WasteDocument) -> Table {
    let mut table = Table::new(&["GPUS", "WHAT", "FINDINGS", "USD/MONTH"]);
    for line in &waste.totals {
        table.row(cells(line));
    }
    table
}

fn cells(line: &CauseLine) -> Vec<String> {
    let findings = (line.findings > 0).then(|| line.findings.to_string());
    vec![
        format!("{:.1}", line.gpus),
        line.what.clone(),
        dash(findings),
        dollars(line.monthly_usd),
    ]
}
