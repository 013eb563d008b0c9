//! The page at `/`: where to look, and how the exporter is doing. Texts of sources are escaped; no path of the machine and
//! no secret is on it.

use std::fmt::Write as _;

use crate::snapshot::{DeviceState, NodeSnapshot, Origin};

/// The links of the index, by address and meaning.
const LINKS: [(&str, &str); 4] = [
    ("api/v1/monitoring/gpu-metrics", "the same readings as JSON"),
    (
        "api/v1/monitoring/gpu-metrics?window=10m",
        "with the last ten minutes",
    ),
    ("healthz", "whether the process lives"),
    ("readyz", "whether the first collection is done"),
];

/// The HTML text. `metrics_path` is the path of the metrics page.
pub fn index_page(snapshot: &NodeSnapshot, metrics_path: &str) -> String {
    let mut html = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>gpu-exporter</title></head>\n<body>\n\
         <h1>gpu-exporter</h1>\n<ul>\n",
    );
    let path = metrics_path.trim_start_matches('/');
    let core = format!("{path}?families=core");
    let metrics = [
        (path, "the metrics page"),
        (core.as_str(), "what the control plane reads of it"),
    ];
    for (address, meaning) in metrics.into_iter().chain(LINKS) {
        let address = escaped(address);
        line(
            &mut html,
            format_args!("<li><a href=\"{address}\">{address}</a>: {meaning}</li>"),
        );
    }
    html.push_str("</ul>\n");
    let node = escaped(&snapshot.node);
    line(
        &mut html,
        format_args!(
            "<p>node {node}, snapshot {} of {}</p>",
            snapshot.sequence, snapshot.at
        ),
    );
    if snapshot.origin == Origin::Simulated {
        html.push_str("<p><strong>All values are simulated.</strong></p>\n");
    }
    sources(&mut html, snapshot);
    devices(&mut html, snapshot);
    html.push_str("</body>\n</html>\n");
    html
}

fn sources(html: &mut String, snapshot: &NodeSnapshot) {
    html.push_str("<h2>Sources</h2>\n<ul>\n");
    for source in &snapshot.sources {
        let state = if source.up { "up" } else { "down" };
        let problem = source
            .problem
            .as_deref()
            .map(|problem| format!(": {}", escaped(problem)));
        let name = escaped(source.name);
        line(
            html,
            format_args!("<li>{name} is {state}{}</li>", problem.unwrap_or_default()),
        );
    }
    html.push_str("</ul>\n");
}

fn devices(html: &mut String, snapshot: &NodeSnapshot) {
    html.push_str("<h2>GPUs</h2>\n<ul>\n");
    for device in &snapshot.devices {
        let identity = &device.identity;
        let state = match device.state {
            DeviceState::Up => "up".to_owned(),
            DeviceState::Failing(class) => format!("failing ({class})"),
            DeviceState::Stuck => "stuck in the driver".to_owned(),
            DeviceState::Lost => "lost".to_owned(),
        };
        let (model, uuid) = (escaped(&identity.model), escaped(&identity.uuid));
        let state = escaped(&state);
        line(
            html,
            format_args!("<li>{} {model} {uuid}: {state}</li>", identity.index),
        );
    }
    html.push_str("</ul>\n");
}

fn line(html: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(html, "{text}").expect("a String accepts every write");
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for symbol in text.chars() {
        match symbol {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}
