//! moto answers AWS's questions from what it was told before.

use std::time::Duration;

use gpu_testbed::moto::Moto;
use gpu_testbed::{Bed, require};

const WHOLE: Duration = Duration::from_secs(240);

/// The version of the Auto Scaling API.
const VERSION: &str = "2011-01-01";

#[tokio::test]
async fn an_auto_scaling_group_is_described_as_it_was_created() -> anyhow::Result<()> {
    require!(Moto::need());
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let moto = Moto::start(&bed).await?;
        let call = async |action: &str, parameters: &[(&str, &str)]| {
            moto.call("autoscaling", VERSION, action, parameters).await
        };
        let before = call("DescribeAutoScalingGroups", &[]).await?;
        assert!(!before.contains("gpu-pool"), "{before}");

        let launch = [
            ("LaunchConfigurationName", "gpu"),
            ("ImageId", "ami-12c6146b"),
            ("InstanceType", "p4d.24xlarge"),
        ];
        call("CreateLaunchConfiguration", &launch).await?;
        let group = [
            ("AutoScalingGroupName", "gpu-pool"),
            ("LaunchConfigurationName", "gpu"),
            ("MinSize", "0"),
            ("MaxSize", "7"),
            ("DesiredCapacity", "2"),
            ("AvailabilityZones.member.1", "us-east-1a"),
        ];
        call("CreateAutoScalingGroup", &group).await?;
        let after = call("DescribeAutoScalingGroups", &[]).await?;
        for expected in [
            "<AutoScalingGroupName>gpu-pool</AutoScalingGroupName>",
            "<MaxSize>7</MaxSize>",
            "<DesiredCapacity>2</DesiredCapacity>",
            "<AvailabilityZone>us-east-1a</AvailabilityZone>",
        ] {
            assert!(after.contains(expected), "no {expected} in {after}");
        }
        let nameless = [
            ("AutoScalingGroupName", "other"),
            ("MinSize", "0"),
            ("MaxSize", "1"),
        ];
        let refused = call("CreateAutoScalingGroup", &nameless)
            .await
            .expect_err("nothing says what to launch");
        assert!(refused.to_string().contains("ValidationError"), "{refused}");
        Ok(())
    })
    .await
}
