//! Addresses on the PCI bus, and the files `uevent` that name them.

use std::fmt;
use std::str::FromStr;

use super::lines;

/// `domain:bus:device.function`, in hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PciAddress {
    pub domain: u32,
    pub bus: u8,
    pub device: u8,
    pub function: u8,
}

/// The text is not an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an address on the PCI bus: it has the form 0000:3b:00.0")]
pub struct NotAnAddress;

impl FromStr for PciAddress {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        let part = |digits: &str, most: usize| {
            let plain =
                (1..=most).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !plain {
                return Err(NotAnAddress);
            }
            u32::from_str_radix(digits, 16).map_err(|_| NotAnAddress)
        };
        let (domain, rest) = text.trim().split_once(':').ok_or(NotAnAddress)?;
        let (bus, rest) = rest.split_once(':').ok_or(NotAnAddress)?;
        let (device, function) = rest.split_once('.').ok_or(NotAnAddress)?;
        let small = |digits: &str, most: usize, below: u8| {
            u8::try_from(part(digits, most)?)
                .ok()
                .filter(|number| *number < below)
                .ok_or(NotAnAddress)
        };
        Ok(Self {
            domain: part(domain, 8)?,
            bus: u8::try_from(part(bus, 2)?).map_err(|_| NotAnAddress)?,
            device: small(device, 2, 32)?,
            function: small(function, 1, 8)?,
        })
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            domain,
            bus,
            device,
            function,
        } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
    }
}

/// The value behind `KEY=` in a file `uevent`, such as that of `DRIVER` or `PCI_SLOT_NAME`.
pub fn uevent<'text>(text: &'text str, key: &str) -> Option<&'text str> {
    lines(text).find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
}
