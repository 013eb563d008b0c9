//! The labels of a sample that mean something to us, picked in one pass over it.

use std::borrow::Cow;

type Label<'a> = Option<Cow<'a, str>>;

/// The labels of one sample, under one name whatever their exporter calls them. An empty label is none, as in Prometheus.
#[derive(Debug, Default)]
pub(crate) struct Picked<'a> {
    pub(super) uuid: Label<'a>,
    pub(super) index: Label<'a>,
    pub(super) vendor: Label<'a>,
    pub(super) model: Label<'a>,
    /// AMD's name of the product, which its `card_model` is not.
    pub(super) series: Label<'a>,
    pub(super) driver: Label<'a>,
    pub(super) pci: Label<'a>,
    pub(super) serial: Label<'a>,
    pub(super) node: Label<'a>,
    pub(super) exported_node: Label<'a>,
    pub(super) host: Label<'a>,
    pub(super) partition: Label<'a>,
    pub(super) partition_uuid: Label<'a>,
    pub(super) mig_profile: Label<'a>,
    pub(super) mig_gi: Label<'a>,
    pub(super) mig_ci: Label<'a>,
    pub(super) amd_mode: Label<'a>,
    pub(super) amd_partition: Label<'a>,
    pub(super) own: Holder<'a>,
    /// What Prometheus renamed because the target has labels of the same name; it wins.
    pub(super) exported: Holder<'a>,
    pub(super) is_virtual: bool,
    /// The page says of itself that its values are simulated.
    pub(super) is_simulated: bool,
    /// What tells the lines of one family apart: sensor, clock, reason, direction, code, kind of error.
    pub(super) detail: Label<'a>,
    pub(super) detail_index: Label<'a>,
}

/// Who holds what the sample is about.
#[derive(Debug, Default)]
pub(super) struct Holder<'a> {
    pub(super) namespace: Label<'a>,
    pub(super) pod: Label<'a>,
    pub(super) container: Label<'a>,
    pub(super) uid: Label<'a>,
}

impl<'a> Picked<'a> {
    pub(crate) fn set(&mut self, name: &str, value: Cow<'a, str>) {
        if value.is_empty() {
            return;
        }
        let place = match name {
            "uuid" | "UUID" | "gpu_uuid" => &mut self.uuid,
            "gpu" | "gpu_id" | "index" => &mut self.index,
            "vendor" => &mut self.vendor,
            "model" | "modelName" | "card_model" | "name" => &mut self.model,
            "card_series" => &mut self.series,
            "driver" | "DCGM_FI_DRIVER_VERSION" | "driver_version" => &mut self.driver,
            "pci_bus_id" => &mut self.pci,
            "serial" | "serial_number" => &mut self.serial,
            "node" => &mut self.node,
            "exported_node" => &mut self.exported_node,
            "Hostname" | "hostname" => &mut self.host,
            "partition" => &mut self.partition,
            "partition_uuid" => &mut self.partition_uuid,
            "GPU_I_PROFILE" => &mut self.mig_profile,
            "GPU_I_ID" => &mut self.mig_gi,
            "GPU_CI_ID" => &mut self.mig_ci,
            "gpu_compute_partition_type" => &mut self.amd_mode,
            "gpu_partition_id" => &mut self.amd_partition,
            "namespace" | "pod_namespace" => &mut self.own.namespace,
            "pod" | "pod_name" => &mut self.own.pod,
            "container" | "container_name" => &mut self.own.container,
            "pod_uid" | "pod_uuid" => &mut self.own.uid,
            "exported_namespace" => &mut self.exported.namespace,
            "exported_pod" => &mut self.exported.pod,
            "exported_container" => &mut self.exported.container,
            "vgpu" => {
                self.is_virtual = true;
                return;
            }
            "source" => {
                self.is_simulated |= value == "sim";
                return;
            }
            "sensor" | "clock" | "clock_type" | "reason" | "direction" | "code" | "xid" | "type" => {
                &mut self.detail
            }
            "clock_index" => &mut self.detail_index,
            _ => return,
        };
        *place = Some(value);
    }

    /// Who holds it, and whether Prometheus said so beside the target's own labels.
    pub(super) fn holder(&self) -> &Holder<'a> {
        if self.exported.pod.is_some() {
            &self.exported
        } else {
            &self.own
        }
    }

    pub(super) fn node(&self) -> Option<&str> {
        let named = self.exported_node.as_deref().or(self.node.as_deref());
        named.or(self.host.as_deref())
    }
}
