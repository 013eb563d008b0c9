//! The picture of a real cluster: a real API server, scheduler and controllers, with nodes that are ours.

mod ended;
mod objects;
mod outage;
mod poison;
mod rights;
mod whole;

use std::sync::Arc;
use std::time::Duration;

use gpu_autoscaler::watch::{self, Access, ClusterWatch, Kind, KindStatus};
use gpu_model::{ClusterId, ClusterPicture, GpuPod, PodKey};
use gpu_runtime::{Shutdown, Tasks};
use gpu_testbed::eventually;
use jiff::Timestamp;
use kube::Client;

/// Every step of these tests takes a second or two; a machine that compiles beside them takes longer.
const SOON: Duration = Duration::from_secs(90);

/// The bound of a whole test.
const WHOLE: Duration = Duration::from_secs(240);

/// A watch with its tasks; they end when it is dropped.
struct Watched {
    watch: ClusterWatch,
    _tasks: Tasks,
}

fn watch(client: Client) -> Watched {
    let shutdown = Shutdown::new();
    let mut tasks = Tasks::new(shutdown.clone());
    let cluster = ClusterId::new("test").unwrap();
    let watch = watch::start(&mut tasks, client, cluster, shutdown);
    Watched { watch, _tasks: tasks }
}

impl Watched {
    fn picture(&self) -> Option<Arc<ClusterPicture>> {
        self.watch.picture(Timestamp::now()).ok()
    }

    /// Waits until something can be said of the picture.
    async fn until<T>(&self, what: &str, look: impl Fn(&ClusterPicture) -> Option<T>) -> anyhow::Result<T> {
        eventually(what, SOON, || async {
            Ok(self.picture().and_then(|picture| look(&picture)))
        })
        .await
    }

    /// Waits until a pod is in the picture, in the state that is asked for.
    async fn pod(
        &self,
        namespace: &str,
        name: &str,
        is_right: impl Fn(&GpuPod) -> bool,
    ) -> anyhow::Result<Arc<GpuPod>> {
        let key = PodKey {
            namespace: namespace.parse()?,
            name: name.parse()?,
        };
        self.until(&format!("{key} as expected"), |picture| {
            picture.gpu_pods.get(&key).filter(|pod| is_right(pod)).cloned()
        })
        .await
    }

    fn status(&self, kind: Kind) -> KindStatus {
        self.watch
            .status()
            .into_iter()
            .find(|status| status.kind == kind)
            .unwrap()
    }

    fn forbidden(&self) -> Vec<&'static str> {
        let status = self.watch.status().into_iter();
        status
            .filter(|status| matches!(status.access, Access::Forbidden { .. }))
            .map(|status| status.kind.name())
            .collect()
    }
}

/// The chain of owners in words.
fn owners(pod: &GpuPod) -> String {
    let owners = pod.pod.owners.iter();
    let words: Vec<String> = owners
        .map(|owner| format!("{}/{}", owner.kind, owner.name))
        .collect();
    words.join(" < ")
}
