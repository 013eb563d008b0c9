//! Every family of every vocabulary, once: name, help, kind, unit, labels, tier and where its series come from. A page
//! holds nothing that is not listed here. No value is computed here.

mod dcgm;
mod dcgm_health;
mod dcgm_named;
mod exporter;
mod gpu;
mod gpu_named;
mod nvidia_smi;

pub(super) use exporter::{
    APPLICATION_AGE, APPLICATION_DROPPED, APPLICATION_INFO, APPLICATION_UP, BUILD_INFO, COUNTERS_SKIPPED,
    DCGM_UP, DEVICE_ERRORS, FAMILIES_DROPPED, JOB_INFO, LABELS_LEFT_OUT, NODE_LABELS, PAGE_SERIES, REJECTED,
    RESTRICTED, SERIES_DROPPED, SLOW_AGE, SOURCE_AGE, SOURCE_DURATION, SOURCE_ERRORS, SOURCE_UP,
    WORKFLOW_INFO,
};
pub use exporter::{DRIVER_SOURCES, SELF};

use gpu_exposition::{FamilyMeta, MetricKind};

use crate::readings::{Field, ThrottleReason};

/// A set of names for the same readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vocabulary {
    /// Ours: vendor-neutral, base units.
    Gpu,
    /// That of dcgm-exporter.
    Dcgm,
    /// The five names of `nvidia-smi` wrappers.
    NvidiaSmi,
}

impl Vocabulary {
    pub const ALL: [Self; 3] = [Self::Gpu, Self::Dcgm, Self::NvidiaSmi];

    /// The word of the `--vocabulary` setting.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Dcgm => "dcgm",
            Self::NvidiaSmi => "nvidia_smi",
        }
    }

    /// The families, in the order of the page: the default ones first.
    pub fn families(self) -> impl Iterator<Item = &'static FamilySpec> {
        let parts: [&[FamilySpec]; 3] = match self {
            Self::Gpu => [gpu::DEFAULT, gpu_named::NAMED, &[]],
            Self::Dcgm => [dcgm::DEFAULT, dcgm_named::NAMED, dcgm_health::NAMED],
            Self::NvidiaSmi => [nvidia_smi::DEFAULT, &[], &[]],
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
    /// The second name of the same field: the one DCGM has given it since 4.6.
    pub alias: Option<&'static str>,
    pub tier: Tier,
    /// The label that tells the series of one device apart, if there are several.
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

/// From the base unit of a reading to the unit of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// As it was read.
    Base,
    /// To thousandths: what the exporter summed up itself has no digits worth more.
    Thousandths,
    /// To millionths: a quotient of two readings.
    Millionths,
    /// A share to percent.
    Percent,
    /// Bytes to whole units of 2^20, cut as DCGM does.
    Mebibytes,
    /// Hertz to whole MHz.
    Megahertz,
    /// Joules to whole mJ.
    Millijoules,
    /// Seconds to whole ns.
    Nanoseconds,
    /// Bytes a second to whole KB/s of 10^3 bytes.
    Kilobytes,
    /// Bytes a second to whole MB/s of 10^6 bytes.
    Megabytes,
    /// To a whole number.
    Whole,
}

impl Scale {
    pub(super) fn apply(self, value: f64) -> f64 {
        const MEBIBYTE: f64 = 1_048_576.0;
        match self {
            Self::Base => value,
            Self::Thousandths => (value * 1e3).round() / 1e3,
            Self::Millionths => (value * 1e6).round() / 1e6,
            Self::Percent => (value * 1e4).round() / 1e2,
            Self::Mebibytes => (value / MEBIBYTE).floor(),
            Self::Kilobytes => (value / 1e3).round(),
            Self::Megahertz | Self::Megabytes => (value / 1e6).round(),
            Self::Millijoules => (value * 1e3).round(),
            Self::Nanoseconds => (value * 1e9).round(),
            Self::Whole => value.round(),
        }
    }
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

const fn field(field: Field) -> Supply {
    Supply::One(Measure::Field(field))
}

#[cfg(test)]
mod tests;
