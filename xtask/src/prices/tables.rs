//! The two tables in memory: rows by place, so that a newer list replaces what it speaks of and leaves the rest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use gpu_cost::formats::PricePoint;
use gpu_cost::prices::{
    MachineType, PriceTable, TableRow, parse_machine_types, parse_table, write_machine_types, write_table,
};
use gpu_model::{CapacityType, Cloud, NanoUsd};
use jiff::civil::Date;

const NOTES: &[&str] = &[
    "Prices of machines with GPUs: US dollars an hour of the whole machine, Linux, without tax.",
    "Made by `cargo xtask prices`; edit the lists it reads, not this file.",
    "A price without a zone holds in every zone of its region. AWS zones are zone ids.",
    "origin catalog: figures of github.com/skypilot-org/skypilot-catalog at f2624ac, which reads the clouds' own lists.",
    "origin aws-offer, aws-spot, gcp-skus, azure-retail: the clouds' own lists, read directly.",
];

pub(super) fn prices_path(root: &Path) -> PathBuf {
    root.join("crates/gpu-cost/data/prices.csv")
}

pub(super) fn types_path(root: &Path) -> PathBuf {
    root.join("crates/gpu-cost/data/machine-types.csv")
}

/// Type, region and way of paying: the zones below it are put together once all are known.
type Group = (Cloud, String, String, CapacityType);

pub(super) struct Tables {
    pub(super) types: BTreeMap<(Cloud, String), MachineType>,
    groups: BTreeMap<Group, BTreeMap<Option<String>, Figure>>,
}

struct Figure {
    rate: NanoUsd,
    as_of: Date,
    origin: String,
}

impl Tables {
    #[cfg(test)]
    pub(super) fn empty() -> Self {
        Self {
            types: BTreeMap::new(),
            groups: BTreeMap::new(),
        }
    }

    pub(super) fn read(root: &Path) -> Result<Self> {
        let read = |path: PathBuf| {
            std::fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))
        };
        let types =
            parse_machine_types(&read(types_path(root))?).context("the table of machine types is broken")?;
        let prices = parse_table(&read(prices_path(root))?).context("the table of prices is broken")?;
        let mut tables = Self {
            types: types
                .into_iter()
                .map(|known| ((known.cloud, known.name.clone()), known))
                .collect(),
            groups: BTreeMap::new(),
        };
        for row in prices.rows {
            let group = (row.cloud, row.instance_type, row.region, row.capacity);
            let figure = Figure {
                rate: row.rate,
                as_of: row.as_of,
                origin: row.origin,
            };
            tables.groups.entry(group).or_default().insert(row.zone, figure);
        }
        Ok(tables)
    }

    pub(super) fn knows(&self, cloud: Cloud, name: &str) -> bool {
        self.types.contains_key(&(cloud, name.to_owned()))
    }

    /// Takes over the prices of one list. What the list speaks of is replaced as a whole: a zone that it no longer has is
    /// gone.
    pub(super) fn take(&mut self, points: Vec<PricePoint>, as_of: Date, origin: &str) {
        let mut fresh: BTreeMap<Group, BTreeMap<Option<String>, Figure>> = BTreeMap::new();
        // Sorted by time within a place: the youngest comes last and stays.
        for point in points {
            let group = (point.cloud, point.instance_type, point.region, point.capacity);
            let figure = Figure {
                rate: point.rate,
                as_of,
                origin: origin.to_owned(),
            };
            fresh.entry(group).or_default().insert(point.zone, figure);
        }
        self.groups.extend(fresh);
    }

    fn table(&self) -> PriceTable {
        let mut rows = Vec::new();
        for ((cloud, instance_type, region, capacity), zones) in &self.groups {
            let row = |zone: Option<&String>, figure: &Figure| TableRow {
                cloud: *cloud,
                instance_type: instance_type.clone(),
                region: region.clone(),
                zone: zone.cloned(),
                capacity: *capacity,
                rate: figure.rate,
                as_of: figure.as_of,
                origin: figure.origin.clone(),
            };
            let Some(first) = zones.values().next() else {
                continue;
            };
            if zones.values().all(|figure| figure.rate == first.rate) {
                rows.push(row(None, first));
            } else {
                rows.extend(zones.iter().map(|(zone, figure)| row(zone.as_ref(), figure)));
            }
        }
        rows.sort();
        PriceTable {
            notes: NOTES.iter().map(|note| (*note).to_owned()).collect(),
            rows,
        }
    }

    /// The text of the prices and of the machine types.
    pub(super) fn text(&self) -> Result<(String, String)> {
        let mut prices = String::new();
        write_table(&mut prices, &self.table())?;
        let types: Vec<MachineType> = self.types.values().cloned().collect();
        let mut machines = String::new();
        write_machine_types(&mut machines, &types)?;
        Ok((prices, machines))
    }

    pub(super) fn write(&self, root: &Path) -> Result<()> {
        let (prices, types) = self.text()?;
        std::fs::write(prices_path(root), prices)?;
        std::fs::write(types_path(root), types)?;
        Ok(())
    }
}
