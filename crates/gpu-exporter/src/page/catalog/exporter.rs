//! What the exporter says of itself, whatever the vocabularies: these families are always on the page.

use gpu_exposition::{FamilyMeta, MetricKind};

/// The names of sources that are drivers; the others only help (the kubelet, the kernel log).
pub const DRIVER_SOURCES: &[&str] = &["nvml", "nvidia_smi", AMD_SOURCE, "rocm_smi", "amd_smi", "sim"];

/// The name of the source that reads AMD's driver.
pub(crate) const AMD_SOURCE: &str = "amdgpu";

const fn family(name: &'static str, help: &'static str, kind: MetricKind) -> FamilyMeta<'static> {
    FamilyMeta::new(name, help, kind)
}

use MetricKind::{Counter, Gauge, Info};

pub(in crate::page) const BUILD_INFO: FamilyMeta<'_> =
    family("gpu_exporter_build_info", "The running program.", Info);
pub(in crate::page) const DCGM_UP: FamilyMeta<'_> = family(
    "dcgm_up",
    "Whether the driver answers: 1 if it does, 0 if not.",
    Gauge,
);
pub(in crate::page) const SOURCE_UP: FamilyMeta<'_> = family(
    "gpu_exporter_source_up",
    "Whether the last attempt to read a source succeeded.",
    Gauge,
);
pub(in crate::page) const SOURCE_AGE: FamilyMeta<'_> = family(
    "gpu_exporter_source_age_seconds",
    "Time since a source was last read with success.",
    Gauge,
)
.with_unit("seconds");
pub(in crate::page) const SOURCE_DURATION: FamilyMeta<'_> = family(
    "gpu_exporter_source_duration_seconds",
    "Time the last reading of a source took.",
    Gauge,
)
.with_unit("seconds");
pub(in crate::page) const SOURCE_ERRORS: FamilyMeta<'_> = family(
    "gpu_exporter_source_errors_total",
    "Failed readings of a source, by class.",
    Counter,
);
pub(in crate::page) const DEVICE_ERRORS: FamilyMeta<'_> = family(
    "gpu_exporter_device_errors_total",
    "Failed readings of a GPU, by class.",
    Counter,
);
pub(in crate::page) const SLOW_AGE: FamilyMeta<'_> = family(
    "gpu_exporter_slow_sample_age_seconds",
    "Time since the values of a GPU that are read seldom were last read: limits, links, errors, bus.",
    Gauge,
)
.with_unit("seconds");
pub(in crate::page) const REJECTED: FamilyMeta<'_> = family(
    "gpu_exporter_rejected_values_total",
    "Values of a GPU that could not be true and were refused.",
    Counter,
);
pub(in crate::page) const RESTRICTED: FamilyMeta<'_> = family(
    "gpu_exporter_value_restricted",
    "Values that are withheld because other readings contradict them, by reason.",
    Gauge,
);
pub(in crate::page) const COUNTERS_SKIPPED: FamilyMeta<'_> = family(
    "gpu_exporter_counters_skipped",
    "Entries of the counters file that this exporter cannot give.",
    Gauge,
);
pub(in crate::page) const NODE_LABELS: FamilyMeta<'_> = family(
    "gpu_node_labels",
    "The node's labels that the settings name, where the API server is asked for them.",
    Gauge,
);
pub(in crate::page) const LABELS_LEFT_OUT: FamilyMeta<'_> = family(
    "gpu_exporter_labels_left_out",
    "Names of labels from the API server that cannot be shown: taken, too long, or too many.",
    Gauge,
);
pub(in crate::page) const JOB_INFO: FamilyMeta<'_> = family(
    "gpu_job_info",
    "The jobs of a batch system that were given the GPU or a slice of it, from the files of its prolog.",
    Info,
);
pub(in crate::page) const WORKFLOW_INFO: FamilyMeta<'_> = family(
    "gpu_pod_workflow_info",
    "The pod beside which the exporter runs, and the workflow that it is a step of.",
    Info,
);
pub(in crate::page) const APPLICATION_UP: FamilyMeta<'_> = family(
    "gpu_exporter_application_up",
    "Whether the pages of an application could all be taken when they were last looked at.",
    Gauge,
);
pub(in crate::page) const APPLICATION_AGE: FamilyMeta<'_> = family(
    "gpu_exporter_application_age_seconds",
    "Time since the oldest page of an application was written or scraped.",
    Gauge,
)
.with_unit("seconds");
pub(in crate::page) const APPLICATION_DROPPED: FamilyMeta<'_> = family(
    "gpu_exporter_application_series_dropped",
    "Series of applications that are left out, by reason.",
    Gauge,
);
pub(in crate::page) const APPLICATION_INFO: FamilyMeta<'_> = family(
    "gpu_application_info",
    "The GPUs of each pod whose application metrics are shown, to join with them.",
    Info,
);
pub(in crate::page) const PAGE_SERIES: FamilyMeta<'_> =
    family("gpu_exporter_page_series", "Series on this page.", Gauge);
pub(in crate::page) const FAMILIES_DROPPED: FamilyMeta<'_> = family(
    "gpu_exporter_families_dropped",
    "Families left out of this page because it would exceed the series limit.",
    Gauge,
);
pub(in crate::page) const SERIES_DROPPED: FamilyMeta<'_> = family(
    "gpu_exporter_series_dropped_total",
    "Series left out of the pages made so far because of the series limit.",
    Counter,
);

/// All of them, in the order of the page.
pub const SELF: &[FamilyMeta<'static>] = &[
    BUILD_INFO,
    DCGM_UP,
    SOURCE_UP,
    SOURCE_AGE,
    SOURCE_DURATION,
    SOURCE_ERRORS,
    DEVICE_ERRORS,
    SLOW_AGE,
    REJECTED,
    RESTRICTED,
    COUNTERS_SKIPPED,
    NODE_LABELS,
    LABELS_LEFT_OUT,
    JOB_INFO,
    WORKFLOW_INFO,
    APPLICATION_UP,
    APPLICATION_AGE,
    APPLICATION_DROPPED,
    APPLICATION_INFO,
    PAGE_SERIES,
    FAMILIES_DROPPED,
    SERIES_DROPPED,
];
