//! Names of things, each with its own type so that a pod name can never be passed where a node name is meant.
//!
//! The text is shared, not copied: a fleet view of thousands of GPUs is built every second from the same few names.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Kubernetes object names end at 253 characters; vendor device ids are far shorter.
const LONGEST_ID: usize = 253;

/// Why a text cannot be an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("an empty text is no {kind}: give its name")]
    Empty { kind: &'static str },
    #[error("a {kind} has at most 253 characters, this text has {length}")]
    TooLong { kind: &'static str, length: usize },
    #[error("the {kind} `{text}` holds a control character: remove it")]
    ControlCharacter { kind: &'static str, text: String },
}

fn checked(kind: &'static str, text: &str) -> Result<Arc<str>, IdError> {
    if text.is_empty() {
        return Err(IdError::Empty { kind });
    }
    if text.len() > LONGEST_ID {
        return Err(IdError::TooLong {
            kind,
            length: text.len(),
        });
    }
    if text.chars().any(char::is_control) {
        return Err(IdError::ControlCharacter {
            kind,
            text: text.escape_debug().to_string(),
        });
    }
    Ok(Arc::from(text))
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: impl AsRef<str>) -> Result<Self, IdError> {
                checked($kind, text.as_ref()).map(Self)
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::new(text).map_err(serde::de::Error::custom)
            }
        }
    };
}

text_id!(
    /// The cluster a value was seen in. It is part of every key, row and metric.
    ClusterId,
    "cluster id"
);
text_id!(
    /// The name of a Kubernetes node, or of the host where there is no Kubernetes.
    NodeName,
    "node name"
);
text_id!(
    /// The machine behind a node: the cloud's instance id, or the node's uid where there is no cloud. A node's name comes
    /// back with another machine behind it; this does not.
    MachineId,
    "machine id"
);
text_id!(
    /// The vendor's id of a whole GPU: `GPU-<uuid>` for NVIDIA, the unique id for AMD.
    GpuUuid,
    "GPU uuid"
);
text_id!(
    /// The place of a GPU on its bus, `0000:19:00.0`.
    PciAddress,
    "PCI address"
);
text_id!(
    /// The id by which a device plugin hands a part of a GPU out, such as `MIG-<uuid>` or `GPU-<uuid>::2`.
    DeviceId,
    "device id"
);
text_id!(Namespace, "namespace");
text_id!(PodName, "pod name");
text_id!(PodUid, "pod uid");
text_id!(ContainerName, "container name");
text_id!(
    /// A Kubernetes extended resource such as `nvidia.com/gpu` or `nvidia.com/mig-1g.10gb`.
    ResourceName,
    "resource name"
);

text_id!(
    /// A MIG profile as the driver names it, `3g.40gb`.
    MigProfileName,
    "MIG profile name"
);

/// The position of a GPU in the driver's list. It may change at reboot: keys use the uuid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GpuIndex(pub u16);

impl fmt::Display for GpuIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One pod. The uid is absent where the source does not tell it: the kubelet's pod-resources answer has none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PodRef {
    pub namespace: Namespace,
    pub name: PodName,
    pub uid: Option<PodUid>,
}

impl fmt::Display for PodRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
