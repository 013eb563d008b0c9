//! What the account may see: the chart's rules are enough, and with less the rest is still watched.

use std::path::Path;

use anyhow::Context as _;
use gpu_testbed::{Fleet, eventually, require};
use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};

use super::objects::{apply, install_our_kinds};
use super::{SOON, WHOLE, watch};

/// A client of an account that may do what the rules say.
async fn account(fleet: &Fleet, name: &str, rules: &str) -> anyhow::Result<Client> {
    let text = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: {name}\nrules:\n{rules}\n"
    );
    let path = fleet.bed().write_file(format!("{name}-role.yaml"), text)?;
    fleet
        .kubectl(&["apply", "-f", &path.display().to_string()])
        .await?;
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]});
    let account: Value = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}});
    apply(fleet, name, &[account, binding]).await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(fleet.client().await?, "default");
    let request: TokenRequest =
        serde_json::from_value(json!({"spec": {"audiences": [], "expirationSeconds": 3600}}))?;
    let token = accounts
        .create_token_request(name, &PostParams::default(), &request)
        .await?
        .status
        .map(|status| status.token);
    let kubeconfig = Kubeconfig::read_from(fleet.kubeconfig())?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.auth_info = serde_json::from_value(json!({"token": token}))?;
    Ok(Client::try_from(config)?)
}

/// The rules that the chart gives to the control plane for watching.
fn rules_of_the_chart() -> anyhow::Result<String> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/gpu-autoscaler/templates/_watch-rules.tpl");
    let text = std::fs::read_to_string(path)?;
    let rules = text
        .lines()
        .filter(|line| !line.starts_with("{{") && !line.is_empty());
    Ok(rules.collect::<Vec<_>>().join("\n"))
}

#[tokio::test]
async fn the_rules_of_the_chart_are_enough() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    let work = async {
        install_our_kinds(fleet).await?;
        let watched = watch(account(fleet, "enough", &rules_of_the_chart()?).await?);
        let seen = eventually("every kind is seen", SOON, || async {
            let status = watched.watch.status();
            anyhow::ensure!(
                watched.forbidden().is_empty(),
                "forbidden: {:?}",
                watched.forbidden()
            );
            Ok(status.iter().all(|status| status.is_synced).then_some(()))
        })
        .await;
        seen.with_context(|| format!("{:#?}", watched.watch.status()))
    };
    fleet.guard(WHOLE, work).await
}

#[tokio::test]
async fn what_may_not_be_seen_is_named_and_the_rest_is_watched() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    let work = async {
        let few = "- apiGroups: [\"\"]\n  resources: [pods, nodes]\n  verbs: [list, watch]";
        let watched = watch(account(fleet, "few", few).await?);
        watched.watch.synced().await;
        let forbidden = watched.forbidden();
        assert!(
            forbidden.contains(&"namespaces") && forbidden.contains(&"replicasets"),
            "{forbidden:?}"
        );
        assert!(!forbidden.contains(&"pods"), "{forbidden:?}");

        let fewer = "- apiGroups: [\"\"]\n  resources: [nodes]\n  verbs: [list, watch]";
        let blind = watch(account(fleet, "fewer", fewer).await?);
        eventually("pods are known to be forbidden", SOON, || async {
            Ok(blind.forbidden().contains(&"pods").then_some(()))
        })
        .await?;
        let refused = blind
            .watch
            .picture(Timestamp::now())
            .expect_err("there is no picture without pods");
        assert_eq!(refused.waiting_for, ["pods"], "{refused}");
        Ok(())
    };
    fleet.guard(WHOLE, work).await
}
