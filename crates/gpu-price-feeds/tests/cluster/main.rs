//! Prices in a ConfigMap of a real API server.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests meet the world outside, and an unwrap is an assertion"
)]

use std::sync::Arc;
use std::time::Duration;

use gpu_cost::{Machine, Moment, PriceNote};
use gpu_model::{CapacityType, Cloud, MachineId, NodeName};
use gpu_price_feeds::{DeskSettings, DocumentSource, PriceDesk, SourceStatus};
use gpu_runtime::{Clock as _, Shutdown, SystemClock, Tasks};
use gpu_testbed::control_plane::Component;
use gpu_testbed::fleet::TestNamespace;
use gpu_testbed::{Fleet, eventually, require};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Config};
use serde_json::json;

const WHOLE: Duration = Duration::from_secs(180);
const SOON: Duration = Duration::from_secs(30);
const NAME: &str = "gpu-autoscaler-prices";

fn machine() -> Machine {
    Machine {
        id: MachineId::new("i-1").unwrap(),
        node: NodeName::new("gpu-1").unwrap(),
        cloud: Cloud::Aws,
        instance_type: Some("p5.48xlarge".to_owned()),
        region: Some("us-east-1".to_owned()),
        zone: None,
        capacity: CapacityType::OnDemand,
        pool: None,
        gpu_model: None,
        gpus: Some(8),
        vcpus: None,
        memory: None,
    }
}

/// A desk whose document is a ConfigMap of that namespace.
struct Running {
    desk: PriceDesk,
    _tasks: Tasks,
}

impl Running {
    fn start(client: kube::Client, namespace: &str) -> Self {
        let shutdown = Shutdown::new();
        let mut tasks = Tasks::new(shutdown.clone());
        let settings = DeskSettings {
            document: Some(DocumentSource::ConfigMap {
                client,
                namespace: namespace.to_owned(),
                name: NAME.to_owned(),
                key: "prices.yaml".to_owned(),
            }),
            ..DeskSettings::default()
        };
        let desk = PriceDesk::start(settings, Arc::new(SystemClock), &mut tasks, &shutdown).unwrap();
        Self { desk, _tasks: tasks }
    }

    fn quote(&self) -> String {
        match self
            .desk
            .book()
            .quote(&machine(), Moment::from(SystemClock.now()))
        {
            PriceNote::Priced { rate, source, .. } => format!("{} {rate}", source.as_str()),
            PriceNote::Unpriced { reason } => reason.as_str().to_owned(),
        }
    }

    fn document(&self) -> Option<SourceStatus> {
        self.desk
            .status()
            .into_iter()
            .find(|status| status.source == "document")
    }

    async fn until(&self, beginning: &str) -> anyhow::Result<()> {
        eventually(beginning, SOON, || async {
            Ok(self.quote().starts_with(beginning).then_some(()))
        })
        .await
    }

    async fn until_problem(&self, words: &str) -> anyhow::Result<SourceStatus> {
        let found = eventually(words, SOON, || async {
            let has = |status: &SourceStatus| {
                status
                    .last_error
                    .as_ref()
                    .is_some_and(|it| it.message.contains(words))
            };
            Ok(self.document().filter(has))
        });
        found.await
    }

    async fn until_fine(&self) -> anyhow::Result<SourceStatus> {
        let found = eventually("the document is fine", SOON, || async {
            Ok(self.document().filter(|status| status.last_error.is_none()))
        });
        found.await
    }
}

/// A client with the rights of the namespace's account `prices` and no others.
async fn as_account(fleet: &Fleet, namespace: &str) -> anyhow::Result<kube::Client> {
    let file = Kubeconfig::read_from(fleet.kubeconfig())?;
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    config.auth_info.impersonate = Some(format!("system:serviceaccount:{namespace}:prices"));
    Ok(kube::Client::try_from(config)?)
}

/// Gives the account the rights that the documentation names.
async fn grant(namespace: &TestNamespace) -> anyhow::Result<()> {
    let documentation = include_str!("../../../../docs/cost.md");
    let block = documentation
        .split("```")
        .find(|block| block.contains("kind: Role\n"))
        .unwrap();
    let role: Role = serde_saphyr::from_str(block.strip_prefix("yaml").unwrap())?;
    let roles: Api<Role> = namespace.api();
    roles.create(&PostParams::default(), &role).await?;
    let binding = json!({
        "metadata": {"name": "prices"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role.metadata.name},
        "subjects": [{"kind": "ServiceAccount", "namespace": namespace.name(), "name": "prices"}],
    });
    let bindings: Api<RoleBinding> = namespace.api();
    bindings
        .create(&PostParams::default(), &serde_json::from_value(binding)?)
        .await?;
    Ok(())
}

fn map(text: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": NAME}, "data": {"prices.yaml": text}})).unwrap()
}

async fn change(maps: &Api<ConfigMap>, data: serde_json::Value) -> anyhow::Result<()> {
    let patch = Patch::Merge(json!({ "data": data }));
    maps.patch(NAME, &PatchParams::default(), &patch).await?;
    Ok(())
}

#[tokio::test]
async fn a_config_map_is_followed_from_its_making_to_its_deletion() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE, async {
            let namespace = fleet.namespace("prices").await?;
            let maps: Api<ConfigMap> = namespace.api();
            let running = Running::start(as_account(fleet, namespace.name()).await?, namespace.name());
            let forbidden = running.until_problem("forbidden").await?;
            assert_eq!(forbidden.last_error.unwrap().class, "kubernetes");
            grant(&namespace).await?;
            let nothing = running.until_fine().await?;
            assert_eq!((nothing.versions, nothing.failures), (0, 0));
            assert!(running.quote().starts_with("bundled "));

            let text = "overrides: [{name: contract, nodeHour: 41.50}]";
            maps.create(&PostParams::default(), &map(text)).await?;
            running.until("override $41.500000000").await?;
            assert_eq!(running.until_fine().await?.versions, 1);

            change(
                &maps,
                json!({"prices.yaml": "overrides: [{name: contract, gpuHour: 5}]"}),
            )
            .await?;
            running.until("override $40.000000000").await?;

            change(
                &maps,
                json!({"prices.yaml": "overrides: [{name: contract, gpuHour: five}]"}),
            )
            .await?;
            let refused = running
                .until_problem("overrides[0].gpuHour: `five` is no amount")
                .await?;
            assert_eq!(
                (refused.versions, refused.last_error.unwrap().class),
                (1, "format")
            );
            assert_eq!(running.quote(), "override $40.000000000");

            change(&maps, json!({"prices.yaml": null, "other": "x"})).await?;
            running.until_problem("has no key `prices.yaml`").await?;
            assert_eq!(running.quote(), "override $40.000000000");

            change(&maps, json!({"prices.yaml": text})).await?;
            running.until("override $41.500000000").await?;
            assert_eq!(running.until_fine().await?.failures, 0);

            maps.delete(NAME, &DeleteParams::default()).await?;
            running.until("bundled ").await?;
            assert_eq!(running.until_fine().await?.versions, 0);
            Ok(())
        })
        .await
}

#[tokio::test]
async fn a_lost_api_server_leaves_the_document_in_force_and_what_happened_meanwhile_is_seen()
-> anyhow::Result<()> {
    require!(Fleet::need());
    // Its own, because its API server is killed.
    let fleet = Fleet::start().await?;
    let namespace = fleet.namespace("prices").await?;
    let maps: Api<ConfigMap> = namespace.api();
    maps.create(
        &PostParams::default(),
        &map("overrides: [{name: contract, nodeHour: 41.50}]"),
    )
    .await?;
    let running = Running::start(namespace.client(), namespace.name());
    running.until("override $41.500000000").await?;
    fleet.kill(Component::ApiServer)?;
    let lost = running.until_problem("failed to watch the ConfigMap").await?;
    assert_eq!(lost.last_error.unwrap().class, "kubernetes");
    assert_eq!(running.quote(), "override $41.500000000");
    fleet.revive(Component::ApiServer).await?;
    let again = running.until_fine().await?;
    assert_eq!((again.versions, again.failures), (1, 0));
    change(
        &maps,
        json!({"prices.yaml": "overrides: [{name: contract, nodeHour: 42}]"}),
    )
    .await?;
    running.until("override $42.000000000").await?;
    Ok(())
}
