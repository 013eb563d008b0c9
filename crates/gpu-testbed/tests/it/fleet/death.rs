//! A component that dies in the middle of a test fails the test at once and by name, on a fleet of this test alone.

use std::time::{Duration, Instant};

use gpu_testbed::control_plane::Component;
use gpu_testbed::{Fleet, Leftovers, require};

/// From the kill to the error; the rest of the bound is for a busy machine.
const NOTICED_WITHIN: Duration = Duration::from_secs(10);

#[tokio::test]
async fn each_dead_component_is_named() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::start().await?;
    // The store comes last, because the others cannot live long without it.
    for component in [
        Component::Scheduler,
        Component::ControllerManager,
        Component::ApiServer,
        Component::Etcd,
    ] {
        let began = Instant::now();
        let work = async {
            fleet.kill(component)?;
            std::future::pending::<anyhow::Result<()>>().await
        };
        let error = fleet
            .guard(Duration::from_secs(60), work)
            .await
            .expect_err("a component is dead");
        let name = component.program().file_name();
        let text = format!("{error:#}");
        assert!(
            text.contains(&format!("part `{name}` of the test bed died by signal SIGKILL")),
            "{text}"
        );
        assert!(
            began.elapsed() < NOTICED_WITHIN,
            "{name}: noticed after {:?}",
            began.elapsed()
        );
        if component != Component::Etcd {
            fleet.revive(component).await?;
        }
    }
    let id = fleet.bed().id().clone();
    drop(fleet);
    let left = Leftovers::of(&id);
    assert!(left.is_empty(), "this is left:\n{left}");
    Ok(())
}
