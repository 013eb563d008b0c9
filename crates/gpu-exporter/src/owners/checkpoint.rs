//! The kubelet's own record of who holds which device. It has what the pod-resources answer lacks: the pod's uid. Only
//! names and ids are read from it; what the device plugins told the kubelet for the containers is passed over.

use std::collections::BTreeMap;

use gpu_model::PodUid;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// A node has at most a few hundred pods with devices; what goes beyond is not read.
const MOST_ENTRIES: usize = 16_384;

/// Pod uids by the devices that their containers hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// By resource, device id and container. A pod that has ended may stand beside the one that holds the device now.
    holders: BTreeMap<(String, String, String), Vec<PodUid>>,
}

impl Checkpoint {
    /// Reads the text of the file.
    pub fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        let file: File = serde_json::from_slice(text)?;
        let mut checkpoint = Self::default();
        let entries = file.data.and_then(|data| data.pod_device_entries);
        for entry in entries.unwrap_or_default().into_iter().take(MOST_ENTRIES) {
            let Ok(uid) = PodUid::new(&entry.pod_uid) else {
                continue;
            };
            for id in entry.device_ids.into_ids() {
                let key = (entry.resource_name.clone(), id, entry.container_name.clone());
                let uids = checkpoint.holders.entry(key).or_default();
                if !uids.contains(&uid) {
                    uids.push(uid.clone());
                }
            }
        }
        Ok(checkpoint)
    }

    /// The pods in which a container of this name holds the device.
    pub fn pods(&self, resource: &str, id: &str, container: &str) -> &[PodUid] {
        let key = (resource.to_owned(), id.to_owned(), container.to_owned());
        self.holders.get(&key).map_or(&[], Vec::as_slice)
    }
}

#[derive(Deserialize)]
struct File {
    #[serde(rename = "Data")]
    data: Option<Data>,
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "PodDeviceEntries")]
    pod_device_entries: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    #[serde(rename = "PodUID")]
    pod_uid: String,
    container_name: String,
    resource_name: String,
    #[serde(rename = "DeviceIDs")]
    device_ids: DeviceIds,
}

/// By NUMA node since Kubernetes 1.20, a plain list before.
#[derive(Deserialize)]
#[serde(untagged)]
enum DeviceIds {
    ByNode(BTreeMap<String, Option<Vec<String>>>),
    List(Vec<String>),
    Other(IgnoredAny),
}

impl DeviceIds {
    fn into_ids(self) -> Vec<String> {
        match self {
            Self::ByNode(nodes) => nodes.into_values().flatten().flatten().collect(),
            Self::List(ids) => ids,
            Self::Other(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
