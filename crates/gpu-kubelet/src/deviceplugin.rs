//! Device plugin v1beta1: how a program offers devices to the kubelet.

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
    tonic::include_proto!("v1beta1");
}

/// The directory in which the kubelet and its plugins keep their sockets, for the default root directory.
pub const DIRECTORY: &str = "/var/lib/kubelet/device-plugins";

/// The file name of the kubelet's own socket in that directory.
pub const KUBELET_SOCKET: &str = "kubelet.sock";

/// The version that a plugin names when it registers.
pub const VERSION: &str = "v1beta1";

/// The `health` of a device that may be handed out.
pub const HEALTHY: &str = "Healthy";

/// The `health` of a device that may not be handed out.
pub const UNHEALTHY: &str = "Unhealthy";

/// The client with which a plugin registers itself.
pub type RegistrationClient = registration_client::RegistrationClient<Channel>;

/// The client with which a kubelet, or a test in its place, asks a plugin.
pub type PluginClient = device_plugin_client::DevicePluginClient<Channel>;

/// Reaches the kubelet's registration service in the plugin `directory`.
pub async fn registration(directory: &Path) -> Result<RegistrationClient, ConnectError> {
    Ok(RegistrationClient::new(
        connect(&directory.join(KUBELET_SOCKET)).await?,
    ))
}

/// Reaches the plugin that serves `socket`.
pub async fn plugin(socket: &Path) -> Result<PluginClient, ConnectError> {
    Ok(PluginClient::new(connect(socket).await?))
}
