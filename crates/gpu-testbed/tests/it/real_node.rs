//! One real node: pods are real containers, devices come from the kubelet, Services lead to pods.

mod attribution;
mod chart;
mod ending;
mod exporter;
mod exporter_chart;
mod exporter_release;
mod exporter_worker;
mod pods;
mod service;
mod sidecar;
