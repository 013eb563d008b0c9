//! `gpu-autoscaler optimize`: every finding with what it costs and what to do about it.

use crate::cli::people::OptimizeOptions;
use crate::wire::waste::{FindingLine, WasteDocument};
use gpu_waste::FixKind;

use super::Ending;
use super::ask::Api;
use super::output::{Width, ago, banner, dash, dollars, print};
use super::table::Table;

pub(crate) async fn optimize(options: OptimizeOptions) -> anyhow::Result<Ending> {
    let api = Api::connect(&options.ask).await?;
    let mut query = vec![
        ("limit", options.limit.to_string()),
        ("min_score", options.min_waste_score.to_string()),
    ];
    if let Some(namespace) = &options.namespace {
        query.push(("namespace", namespace.clone()));
    }
    if let Some(cause) = options.cause {
        query.push(("cause", cause.as_str().to_owned()));
    }
    let waste: WasteDocument = api.get("/api/v1/waste", &query).await?;
    print(
        options.ask.output,
        &waste,
        |width| text(&waste, width),
        || table(&waste, Width::Wide),
    )?;
    let fails = |line: &FindingLine| options.fail_on.is_some_and(|score| line.score >= score);
    Ok(if waste.findings.iter().any(fails) {
        Ending::Findings
    } else {
        Ending::Done
    })
}

fn text(waste: &WasteDocument, width: Width) -> String {
    let mut text = banner(waste.source.as_deref()).to_owned();
    for problem in &waste.problems {
        text += &format!("Note: {problem}\n");
    }
    if waste.findings.is_empty() {
        text += "No waste found that matches.\n";
        return text;
    }
    text += &table(waste, width).text();
    let shown = waste.findings.len();
    if shown < waste.found {
        text += &format!("{shown} of {} findings; --limit shows more.\n", waste.found);
    }
    text += "\nWhy and how to mend it: gpu-autoscaler explain pod/NAMESPACE/NAME\n";
    text
}

/// A line for each finding. The wide form has what scripts want too.
pub(super) fn table(waste: &WasteDocument, width: Width) -> Table {
    let head: &[&str] = match width {
        Width::Narrow => &["SCORE", "USD/MONTH", "GPUS", "CAUSE", "WHAT", "SINCE", "FIX"],
        Width::Wide => &[
            "SCORE",
            "USD/MONTH",
            "GPUS",
            "CAUSE",
            "WHAT",
            "SINCE",
            "WORKLOAD",
            "NODE",
            "CONFIDENCE",
            "GPU HOURS",
            "DATA AGE",
            "PRICE",
            "FIX",
        ],
    };
    let mut table = Table::new(head);
    for line in &waste.findings {
        table.row(cells(line, waste, width));
    }
    table
}

fn cells(line: &FindingLine, waste: &WasteDocument, width: Width) -> Vec<String> {
    let mut cells = vec![
        line.score.to_string(),
        dollars(line.monthly_usd),
        format!("{:.1}", line.wasted_gpus),
        line.cause.as_str().to_owned(),
        line.subject.clone(),
        ago(line.since, waste.timestamp),
    ];
    if width == Width::Wide {
        let workload = line
            .workload
            .as_ref()
            .map(|workload| format!("{}/{}", workload.kind, workload.name));
        cells.extend([
            dash(workload),
            dash(line.node.clone()),
            format!("{:.0}%", line.confidence * 100.0),
            format!("{:.1}", line.wasted_gpu_hours),
            format!("{:.0}s", line.data_age_seconds),
            line.price.clone(),
        ]);
    }
    let fix = line.fix.as_ref().map(|fix| match width {
        Width::Narrow => kind(fix.kind).to_owned(),
        Width::Wide => fix.text.clone(),
    });
    cells.push(dash(fix));
    cells
}

/// A fix in two or three words; `explain` has the sentence and the commands.
fn kind(kind: FixKind) -> &'static str {
    match kind {
        FixKind::ScaleToZero => "scale down",
        FixKind::Delete => "stop or delete",
        FixKind::FewerGpus => "ask for fewer GPUs",
        FixKind::MigSlice => "take a MIG slice",
        FixKind::Share => "share the GPU",
        FixKind::SmallerModel => "take a smaller GPU",
        FixKind::FixInput => "feed it faster",
        FixKind::MoveWork => "move work",
        FixKind::RemoveNode => "pack or remove",
        FixKind::Repair => "repair",
        FixKind::NextRun => "change the next run",
        FixKind::Look => "look",
    }
}
