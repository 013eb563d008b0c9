//! Which GPUs a machine type has, and how much beside them. Clouds do not say it in their price lists in one way.

use std::fmt;
use std::sync::LazyLock;

use gpu_model::{Bytes, Cloud};

use super::TableError;
use super::bundled::parse_cloud;
use crate::Machine;

const TABLE: &str = include_str!("../../data/machine-types.csv");
const HEADER: &str = "cloud,instance_type,gpu,gpu_thousandths,gpu_memory_mib,vcpus,memory_mib";

/// A machine type with accelerators.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MachineType {
    pub cloud: Cloud,
    pub name: String,
    /// A short name of the model: `H100`, `A100-80GB`.
    pub gpu: String,
    /// GPUs in thousandths: 8,000 for eight, 125 for an eighth of one.
    pub gpu_thousandths: u32,
    /// Memory of one GPU, where it is published.
    pub gpu_memory_mib: Option<u32>,
    pub vcpus: u32,
    pub memory_mib: u32,
}

impl MachineType {
    /// How many devices a driver shows: a part of a GPU is one.
    pub fn devices(&self) -> u16 {
        u16::try_from(self.gpu_thousandths.div_ceil(1000)).unwrap_or(u16::MAX)
    }
}

static BUNDLED: LazyLock<Vec<MachineType>> =
    LazyLock::new(|| parse_machine_types(TABLE).expect("a test reads the bundled table of machine types"));

/// All machine types we know, ordered by cloud and name.
pub fn bundled_machine_types() -> &'static [MachineType] {
    &BUNDLED
}

pub fn find_machine_type(cloud: Cloud, name: &str) -> Option<&'static MachineType> {
    let types = bundled_machine_types();
    let place = types
        .binary_search_by(|known| (known.cloud, known.name.as_str()).cmp(&(cloud, name)))
        .ok()?;
    types.get(place)
}

impl Machine {
    /// Fills in what the machine's type says and nothing else told: GPUs that are paid for, processors, memory.
    pub fn complete_from_type(&mut self) {
        let known = self
            .instance_type
            .as_deref()
            .and_then(|name| find_machine_type(self.cloud, name));
        let Some(known) = known else { return };
        self.gpus = self.gpus.or(Some(known.devices()));
        self.vcpus = self.vcpus.or(Some(known.vcpus));
        let memory = Bytes::from_mib(u64::from(known.memory_mib));
        self.memory = self.memory.or(Some(memory));
    }
}

/// Reads the text of a table and insists on its order.
pub fn parse_machine_types(text: &str) -> Result<Vec<MachineType>, TableError> {
    let mut lines = (1..).zip(text.lines());
    if lines.next().is_none_or(|(_, line)| line != HEADER) {
        return Err(TableError::Header {
            line: 1,
            expected: HEADER,
        });
    }
    let mut types: Vec<MachineType> = Vec::new();
    for (number, line) in lines {
        let known = parse_row(number, line)?;
        let sorted = types
            .last()
            .is_none_or(|before| (before.cloud, &before.name) < (known.cloud, &known.name));
        if !sorted {
            return Err(TableError::Order { line: number });
        }
        types.push(known);
    }
    Ok(types)
}

fn parse_row(number: usize, line: &str) -> Result<MachineType, TableError> {
    let fields: Vec<&str> = line.split(',').collect();
    let field = |place: usize, name: &'static str| {
        let text = fields.get(place).copied().unwrap_or_default();
        let wrong = TableError::Field {
            line: number,
            field: name,
            text: text.chars().take(80).collect(),
        };
        (text, wrong)
    };
    let count = |place: usize, name: &'static str| {
        let (text, wrong) = field(place, name);
        text.parse::<u32>().ok().filter(|count| *count > 0).ok_or(wrong)
    };
    let filled = |place: usize, name: &'static str| {
        let (text, wrong) = field(place, name);
        if text.is_empty() {
            Err(wrong)
        } else {
            Ok(text.to_owned())
        }
    };
    let (cloud, wrong) = field(0, "cloud");
    let cloud = parse_cloud(cloud).ok_or(wrong)?;
    let memory = field(4, "GPU memory").0;
    Ok(MachineType {
        cloud,
        name: filled(1, "instance type")?,
        gpu: filled(2, "GPU")?,
        gpu_thousandths: count(3, "number of GPUs")?,
        gpu_memory_mib: if memory.is_empty() {
            None
        } else {
            Some(count(4, "GPU memory")?)
        },
        vcpus: count(5, "number of processors")?,
        memory_mib: count(6, "memory")?,
    })
}

/// Writes the text of a table. Reading it gives the types again.
pub fn write_machine_types(out: &mut impl fmt::Write, types: &[MachineType]) -> fmt::Result {
    writeln!(out, "{HEADER}")?;
    for known in types {
        let memory = known
            .gpu_memory_mib
            .map(|mib| mib.to_string())
            .unwrap_or_default();
        writeln!(
            out,
            "{},{},{},{},{memory},{},{}",
            known.cloud.as_str(),
            known.name,
            known.gpu,
            known.gpu_thousandths,
            known.vcpus,
            known.memory_mib
        )?;
    }
    Ok(())
}
