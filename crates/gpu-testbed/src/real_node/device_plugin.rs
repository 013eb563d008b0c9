//! The program that offers devices to the node's kubelet in the place of the vendors' device plugins.
//!
//! It watches two things: the file with the offers, which a test may change at any time, and the kubelet's socket.
//! A kubelet that starts forgets its plugins and empties their directory, so each plugin must come back by itself.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use futures::stream::{self, BoxStream, StreamExt};
use gpu_kubelet::deviceplugin::{self as api, device_plugin_server::DevicePlugin};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tonic::{Request, Response, Status};

use super::devices::{Health, Offers};

/// Fast enough that a test hardly waits for it, slow enough to cost nothing.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A kubelet that accepts a registration answers at once; one that is busy starting is asked again.
const REGISTER_WITHIN: Duration = Duration::from_secs(5);

/// Runs the plugin for the kubelet whose plugin directory and for the offers whose file are given as arguments.
pub fn main() -> anyhow::Result<()> {
    let mut words = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(directory), Some(offers)) = (words.next(), words.next()) else {
        anyhow::bail!(
            "usage: testbed-device-plugin DIRECTORY OFFERS (a real node starts this; people do not)"
        );
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(offer(&directory, &offers))
}

async fn offer(directory: &Path, file: &Path) -> anyhow::Result<()> {
    let (sender, offers) = watch::channel(read(file)?);
    let mut endpoints: BTreeMap<String, Endpoint> = BTreeMap::new();
    loop {
        let now = read(file)?;
        sender.send_if_modified(|before| {
            let changed = *before != now;
            before.clone_from(&now);
            changed
        });
        for resource in now.resources() {
            let endpoint = endpoints
                .entry(resource.to_owned())
                .or_insert_with(|| Endpoint::new(resource));
            if let Err(error) = endpoint.keep_registered(directory, &offers).await {
                eprintln!("testbed-device-plugin: {resource}: {error:#}");
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn read(file: &Path) -> anyhow::Result<Offers> {
    let text = std::fs::read(file).with_context(|| format!("failed to read `{}`", file.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("`{}` holds no offers", file.display()))
}

/// Tells one kubelet from its successor: the file's number may be used again, but not within the same instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Incarnation {
    inode: u64,
    changed_seconds: i64,
    changed_nanos: i64,
}

impl Incarnation {
    fn of(socket: &Path) -> Option<Self> {
        let data = std::fs::metadata(socket).ok()?;
        Some(Self {
            inode: data.ino(),
            changed_seconds: data.ctime(),
            changed_nanos: data.ctime_nsec(),
        })
    }
}

/// The plugin of one resource.
struct Endpoint {
    resource: String,
    file_name: String,
    serving: Option<JoinHandle<()>>,
    registered_with: Option<Incarnation>,
}

impl Endpoint {
    fn new(resource: &str) -> Self {
        Self {
            resource: resource.to_owned(),
            file_name: format!("{}.sock", resource.replace('/', "-")),
            serving: None,
            registered_with: None,
        }
    }

    /// Serves and registers, unless that was done with this very kubelet.
    async fn keep_registered(
        &mut self,
        directory: &Path,
        offers: &watch::Receiver<Offers>,
    ) -> anyhow::Result<()> {
        let Some(kubelet) = Incarnation::of(&directory.join(api::KUBELET_SOCKET)) else {
            return Ok(());
        };
        let socket = directory.join(&self.file_name);
        if self.registered_with == Some(kubelet) && socket.exists() {
            return Ok(());
        }
        if let Some(serving) = self.serving.take() {
            serving.abort();
        }
        let incoming = gpu_kubelet::listen(&socket)?;
        let plugin = Plugin {
            resource: self.resource.clone(),
            offers: offers.clone(),
        };
        let service = api::device_plugin_server::DevicePluginServer::new(plugin);
        self.serving = Some(tokio::spawn(async move {
            let served = tonic::transport::Server::builder()
                .serve_with_incoming(service, incoming)
                .await;
            if let Err(error) = served {
                eprintln!("testbed-device-plugin: {error}");
            }
        }));
        let request = api::RegisterRequest {
            version: api::VERSION.to_owned(),
            endpoint: self.file_name.clone(),
            resource_name: self.resource.clone(),
            options: None,
        };
        let register = async {
            let mut client = api::registration(directory).await?;
            client
                .register(request)
                .await
                .context("the kubelet refused the registration")
        };
        tokio::time::timeout(REGISTER_WITHIN, register)
            .await
            .context("the kubelet did not answer")??;
        self.registered_with = Some(kubelet);
        println!("registered {}", self.resource);
        Ok(())
    }
}

struct Plugin {
    resource: String,
    offers: watch::Receiver<Offers>,
}

fn list(offers: &Offers, resource: &str) -> api::ListAndWatchResponse {
    let devices = offers.devices(resource).map(|(id, health)| api::Device {
        id: id.to_owned(),
        health: match health {
            Health::Healthy => api::HEALTHY.to_owned(),
            Health::Unhealthy => api::UNHEALTHY.to_owned(),
        },
        topology: None,
    });
    api::ListAndWatchResponse {
        devices: devices.collect(),
    }
}

/// What the container sees of its devices: as with the vendor's own plugin, the GPUs by their ids, where the number
/// after the double colon only tells shares of one GPU apart.
fn environment(resource: &str, ids: &[String]) -> BTreeMap<String, String> {
    if !resource.starts_with("nvidia.com/") {
        return BTreeMap::new();
    }
    let mut gpus: Vec<&str> = ids.iter().map(|id| id.split("::").next().unwrap_or(id)).collect();
    gpus.sort_unstable();
    gpus.dedup();
    [("NVIDIA_VISIBLE_DEVICES".to_owned(), gpus.join(","))].into()
}

#[tonic::async_trait]
impl DevicePlugin for Plugin {
    type ListAndWatchStream = BoxStream<'static, Result<api::ListAndWatchResponse, Status>>;

    async fn get_device_plugin_options(
        &self,
        _: Request<api::Empty>,
    ) -> Result<Response<api::DevicePluginOptions>, Status> {
        Ok(Response::new(api::DevicePluginOptions::default()))
    }

    async fn list_and_watch(
        &self,
        _: Request<api::Empty>,
    ) -> Result<Response<Self::ListAndWatchStream>, Status> {
        let mut offers = self.offers.clone();
        offers.mark_changed();
        let lists = stream::unfold((offers, self.resource.clone()), |(mut offers, resource)| async {
            offers.changed().await.ok()?;
            let list = list(&offers.borrow_and_update(), &resource);
            Some((Ok(list), (offers, resource)))
        });
        Ok(Response::new(lists.boxed()))
    }

    async fn get_preferred_allocation(
        &self,
        _: Request<api::PreferredAllocationRequest>,
    ) -> Result<Response<api::PreferredAllocationResponse>, Status> {
        Err(Status::unimplemented("the options say so"))
    }

    async fn allocate(
        &self,
        request: Request<api::AllocateRequest>,
    ) -> Result<Response<api::AllocateResponse>, Status> {
        let answers = request
            .into_inner()
            .container_requests
            .into_iter()
            .map(|container| api::ContainerAllocateResponse {
                envs: environment(&self.resource, &container.devices_ids),
                ..Default::default()
            });
        Ok(Response::new(api::AllocateResponse {
            container_responses: answers.collect(),
        }))
    }

    async fn pre_start_container(
        &self,
        _: Request<api::PreStartContainerRequest>,
    ) -> Result<Response<api::PreStartContainerResponse>, Status> {
        Err(Status::unimplemented("the options say so"))
    }
}
