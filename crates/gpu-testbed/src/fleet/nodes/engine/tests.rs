//! An engine that cannot play says so, instead of leaving its nodes to fall silent.

use std::time::Duration;

use super::NodeEngine;

#[tokio::test]
async fn the_death_of_the_engine_is_told() {
    let engine = NodeEngine::start("/nonexistent/kubeconfig".into(), Duration::from_secs(16));
    let why = tokio::time::timeout(Duration::from_secs(30), engine.death())
        .await
        .expect("it died at once");
    assert!(why.contains("kubeconfig"), "{why}");
}
