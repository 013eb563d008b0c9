//! moto, which answers as AWS does: its history has no ids of zones, so they are asked for.

use std::sync::Arc;
use std::time::Duration;

use gpu_price_feeds::aws::{CredentialsChain, Environment, WebIdentity};
use gpu_price_feeds::feeds::aws_spot::AwsSpot;
use gpu_runtime::SystemClock;
use gpu_runtime::http::client::Client;
use gpu_testbed::moto::Moto;
use gpu_testbed::{Bed, require};

use crate::local;
use crate::spot::{read, settings};

const WHOLE: Duration = Duration::from_secs(240);

#[tokio::test]
async fn spot_prices_of_moto_by_zone_id_with_the_keys_of_a_role() -> anyhow::Result<()> {
    require!(Moto::need());
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let moto = Moto::start(&bed).await?;
        let folder = tempfile::tempdir()?;
        let token_file = folder.path().join("token");
        std::fs::write(&token_file, "signed-by-the-cluster")?;
        let environment = Environment {
            web_identity: Some(WebIdentity {
                role: "arn:aws:iam::123456789012:role/prices".to_owned(),
                token_file,
                session: "gpu-autoscaler".to_owned(),
            }),
            sts_endpoint: Some(moto.url().to_owned()),
            ..Environment::default()
        };
        let clock = Arc::new(SystemClock);
        let chain = CredentialsChain::new(environment.clone(), Client::new(local())?, clock.clone())?;
        let credentials = chain.get().await?;
        assert!(credentials.access_key.starts_with("ASIA") && credentials.expires.is_some());
        let mut settings = settings(moto.url());
        settings.environment = environment;
        let prices = read(&AwsSpot::new(settings, clock)?, &["p4d.24xlarge"]).await?;
        assert!(!prices.is_empty());
        for line in &prices {
            assert!(line.contains(" p4d.24xlarge $0.000010000 "), "{line}");
        }
        let with = |beginning: &str| prices.iter().filter(|line| line.starts_with(beginning)).count();
        assert!(
            with("use1-az") > 0 && with("use1-az") == with("us-east-1"),
            "{prices:?}"
        );
        Ok(())
    })
    .await
}
