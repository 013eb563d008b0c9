//! The units of families: foreign vocabularies want percent, MiB and MHz where readings are shares, bytes and hertz.

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
    /// Joules to whole µJ.
    Microjoules,
    /// Volts to whole mV.
    Millivolts,
    /// Bytes to whole units of 2^10.
    Kibibytes,
    /// Bytes or transfers a second to units of 10^9, to a tenth.
    Billions,
    /// Bytes a second to Mb/s of 10^6 bits.
    Megabits,
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
    pub(in crate::page) fn apply(self, value: f64) -> f64 {
        const MEBIBYTE: f64 = 1_048_576.0;
        match self {
            Self::Base => value,
            Self::Thousandths => (value * 1e3).round() / 1e3,
            Self::Millionths => (value * 1e6).round() / 1e6,
            Self::Percent => (value * 1e4).round() / 1e2,
            Self::Mebibytes => (value / MEBIBYTE).floor(),
            Self::Kilobytes => (value / 1e3).round(),
            Self::Megahertz | Self::Megabytes => (value / 1e6).round(),
            Self::Millijoules | Self::Millivolts => (value * 1e3).round(),
            Self::Microjoules => (value * 1e6).round(),
            Self::Kibibytes => (value / 1024.0).floor(),
            Self::Billions => (value / 1e8).round() / 10.0,
            Self::Megabits => (value * 8.0 / 1e6).round(),
            Self::Nanoseconds => (value * 1e9).round(),
            Self::Whole => value.round(),
        }
    }
}
