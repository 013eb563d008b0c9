//! The exporter's pages and answers as the outside sees them: golden files, properties over random nodes, allocations.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests read golden files, start programs, and end at the first surprise"
)]

mod allocations;
mod amd;
mod amd_nodes;
mod amd_pages;
mod amd_tree;
mod answers;
mod applications;
mod arbitrary;
mod auth;
mod cache;
mod end_to_end;
mod exporter;
mod fake_kubelet;
mod golden;
mod handler;
mod jobs;
mod kubelet;
mod lint;
mod names;
mod nodes;
mod nvidia;
mod owners;
mod pages;
mod pressure;
mod program;
mod properties;
mod reload;
mod sidecar;
mod summary;
mod systemd;
mod tls;
mod tool_output;
mod web;
