//! Which prices are asked for: those of the fleet, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use gpu_cost::Machine;
use gpu_model::Cloud;
use serde::{Deserialize, Serialize};

/// Machine types by cloud and region.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    places: BTreeMap<Cloud, BTreeMap<String, BTreeSet<String>>>,
}

/// The clouds have some hundred types of GPU machines in some dozen regions; more than this is a mistake or an attack.
const MOST: usize = 20_000;
/// The largest cloud has some seventy. Each costs a download, so labels of nodes must not make up any number of them.
const MOST_REGIONS: usize = 150;
/// The longest name of a machine type that any cloud has is half of this.
const LONGEST: usize = 64;

impl Wanted {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// What a fleet consists of. Machines without a type or a region, and own ones, have no list to be looked up in.
    pub fn of<'a>(machines: impl IntoIterator<Item = &'a Machine>) -> Self {
        let mut wanted = Self::default();
        for machine in machines {
            if let (Some(region), Some(name)) = (&machine.region, &machine.instance_type) {
                wanted.add(machine.cloud, region, name);
            }
        }
        wanted
    }

    /// Asks for a type in a region. Names that no cloud would give are left out: they come from labels of nodes, and they go
    /// into addresses.
    pub fn add(&mut self, cloud: Cloud, region: &str, instance_type: &str) {
        let is_region = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-';
        let is_type = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'.' | b'_');
        let proper =
            |text: &str, is: fn(u8) -> bool| (1..=LONGEST).contains(&text.len()) && text.bytes().all(is);
        let known = cloud != Cloud::OnPremises;
        if known && self.len() < MOST && proper(region, is_region) && proper(instance_type, is_type) {
            let regions = self.places.entry(cloud).or_default();
            if regions.len() >= MOST_REGIONS && !regions.contains_key(region) {
                return;
            }
            regions
                .entry(region.to_owned())
                .or_default()
                .insert(instance_type.to_owned());
        }
    }

    /// How many prices are asked for.
    pub fn len(&self) -> usize {
        self.places.values().flatten().map(|(_, types)| types.len()).sum()
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The regions of a cloud with the types that are wanted there.
    pub fn regions(&self, cloud: Cloud) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        let regions = self.places.get(&cloud).into_iter().flatten();
        regions.map(|(region, types)| (region.as_str(), types))
    }

    /// Whether the price of a type in a region is wanted.
    pub fn has(&self, cloud: Cloud, region: &str, instance_type: &str) -> bool {
        self.places
            .get(&cloud)
            .and_then(|regions| regions.get(region))
            .is_some_and(|types| types.contains(instance_type))
    }

    /// Whether everything that `other` asks for is asked for here.
    pub fn covers(&self, other: &Self) -> bool {
        other.places.iter().all(|(cloud, regions)| {
            let mut asked = regions
                .iter()
                .flat_map(|(region, types)| types.iter().map(move |name| (region, name)));
            asked.all(|(region, name)| self.has(*cloud, region, name))
        })
    }

    /// The part of one cloud, and of one of its regions if that is named.
    #[must_use]
    pub fn part(&self, cloud: Cloud, region: Option<&str>) -> Self {
        let mut part = Self::default();
        for (name, types) in self.regions(cloud) {
            if region.is_none_or(|region| region == name) {
                let regions: &mut BTreeMap<_, _> = part.places.entry(cloud).or_default();
                regions.insert(name.to_owned(), types.clone());
            }
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_cloud_would_give_are_left_out() {
        let mut wanted = Wanted::new();
        let long = "x".repeat(65);
        for (region, name) in [
            ("", "p5.48xlarge"),
            ("us-east-1.evil.example/", "p5.48xlarge"),
            ("us-east-1", ""),
            ("us-east-1", "p5' or 1 eq 1"),
            ("us-east-1", &long),
        ] {
            wanted.add(Cloud::Aws, region, name);
        }
        wanted.add(Cloud::OnPremises, "cellar", "dgx");
        assert!(wanted.is_empty());
        wanted.add(Cloud::Azure, "eastus", "Standard_ND96isr_H100_v5");
        wanted.add(Cloud::Aws, "us-east-1", "p5.48xlarge");
        assert_eq!(wanted.len(), 2);
        assert_eq!(wanted.part(Cloud::Aws, Some("us-east-1")).len(), 1);
        assert!(wanted.part(Cloud::Aws, Some("us-west-2")).is_empty());
        assert!(wanted.has(Cloud::Azure, "eastus", "Standard_ND96isr_H100_v5"));
        for number in 0..1000 {
            wanted.add(Cloud::Aws, &format!("region-{number}"), "p5.48xlarge");
        }
        assert_eq!(wanted.regions(Cloud::Aws).count(), 150);
    }
}
