//! Which source of measurements the settings ask for, and the tasks that find its targets.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use gpu_runtime::http::client::{Authorization, ClientSettings, HeaderName, HeaderValue, Trust};
use gpu_runtime::{Shutdown, Tasks};

use crate::cli::serve::{SourceKind, SourceOptions};
use crate::sources::MetricsSource;
use crate::sources::direct::{DirectSettings, DirectSource};
use crate::sources::discover::{
    PodSelector, Scheme, ServiceRef, TargetBook, follow_pods, follow_service, parse_targets,
};
use crate::sources::prometheus::{PrometheusSettings, PrometheusSource};

/// Makes the source. `cluster` is absent where there is no Kubernetes, and then targets are those that were named.
pub(super) fn open(
    options: &SourceOptions,
    round: std::time::Duration,
    cluster: Option<&kube::Client>,
    tasks: &mut Tasks,
    shutdown: &Shutdown,
) -> anyhow::Result<Box<dyn MetricsSource>> {
    match options.metrics_source {
        SourceKind::Direct => direct(options, round, cluster, tasks, shutdown),
        SourceKind::Prometheus => prometheus(options),
    }
}

fn direct(
    options: &SourceOptions,
    round: std::time::Duration,
    cluster: Option<&kube::Client>,
    tasks: &mut Tasks,
    shutdown: &Shutdown,
) -> anyhow::Result<Box<dyn MetricsSource>> {
    let book = Arc::new(TargetBook::default());
    if !options.targets.is_empty() {
        let targets = parse_targets(&options.targets.join(",")).context("cannot use --targets")?;
        book.write("targets", targets);
    }
    if let Some(client) = cluster {
        follow(options, client, &book, tasks, shutdown)?;
    } else if options.targets.is_empty() {
        bail!("without Kubernetes no exporter can be found: name them by --targets a:9400,b:9400");
    }
    let settings = DirectSettings {
        client: client_settings(options)?,
        timeout: options.scrape_timeout,
        round,
        ..DirectSettings::default()
    };
    let source = DirectSource::new(settings, book).context("cannot prepare the scraping of exporters")?;
    Ok(Box::new(source))
}

/// Starts a task for each place in which exporters are looked for.
fn follow(
    options: &SourceOptions,
    client: &kube::Client,
    book: &Arc<TargetBook>,
    tasks: &mut Tasks,
    shutdown: &Shutdown,
) -> anyhow::Result<()> {
    let mut services = Vec::new();
    for text in &options.exporter_services {
        let service: ServiceRef = text
            .parse()
            .with_context(|| format!("cannot use --exporter-service {text}"))?;
        services.push(service);
    }
    let (client_of_services, book_of_services, stop) = (client.clone(), book.clone(), shutdown.clone());
    tasks.start("find exporters by service", move || {
        let (client, book, stop) = (client_of_services.clone(), book_of_services.clone(), stop.clone());
        let follow = services
            .clone()
            .into_iter()
            .map(move |service| follow_service(client.clone(), service, book.clone()));
        let all = futures::future::join_all(follow);
        async move {
            tokio::select! {
                _ = all => {}
                () = stop.triggered() => {}
            }
            Ok(())
        }
    });
    let Some(labels) = &options.exporter_selector else {
        return Ok(());
    };
    let selector = PodSelector {
        namespace: None,
        labels: labels.clone(),
        port: Some(options.exporter_port),
        scheme: Scheme::Http,
        path: "/metrics".to_owned(),
    };
    let (client, book, stop) = (client.clone(), book.clone(), shutdown.clone());
    tasks.start("find exporters by label", move || {
        let (client, book, stop, selector) = (client.clone(), book.clone(), stop.clone(), selector.clone());
        async move {
            tokio::select! {
                () = follow_pods(client, selector, book) => {}
                () = stop.triggered() => {}
            }
            Ok(())
        }
    });
    Ok(())
}

fn prometheus(options: &SourceOptions) -> anyhow::Result<Box<dyn MetricsSource>> {
    let url = options
        .prometheus_url
        .clone()
        .or_else(|| std::env::var("PROMETHEUS_URL").ok())
        .context("--metrics-source prometheus needs --prometheus-url (or PROMETHEUS_URL)")?;
    let mut settings = PrometheusSettings::new(&url).context("cannot use --prometheus-url")?;
    settings.client = client_settings(options)?;
    for header in &options.prometheus_headers {
        let (name, value) = header
            .split_once(':')
            .with_context(|| "a header is `NAME: VALUE`: check --prometheus-header")?;
        let name: HeaderName = name
            .trim()
            .parse()
            .context("--prometheus-header has a name that is none")?;
        let mut value: HeaderValue = value
            .trim()
            .parse()
            .context("--prometheus-header has a value that is none")?;
        value.set_sensitive(true);
        settings.client.headers.insert(name, value);
    }
    settings.matchers = options.prometheus_matchers.iter().cloned().collect();
    settings.timeout = settings.timeout.max(options.scrape_timeout);
    let source = PrometheusSource::new(settings).context("cannot prepare the questions to Prometheus")?;
    Ok(Box::new(source))
}

fn client_settings(options: &SourceOptions) -> anyhow::Result<ClientSettings> {
    let trust = match (&options.source_ca_file, options.source_insecure) {
        (Some(_), true) => bail!("--source-ca-file and --source-insecure exclude each other"),
        (Some(file), false) => Trust::CaFile(file.clone()),
        (None, true) => Trust::InsecureSkipVerify,
        (None, false) => Trust::System,
    };
    let authorization = match &options.source_token_file {
        Some(file) => Authorization::BearerFile(file.clone()),
        None => Authorization::None,
    };
    Ok(ClientSettings {
        trust,
        authorization,
        ..ClientSettings::default()
    })
}
