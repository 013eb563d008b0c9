//! The first words on the terminal: where to look, what to try, and that nothing here is measured.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use gpu_runtime::Terminal;

use crate::cli::DemoOptions;

/// The welcome for a demo that serves on `address`.
pub(super) fn text(terminal: Terminal, options: &DemoOptions, address: SocketAddr) -> String {
    let url = format!("http://{}", reachable(address));
    let nodes = match options.nodes {
        1 => "1 node".to_owned(),
        nodes => format!("{nodes} nodes"),
    };
    let mut text = format!(
        "{title} serves {badge} {nodes}, seed {seed}, {speed}\n\n  {page}\n\n",
        title = terminal.bold("gpu-autoscaler demo"),
        badge = terminal.badge("SIMULATED GPUs:"),
        seed = options.seed,
        speed = pace(options.speed),
        page = terminal.bold(format!("{url}/")),
    );
    let tries = [
        ("open the page", format!("{url}/")),
        ("Prometheus metrics", format!("curl {url}/metrics")),
        ("JSON", format!("curl {url}/api/v1/monitoring/gpu-metrics")),
        (
            "faster: ten minutes a second",
            "gpu-autoscaler demo --speed 600".to_owned(),
        ),
        ("larger", "gpu-autoscaler demo --nodes 100".to_owned()),
    ];
    for (what, how) in tries {
        text.push_str(&format!("  {}  {how}\n", terminal.faint(format!("{what:<28}"))));
    }
    if !address.ip().is_loopback() {
        text.push_str(
            "\nEverybody who reaches this machine can read the page; 127.0.0.1 keeps it to yourself.\n",
        );
    }
    text.push_str("\nNothing shown is measured. Ctrl-C stops.\n");
    text
}

fn pace(speed: u32) -> String {
    match speed {
        1 => "in real time".to_owned(),
        speed => format!("{speed} times as fast as real time"),
    }
}

/// An address a browser on this machine can open: "all addresses" is none.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests;
