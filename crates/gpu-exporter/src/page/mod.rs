//! The metrics page: what is on it, how it is written, and the copies that are kept of it. Everything is made from a
//! snapshot; nothing here touches a driver, the kubelet or the network.

mod amd_config;
mod api_labels;
mod applications;
mod cache;
mod catalog;
mod counters;
mod gzip;
mod index;
mod labeller;
mod labels;
mod measure;
mod plan;
mod render;
mod rows;
mod settings;
mod sink;
mod workloads;
mod xid;

pub use amd_config::{AmdConfig, AmdConfigError, AmdLabel, HealthThresholds};
pub use cache::{Encoding, Page, PageCache, PageRequest};
pub use catalog::{
    ClockBound, DRIVER_SOURCES, Direction, ErrorKind, FamilySpec, LinkError, Measure, Ownership, SELF, Scale,
    Shares, Sum, Supply, Tier, Vocabulary,
};
pub use counters::{
    Counter, CountersError, CountersFile, CountersProblem, IdentityLabel, SkipReason, Skipped,
};
pub use index::index_page;
pub use render::page_text;
pub use settings::{
    Companions, DcgmStyle, FamilyChoice, HostnameLabel, LabelChoice, LabelNames, ModelName, PageSettings,
    PodUidLabel, SeriesCap, SettingsError, StaticLabels, Subset, parse_vocabularies,
};
