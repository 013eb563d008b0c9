//! The fleet: a real control plane over fake nodes. What the control plane does here, our code did not do.

mod death;
mod extension;
mod foreign;
mod losing_nodes;
mod objects;
mod scale;
mod scheduling;
mod tls_server;
mod workflows;

use std::time::Duration;

use gpu_testbed::{Fleet, require};

/// Every step of these tests takes a second or two; a machine that compiles beside them takes longer.
const SOON: Duration = Duration::from_secs(60);

/// The bound of a whole test.
const WHOLE: Duration = Duration::from_secs(180);

/// The promise to the developers: a cluster from cached programs in this time.
const PROMISED_START: Duration = Duration::from_secs(15);

#[tokio::test]
async fn a_fleet_is_ready_in_the_promised_time() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    let took = fleet.ready_after();
    assert!(
        took < PROMISED_START,
        "the control plane was ready only after {took:?}"
    );
    let version = fleet.client().await?.apiserver_version().await?;
    let pinned = gpu_testbed::cache_layout::ProgramSet::Kubernetes.version();
    if std::env::var_os("KUBEBUILDER_ASSETS").is_none() {
        assert_eq!(Some(version.git_version.as_str()), pinned);
    }
    Ok(())
}
