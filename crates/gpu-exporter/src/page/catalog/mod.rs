//! Every family of every vocabulary, once: name, help, kind, unit, labels, tier and where its series come from. A page
//! holds nothing that is not listed here. No value is computed here.

mod amd;
mod amd_errors;
mod amd_named;
mod dcgm;
mod dcgm_health;
mod dcgm_named;
mod exporter;
mod gpu;
mod gpu_named;
mod gpu_parts;
mod nvidia_smi;
mod scale;

pub(crate) use exporter::AMD_SOURCE;
pub(super) use exporter::{
    APPLICATION_AGE, APPLICATION_DROPPED, APPLICATION_INFO, APPLICATION_UP, BUILD_INFO, COUNTERS_SKIPPED,
    DCGM_UP, DEVICE_ERRORS, FAMILIES_DROPPED, JOB_INFO, LABELS_LEFT_OUT, NODE_LABELS, PAGE_SERIES, REJECTED,
    RESTRICTED, SERIES_DROPPED, SLOW_AGE, SOURCE_AGE, SOURCE_DURATION, SOURCE_ERRORS, SOURCE_UP,
    WORKFLOW_INFO,
};
pub use exporter::{DRIVER_SOURCES, SELF};
pub use scale::Scale;

use gpu_exposition::{FamilyMeta, MetricKind};

use crate::readings::{ErrorBlock, Field, PartField, ThrottleReason};

/// A set of names for the same readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vocabulary {
    /// Ours: vendor-neutral, base units.
    Gpu,
    /// That of dcgm-exporter.
    Dcgm,
    /// The five names of `nvidia-smi` wrappers.
    NvidiaSmi,
    /// That of AMD's device-metrics-exporter.
    Amd,
}

impl Vocabulary {
    pub const ALL: [Self; 4] = [Self::Gpu, Self::Dcgm, Self::NvidiaSmi, Self::Amd];

    /// The word of the `--vocabulary` setting.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Dcgm => "dcgm",
            Self::NvidiaSmi => "nvidia_smi",
            Self::Amd => "amd",
        }
    }

    /// The families, in the order of the page: the default ones first.
    pub fn families(self) -> impl Iterator<Item = &'static FamilySpec> {
        let parts: [&[FamilySpec]; 3] = match self {
            Self::Gpu => [gpu::DEFAULT, gpu_named::NAMED, gpu_parts::NAMED],
            Self::Dcgm => [dcgm::DEFAULT, dcgm_named::NAMED, dcgm_health::NAMED],
            Self::NvidiaSmi => [nvidia_smi::DEFAULT, &[], &[]],
            Self::Amd => [amd::DEFAULT, amd_named::NAMED, amd_errors::NAMED],
        };
        parts.into_iter().flatten()
    }
}

/// When a family is on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// By default, and on the short page of the control plane.
    Core,
    Default,
    /// Only when it is asked for by name.
    Named,
}

/// Whose a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// It describes the device, whoever holds it.
    Device,
    /// It is caused by who holds the device, and says who when that is one container.
    Holder,
    /// It was measured for one container and always says for which.
    Container,
}

/// Which measured shares of a value there are for the holders of a shared device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shares {
    None,
    Memory,
    Utilization,
}

/// One family.
#[derive(Debug)]
pub struct FamilySpec {
    pub meta: FamilyMeta<'static>,
    /// The second name of the same field: the one DCGM has given it since 4.6, or one that AMD has misspelt.
    pub alias: Option<&'static str>,
    pub tier: Tier,
    /// The labels that tell the series of one device apart, if there are several.
    pub labels: &'static [&'static str],
    pub ownership: Ownership,
    pub shares: Shares,
    pub scale: Scale,
    pub supply: Supply,
    /// Whether slices and what is outside of them add up to the device.
    pub sum: Sum,
}

/// How the values of a device's slices relate to that of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sum {
    /// They do not add up.
    Separate,
    /// They do, and the rest is shown, so that the rows of a device sum to the device.
    WithRest,
}

/// Where the series of a family come from.
#[derive(Debug, Clone, Copy)]
pub enum Supply {
    /// The same series on every device: the value of the label, and the number.
    Each(&'static [(&'static str, Measure)]),
    One(Measure),
    Info,
    Up,
    Age,
    LinkBytes,
    LinkErrors,
    LinkUp,
    LinkErrorSum(LinkError),
    Faults,
    LastFault,
    Processes,
    ContainerUtilization,
    ContainerMemory,
    UnattributedUtilization,
    UnattributedMemory,
    Topology,
    /// One series a part; before the number of the part stands the word for it, where the family has two labels.
    Parts(&'static [(&'static str, PartField)]),
    /// Errors of every block by kind.
    BlockErrors,
    /// Errors of one block.
    OneBlock(ErrorBlock, ErrorKind),
    /// Bytes of each link in one direction.
    LinkDirection(Direction),
    /// AMD's list of clocks.
    Clocks(ClockBound),
    /// Whether no block has more errors than allowed.
    Health,
    /// Compute units by process.
    Occupancy,
    /// How many GPUs or slices of GPUs the node has; once a page.
    NodeCount,
}

/// What became of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    Corrected,
    Deferred,
    Uncorrected,
}

impl ErrorKind {
    pub(super) const ALL: [Self; 3] = [Self::Corrected, Self::Deferred, Self::Uncorrected];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Corrected => "corrected",
            Self::Deferred => "deferred",
            Self::Uncorrected => "uncorrected",
        }
    }
}

/// Which way bytes go over a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Received,
    Sent,
}

/// Whether a clock is read as it is or as it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockBound {
    Now,
    Lowest,
    Highest,
}

/// The kinds of errors that links count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkError {
    Crc,
    Recovery,
    Replay,
}

impl LinkError {
    pub(super) const ALL: [Self; 3] = [Self::Crc, Self::Recovery, Self::Replay];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Crc => "crc",
            Self::Recovery => "recovery",
            Self::Replay => "replay",
        }
    }
}

/// One number of a device or slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    Field(Field),
    /// The first as a share of the second.
    Share(Field, Field),
    /// Both together.
    Both(Field, Field),
    /// What the second leaves of the first.
    Left(Field, Field),
    Busy,
    Energy,
    PcieSent,
    PcieReceived,
    /// The exporter's own sum of time.
    Throttle(ThrottleReason),
    /// The driver's own sum of time.
    DriverThrottle(ThrottleReason),
    /// Whether the reason holds now.
    Throttled(ThrottleReason),
}

impl FamilySpec {
    const fn new(tier: Tier, meta: FamilyMeta<'static>, supply: Supply) -> Self {
        Self {
            meta,
            alias: None,
            tier,
            labels: &[],
            ownership: Ownership::Device,
            shares: Shares::None,
            scale: Scale::Base,
            supply,
            sum: Sum::Separate,
        }
    }

    const fn unit(mut self, unit: &'static str) -> Self {
        self.meta = self.meta.with_unit(unit);
        self
    }

    const fn by(mut self, labels: &'static [&'static str]) -> Self {
        self.labels = labels;
        self
    }

    const fn owned(mut self, ownership: Ownership) -> Self {
        self.ownership = ownership;
        self
    }

    const fn shared(mut self, shares: Shares) -> Self {
        self.shares = shares;
        self
    }

    const fn scaled(mut self, scale: Scale) -> Self {
        self.scale = scale;
        self
    }

    const fn alias(mut self, alias: &'static str) -> Self {
        self.alias = Some(alias);
        self
    }

    const fn with_rest(mut self) -> Self {
        self.sum = Sum::WithRest;
        self
    }

    /// Whether the family goes by this name.
    pub fn is_called(&self, name: &str) -> bool {
        self.meta.name == name || self.alias == Some(name)
    }
}

const fn gauge(tier: Tier, name: &'static str, help: &'static str, supply: Supply) -> FamilySpec {
    FamilySpec::new(tier, FamilyMeta::new(name, help, MetricKind::Gauge), supply)
}

const fn counter(tier: Tier, name: &'static str, help: &'static str, supply: Supply) -> FamilySpec {
    FamilySpec::new(tier, FamilyMeta::new(name, help, MetricKind::Counter), supply)
}

const fn info(tier: Tier, name: &'static str, help: &'static str, supply: Supply) -> FamilySpec {
    FamilySpec::new(tier, FamilyMeta::new(name, help, MetricKind::Info), supply)
}

/// dcgm-exporter puts the owner on every family.
const fn dcgm_gauge(tier: Tier, name: &'static str, help: &'static str, supply: Supply) -> FamilySpec {
    gauge(tier, name, help, supply).owned(Ownership::Holder)
}

const fn dcgm_counter(tier: Tier, name: &'static str, help: &'static str, supply: Supply) -> FamilySpec {
    counter(tier, name, help, supply).owned(Ownership::Holder)
}

/// AMD's exporter has gauges alone, and puts the owner on every family.
const fn amd_gauge(tier: Tier, name: &'static str, help: &'static str, supply: Supply) -> FamilySpec {
    gauge(tier, name, help, supply).owned(Ownership::Holder)
}

const fn field(field: Field) -> Supply {
    Supply::One(Measure::Field(field))
}

#[cfg(test)]
mod tests;
