//! `gpu-autoscaler explain`: all that is known about one pod or node, and why it was judged as it was.

use anyhow::bail;

use crate::cli::people::ExplainOptions;
use crate::wire::decisions::Explanation;
use crate::wire::waste::{EvidenceLine, FindingLine};

use super::Ending;
use super::ask::Api;
use super::output::{Width, ago, banner, dollars, print};
use super::table::Table;

pub(crate) async fn explain(options: ExplainOptions) -> anyhow::Result<Ending> {
    let subject = subject(&options.what, &options.namespace)?;
    let api = Api::connect(&options.ask).await?;
    let answer: Explanation = api.get("/api/v1/explain", &[("subject", subject)]).await?;
    print(
        options.ask.output,
        &answer,
        |width| text(&answer, width),
        || decisions(&answer),
    )?;
    Ok(Ending::Done)
}

/// The full name of what a person named.
fn subject(what: &str, namespace: &str) -> anyhow::Result<String> {
    let parts: Vec<&str> = what.split('/').collect();
    let subject = match parts.as_slice() {
        ["pod" | "pods", name] => format!("pod/{namespace}/{name}"),
        ["pod" | "pods", namespace, name] => format!("pod/{namespace}/{name}"),
        ["node" | "nodes", name] => format!("node/{name}"),
        _ => bail!("`{what}` cannot be explained: give pod/NAME, pod/NAMESPACE/NAME or node/NAME"),
    };
    Ok(subject)
}

fn text(answer: &Explanation, width: Width) -> String {
    let mut text = banner(answer.source.as_deref()).to_owned();
    text += &format!("{}\n", answer.subject);
    let widest = answer
        .facts
        .iter()
        .map(|fact| fact.name.chars().count())
        .max()
        .unwrap_or(0);
    for fact in &answer.facts {
        let missing = widest - fact.name.chars().count();
        text += &format!("  {}{}  {}\n", fact.name, " ".repeat(missing), fact.value);
    }
    for finding in &answer.findings {
        text += &finding_text(finding, answer, width);
    }
    for words in &answer.without_finding {
        text += &format!("\n{words}\n");
    }
    if !answer.decisions.is_empty() {
        text += "\nDecisions\n";
        text += &decisions(answer).text();
    }
    text
}

fn finding_text(finding: &FindingLine, answer: &Explanation, width: Width) -> String {
    let mut text = format!(
        "\n{}: score {}, {} a month ({}), since {}\n  {}\n",
        finding.cause.as_str(),
        finding.score,
        dollars(finding.monthly_usd),
        finding.price,
        ago(finding.since, answer.timestamp),
        finding.explanation
    );
    for evidence in &finding.evidence {
        text += &format!(
            "  {:<12} {:<8} {}\n",
            name(evidence),
            word(evidence),
            evidence.words
        );
        if width == Width::Wide || evidence.series.len() > 1 {
            text += &format!("  {:<12} {:<8} {}\n", "", "", spark(&evidence.series));
        }
    }
    if let Some(fix) = &finding.fix {
        text += &format!(
            "  Fix: {} (saves {} a month)\n",
            fix.text,
            dollars(fix.saves_monthly_usd)
        );
        for command in &fix.commands {
            text += &format!("    $ {command}\n");
        }
        for line in fix.manifest.iter().flat_map(|manifest| manifest.lines()) {
            text += &format!("    {line}\n");
        }
    }
    text
}

fn name(evidence: &EvidenceLine) -> String {
    let name = serde_json::to_value(evidence.signal).ok();
    name.and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn word(evidence: &EvidenceLine) -> &'static str {
    match evidence.speaks {
        gpu_waste::Speaks::For => "for",
        gpu_waste::Speaks::Against => "against",
        gpu_waste::Speaks::Silent => "silent",
    }
}

/// A series as a line of blocks, from nothing to its highest value.
fn spark(series: &[(i64, f64)]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let highest = series.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let block = |value: f64| {
        if highest <= 0.0 {
            return BLOCKS[0];
        }
        let eighths = (value / highest * 8.0).ceil();
        // Compared instead of converted: a value out of range lands on an edge.
        let place = (1..BLOCKS.len())
            .rev()
            .find(|place| eighths > *place as f64)
            .unwrap_or(0);
        BLOCKS[place]
    };
    series.iter().map(|(_, value)| block(*value)).collect()
}

fn decisions(answer: &Explanation) -> Table {
    let mut table = Table::new(&["AT", "VERDICT", "WHY"]);
    for line in &answer.decisions {
        table.row(vec![
            line.at.strftime("%Y-%m-%d %H:%M:%S").to_string(),
            line.verdict.clone(),
            line.reason.clone(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{spark, subject};

    #[test]
    fn a_pod_is_named_with_or_without_its_namespace() {
        assert_eq!(subject("pod/a", "ml").unwrap(), "pod/ml/a");
        assert_eq!(subject("pods/team/a", "ml").unwrap(), "pod/team/a");
        assert_eq!(subject("node/n1", "ml").unwrap(), "node/n1");
        let refused = subject("deployment/a", "ml").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "`deployment/a` cannot be explained: give pod/NAME, pod/NAMESPACE/NAME or node/NAME"
        );
    }

    #[test]
    fn a_series_is_drawn_from_nothing_to_its_highest() {
        assert_eq!(spark(&[(0, 0.0), (1, 50.0), (2, 100.0)]), "▁▄█");
        assert_eq!(spark(&[(0, 0.0), (1, 0.0)]), "▁▁");
    }
}
