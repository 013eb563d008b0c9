//! Pod-resources v1: which pod holds which device, as the kubelet itself tells it.

use std::path::Path;
use tonic::transport::Channel;

use crate::socket::{ConnectError, connect};

pub use generated::*;

#[expect(
    clippy::allow_attributes_without_reason,
    clippy::too_many_lines,
    unused_qualifications,
    reason = "generated code has its own style"
)]
mod generated {
    tonic::include_proto!("v1");
}

/// Where a kubelet with the default root directory serves pod-resources.
pub const SOCKET: &str = "/var/lib/kubelet/pod-resources/kubelet.sock";

/// The kubelet sends up to 16 MiB; a smaller limit on our side would fail on exactly the busiest nodes.
const ANSWER_LIMIT_BYTES: usize = 16 << 20;

/// The client of one kubelet.
pub type Client = pod_resources_lister_client::PodResourcesListerClient<Channel>;

/// Reaches the kubelet that serves `socket`.
pub async fn client(socket: &Path) -> Result<Client, ConnectError> {
    Ok(Client::new(connect(socket).await?).max_decoding_message_size(ANSWER_LIMIT_BYTES))
}
