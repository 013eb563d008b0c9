//! `gpu-autoscaler cost`: what GPU time cost, who carried it and how much of it was used.

use crate::cli::cost::CostOptions;
use crate::wire::cost::{CostDocument, CostLine, CostSums};

use super::Ending;
use super::ask::Api;
use super::output::{Width, dash, dollars, print};
use super::table::Table;

pub(crate) async fn cost(options: CostOptions) -> anyhow::Result<Ending> {
    let api = Api::connect(&options.ask).await?;
    let mut query = vec![("by", options.by.join(",")), ("limit", options.limit.to_string())];
    let window = [
        ("last", &options.last),
        ("from", &options.from),
        ("to", &options.to),
        ("step", &options.step),
        ("namespace", &options.namespace),
        ("team", &options.team),
    ];
    query.extend(
        window
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.clone()?))),
    );
    let cost: CostDocument = api.get("/api/v1/cost", &query).await?;
    print(
        options.ask.output,
        &cost,
        |width| text(&cost, width),
        || table(&cost, Width::Wide, Form::Figures),
    )?;
    Ok(Ending::Done)
}

fn text(cost: &CostDocument, width: Width) -> String {
    let total = &cost.total;
    let mut text = format!("{} to {}, cluster {}\n", cost.from, cost.to, cost.cluster);
    match cost.settled_until {
        None => text += "No ledger was begun: nothing is known of this time.\n",
        Some(until) if until < cost.to => {
            text += &format!("Settled up to {until}; what came after is not in the sums yet.\n")
        }
        Some(_) => {}
    }
    if total.unpriced_gpu_hours > 0.0 {
        text += &format!(
            "{:.1} GPU-hours have no price and are in no sum; gpu-autoscaler status says which nodes.\n",
            total.unpriced_gpu_hours
        );
    }
    if total.estimated_usd > 0.0 {
        text += &format!("{} of it is an estimate.\n", money(total.estimated_usd));
    }
    text += "\n";
    if cost.lines.is_empty() {
        text += "Nothing was carried by anybody in this time.\n";
        return text;
    }
    text += &table(cost, width, Form::Words).text();
    if cost.lines.len() < cost.found {
        text += &format!(
            "{} of {} lines; --limit shows more.\n",
            cost.lines.len(),
            cost.found
        );
    }
    text
}

const NARROW: [&str; 6] = ["USD", "ALLOCATED", "USED", "GAP", "IDLE", "GPU-HOURS"];
const WIDE: [&str; 14] = [
    "USD",
    "ALLOCATED",
    "USED",
    "GAP",
    "UNMEASURED",
    "IDLE",
    "SYSTEM",
    "BOOT",
    "DRAIN",
    "UNKNOWN",
    "UNUSED COMMITMENT",
    "ESTIMATED",
    "GPU-HOURS",
    "UNPRICED GPU-HOURS",
];

/// For whom the cells are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// People: dollars with their sign, a dash for nothing.
    Words,
    /// Spreadsheets: numbers, and nothing for nothing.
    Figures,
}

impl Form {
    fn money(self, amount: f64) -> String {
        match self {
            Form::Words => money(amount),
            Form::Figures => format!("{amount:.6}"),
        }
    }

    fn name(self, name: Option<String>) -> String {
        match self {
            Form::Words => dash(name),
            Form::Figures => name.unwrap_or_default(),
        }
    }
}

fn table(cost: &CostDocument, width: Width, form: Form) -> Table {
    let has_steps = cost.lines.iter().any(|line| line.at.is_some());
    let mut head: Vec<String> = Vec::new();
    if has_steps {
        head.push("FROM".to_owned());
    }
    head.extend(cost.by.iter().map(|name| name.to_uppercase()));
    let figures: &[&str] = match width {
        Width::Narrow => &NARROW,
        Width::Wide => &WIDE,
    };
    head.extend(figures.iter().map(|name| (*name).to_owned()));
    let mut table = Table::with_head(head);
    for line in &cost.lines {
        table.row(cells(line, has_steps, width, form));
    }
    table
}

fn cells(line: &CostLine, has_steps: bool, width: Width, form: Form) -> Vec<String> {
    let mut cells = Vec::new();
    if has_steps {
        cells.push(form.name(line.at.map(|at| at.to_string())));
    }
    cells.extend(line.values.iter().cloned().map(|name| form.name(name)));
    let CostSums {
        cost_usd,
        allocated_usd,
        used_usd,
        gap_usd,
        unmeasured_usd,
        idle_usd,
        system_usd,
        boot_usd,
        drain_usd,
        unknown_usd,
        unused_commitment_usd,
        estimated_usd,
        gpu_hours,
        unpriced_gpu_hours,
        ..
    } = &line.sums;
    let hours = |hours: &f64| format!("{hours:.2}");
    match width {
        Width::Narrow => {
            let figures = [cost_usd, allocated_usd, used_usd, gap_usd, idle_usd];
            cells.extend(figures.map(|amount| form.money(*amount)));
            cells.push(hours(gpu_hours));
        }
        Width::Wide => {
            let figures = [
                cost_usd,
                allocated_usd,
                used_usd,
                gap_usd,
                unmeasured_usd,
                idle_usd,
                system_usd,
                boot_usd,
                drain_usd,
                unknown_usd,
                unused_commitment_usd,
                estimated_usd,
            ];
            cells.extend(figures.map(|amount| form.money(*amount)));
            cells.push(hours(gpu_hours));
            cells.push(hours(unpriced_gpu_hours));
        }
    }
    cells
}

fn money(amount: f64) -> String {
    dollars(Some(amount))
}

#[cfg(test)]
mod tests {
    use super::{Form, table, text};
    use crate::commands::output::Width;
    use crate::wire::cost::{CostDocument, CostLine, CostSums};

    fn document() -> CostDocument {
        let sums = |cost: f64, idle: f64| CostSums {
            cost_usd: cost + idle,
            allocated_usd: cost,
            used_usd: cost / 2.0,
            gap_usd: cost / 2.0,
            idle_usd: idle,
            gpu_hours: 12.0,
            unpriced_gpu_hours: 1.5,
            ..CostSums::default()
        };
        let line = |name: Option<&str>, sums: CostSums| CostLine {
            at: None,
            values: vec![name.map(str::to_owned)],
            sums,
        };
        CostDocument {
            timestamp: "2026-11-16T10:00:00Z".parse().expect("a time"),
            cluster: "prod".to_owned(),
            from: "2026-11-09T10:00:00Z".parse().expect("a time"),
            to: "2026-11-16T10:00:00Z".parse().expect("a time"),
            settled_until: Some("2026-11-16T09:55:00Z".parse().expect("a time")),
            by: vec!["namespace".to_owned()],
            total: sums(1234.5, 20.0),
            lines: vec![
                line(Some("research"), sums(1234.5, 0.0)),
                line(None, sums(0.0, 20.0)),
            ],
            found: 2,
        }
    }

    #[test]
    fn people_read_a_table_that_says_what_is_missing() {
        assert_eq!(
            text(&document(), Width::Narrow),
            "2026-11-09T10:00:00Z to 2026-11-16T10:00:00Z, cluster prod\n\
             Settled up to 2026-11-16T09:55:00Z; what came after is not in the sums yet.\n\
             1.5 GPU-hours have no price and are in no sum; gpu-autoscaler status says which nodes.\n\n\
             NAMESPACE  USD     ALLOCATED  USED   GAP    IDLE    GPU-HOURS\n\
             research   $1,234  $1,234     $617   $617   $0.00   12.00\n\
             -          $20.00  $0.00      $0.00  $0.00  $20.00  12.00\n"
        );
    }

    #[test]
    fn spreadsheets_get_numbers() {
        let csv = table(&document(), Width::Wide, Form::Figures).csv();
        let mut lines = csv.lines();
        assert_eq!(
            lines.next(),
            Some(
                "namespace,usd,allocated,used,gap,unmeasured,idle,system,boot,drain,unknown,unused_commitment,estimated,gpu-hours,unpriced_gpu-hours"
            )
        );
        assert!(
            lines
                .next()
                .is_some_and(|line| line.starts_with("research,1234.500000,1234.500000,617.250000,"))
        );
        assert!(
            lines
                .next()
                .is_some_and(|line| line.starts_with(",20.000000,0.000000,"))
        );
    }
}
