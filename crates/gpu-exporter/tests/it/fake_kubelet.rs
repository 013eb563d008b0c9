//! A kubelet's pod-resources socket that says what a test wants it to say: answers of any size, nothing at all, refusals.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use gpu_kubelet::listen;
use gpu_kubelet::podresources::{self as api, pod_resources_lister_server as server};
use tokio::runtime::Runtime;
use tokio_stream::StreamExt as _;
use tonic::{Request, Response, Status, transport::Server};

/// What the kubelet does when it is asked.
#[derive(Clone)]
pub(crate) enum Behaviour {
    Answer(Arc<api::ListPodResourcesResponse>),
    Refuse(Status),
    /// It takes the question and says nothing.
    Hang,
}

#[derive(Default)]
struct Counts {
    calls: AtomicU64,
    connections: AtomicU64,
}

/// A running one. Dropping it ends it with all its connections, as a kill does; the socket's file stays behind.
pub(crate) struct FakeKubelet {
    behaviour: Arc<Mutex<Behaviour>>,
    counts: Arc<Counts>,
    runtime: Option<Runtime>,
}

impl FakeKubelet {
    /// Serves `socket`, replacing whatever is there.
    pub(crate) fn start(socket: &Path, behaviour: Behaviour) -> Self {
        let behaviour = Arc::new(Mutex::new(behaviour));
        let counts = Arc::new(Counts::default());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let lister = Lister {
            behaviour: Arc::clone(&behaviour),
            counts: Arc::clone(&counts),
        };
        let connections = Arc::clone(&counts);
        let incoming = {
            let _inside = runtime.enter();
            listen(socket).unwrap().map(move |connection| {
                connections.connections.fetch_add(1, Ordering::Relaxed);
                connection
            })
        };
        let service = server::PodResourcesListerServer::new(lister).max_encoding_message_size(usize::MAX);
        runtime.spawn(Server::builder().serve_with_incoming(service, incoming));
        Self {
            behaviour,
            counts,
            runtime: Some(runtime),
        }
    }

    pub(crate) fn behave(&self, behaviour: Behaviour) {
        *self.behaviour.lock().unwrap() = behaviour;
    }

    /// How often it was asked.
    pub(crate) fn calls(&self) -> u64 {
        self.counts.calls.load(Ordering::Relaxed)
    }

    pub(crate) fn connections(&self) -> u64 {
        self.counts.connections.load(Ordering::Relaxed)
    }
}

impl Drop for FakeKubelet {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

struct Lister {
    behaviour: Arc<Mutex<Behaviour>>,
    counts: Arc<Counts>,
}

#[tonic::async_trait]
impl server::PodResourcesLister for Lister {
    async fn list(
        &self,
        _: Request<api::ListPodResourcesRequest>,
    ) -> Result<Response<api::ListPodResourcesResponse>, Status> {
        self.counts.calls.fetch_add(1, Ordering::Relaxed);
        let behaviour = self.behaviour.lock().unwrap().clone();
        match behaviour {
            Behaviour::Answer(answer) => Ok(Response::new(api::ListPodResourcesResponse::clone(&answer))),
            Behaviour::Refuse(status) => Err(status),
            Behaviour::Hang => std::future::pending().await,
        }
    }

    async fn get_allocatable_resources(
        &self,
        _: Request<api::AllocatableResourcesRequest>,
    ) -> Result<Response<api::AllocatableResourcesResponse>, Status> {
        Err(Status::unimplemented("not asked for"))
    }

    async fn get(
        &self,
        _: Request<api::GetPodResourcesRequest>,
    ) -> Result<Response<api::GetPodResourcesResponse>, Status> {
        Err(Status::unimplemented("not asked for"))
    }
}

/// A pod whose only container `main` holds the devices; none, for a pod like most.
pub(crate) fn pod(namespace: &str, name: &str, resource: &str, ids: &[&str]) -> api::PodResources {
    let devices = api::ContainerDevices {
        resource_name: resource.to_owned(),
        device_ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        topology: None,
    };
    api::PodResources {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        containers: vec![api::ContainerResources {
            name: "main".to_owned(),
            devices: (!ids.is_empty()).then_some(devices).into_iter().collect(),
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// An answer that lists these pods.
pub(crate) fn answer(pods: Vec<api::PodResources>) -> Behaviour {
    Behaviour::Answer(Arc::new(api::ListPodResourcesResponse { pod_resources: pods }))
}
