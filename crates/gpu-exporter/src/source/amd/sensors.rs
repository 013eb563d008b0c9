//! The sensors and limits of a board as the kernel's hardware monitoring shows them, found by their labels: their numbers
//! differ between boards.

use std::path::{Path, PathBuf};

use super::attribute::{Attribute, Trouble, read_text};

/// More inputs of one kind than any board has.
const MOST_INPUTS: u32 = 16;

/// What is read every second where the firmware's table does not have it.
pub(super) struct Sensors {
    pub(super) edge: Attribute,
    pub(super) hotspot: Attribute,
    pub(super) memory: Attribute,
    pub(super) power_average: Attribute,
    pub(super) power_now: Attribute,
    pub(super) graphics_clock: Attribute,
    pub(super) memory_clock: Attribute,
    pub(super) graphics_voltage: Attribute,
}

/// The names of the inputs of one board.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Inputs {
    directory: PathBuf,
    pub(super) edge: Option<String>,
    pub(super) hotspot: Option<String>,
    pub(super) memory: Option<String>,
    graphics_clock: Option<String>,
    memory_clock: Option<String>,
    graphics_voltage: Option<String>,
}

impl Inputs {
    pub(super) fn find(directory: Option<&Path>) -> Self {
        let Some(directory) = directory else {
            return Self::default();
        };
        let labelled = |kind: &str, label: &str| {
            (0..MOST_INPUTS)
                .map(|number| format!("{kind}{number}"))
                .find(|input| {
                    read_text(&directory.join(format!("{input}_label"))).is_some_and(|text| text == label)
                })
        };
        let is_there = |name: &str| directory.join(format!("{name}_input")).exists();
        // Drivers before labels had one sensor, at the edge of the chip.
        let unlabelled = || {
            let is_bare = is_there("temp1") && !directory.join("temp1_label").exists();
            is_bare.then(|| "temp1".to_owned())
        };
        Self {
            edge: labelled("temp", "edge").or_else(unlabelled),
            hotspot: labelled("temp", "junction").or_else(|| labelled("temp", "hotspot")),
            memory: labelled("temp", "mem"),
            graphics_clock: labelled("freq", "sclk"),
            memory_clock: labelled("freq", "mclk"),
            graphics_voltage: labelled("in", "vddgfx"),
            directory: directory.to_path_buf(),
        }
    }

    /// The file of an input, such as `temp2_crit`.
    pub(super) fn file(&self, input: Option<&str>, suffix: &str) -> Option<PathBuf> {
        Some(self.directory.join(format!("{}_{suffix}", input?)))
    }

    /// A file of the directory.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

impl Sensors {
    pub(super) fn open(inputs: &Inputs) -> Self {
        let input = |name: &Option<String>| match inputs.file(name.as_deref(), "input") {
            Some(path) => Attribute::open(&path),
            None => Attribute::absent(),
        };
        Self {
            edge: input(&inputs.edge),
            hotspot: input(&inputs.hotspot),
            memory: input(&inputs.memory),
            power_average: Attribute::open(&inputs.path("power1_average")),
            power_now: Attribute::open(&inputs.path("power1_input")),
            graphics_clock: input(&inputs.graphics_clock),
            memory_clock: input(&inputs.memory_clock),
            graphics_voltage: input(&inputs.graphics_voltage),
        }
    }
}

/// A number of the kernel's monitoring, so many of which are the base unit. Temperatures, powers and voltages of exactly 0 are what a sensor
/// shows that was not read yet.
pub(super) fn scaled(attribute: &mut Attribute, buffer: &mut [u8], unit: f64) -> Result<f64, Trouble> {
    let value = attribute.integer(buffer)?;
    match value {
        0 => Err(Trouble::Unsupported),
        value => Ok(value as f64 / unit),
    }
}

#[cfg(test)]
mod tests {
    //! Inputs are found by what they are called.

    use super::Inputs;

    #[test]
    fn inputs_are_found_by_label_whatever_their_number() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
        write("temp1_label", "junction\n");
        write("temp1_input", "50000\n");
        write("temp7_label", "mem\n");
        write("freq3_label", "mclk\n");
        let inputs = Inputs::find(Some(directory.path()));
        assert_eq!(inputs.edge, None);
        assert_eq!(inputs.hotspot.as_deref(), Some("temp1"));
        assert_eq!(inputs.memory.as_deref(), Some("temp7"));
        assert_eq!(inputs.memory_clock.as_deref(), Some("freq3"));
        assert_eq!(Inputs::find(None), Inputs::default());
    }

    #[test]
    fn a_single_sensor_without_a_label_is_that_of_the_edge() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("temp1_input"), "50000\n").unwrap();
        let inputs = Inputs::find(Some(directory.path()));
        assert_eq!(inputs.edge.as_deref(), Some("temp1"));
    }
}
