//! Whether a machine has graphics or compute hardware of a vendor at all, driver or not. It tells a driver that is missing from
//! one that nobody needs.

use std::path::Path;

/// The vendors' numbers on the bus.
pub(super) const AMD: &str = "0x1002";
pub(super) const NVIDIA: &str = "0x10de";

/// More than any machine has; the walk ends there.
const MOST_DEVICES: usize = 8192;

/// Display controllers and processing accelerators, by the first digits of the class.
const CLASSES: [&str; 2] = ["0x03", "0x12"];

/// Whether the bus has such a device of the vendor.
pub(super) fn has_display(sysfs: &Path, vendor: &str) -> bool {
    let Ok(devices) = std::fs::read_dir(sysfs.join("bus/pci/devices")) else {
        return false;
    };
    devices.take(MOST_DEVICES).flatten().any(|device| {
        let says = |name: &str| std::fs::read_to_string(device.path().join(name)).unwrap_or_default();
        says("vendor").trim().eq_ignore_ascii_case(vendor)
            && CLASSES.iter().any(|class| says("class").starts_with(class))
    })
}

#[cfg(test)]
mod tests {
    //! Only what computes or draws counts.

    use super::{AMD, NVIDIA, has_display};

    #[test]
    fn hardware_is_found_by_vendor_and_class() {
        let root = tempfile::tempdir().unwrap();
        let device = |address: &str, vendor: &str, class: &str| {
            let path = root.path().join("bus/pci/devices").join(address);
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join("vendor"), format!("{vendor}\n")).unwrap();
            std::fs::write(path.join("class"), format!("{class}\n")).unwrap();
        };
        assert!(!has_display(root.path(), AMD));
        device("0000:01:00.0", "0x10de", "0x030200");
        device("0000:02:00.0", "0x1002", "0x060400");
        assert!(has_display(root.path(), NVIDIA));
        assert!(!has_display(root.path(), AMD), "a bridge is no GPU");
        device("0000:03:00.0", "0x1002", "0x120000");
        assert!(has_display(root.path(), AMD));
    }
}
