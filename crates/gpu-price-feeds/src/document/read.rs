//! Reads a document. It is taken as a whole or not at all, and every fault is named with its place.

use std::collections::BTreeSet;

use gpu_cost::prices::{
    Commitment, CommitmentKind, Discount, NodeSplit, Override, OverrideRate, PriceVersion, SheetRow, Tariff,
};
use gpu_cost::{CommitmentName, Moment, Span};
use gpu_model::NanoUsd;

use super::Document;
use super::field::Faults;
use super::shape::{CommitmentText, DiscountText, OverrideText, SheetText, SplitText, Text};

/// Why a document is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// It is longer than any that people write.
    #[error("the document has {bytes} bytes; at most {most} are read")]
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        most: usize,
    },
    /// It is no YAML, or has a field that does not exist.
    #[error("{0}")]
    Shape(String),
    /// Some of its values cannot be used.
    #[error("{}", .0.join("; "))]
    Values(Vec<String>),
}

/// A ConfigMap holds no more than this.
const MOST_BYTES: usize = 1024 * 1024;
/// Rules of each kind. Settlement looks at every rule for every machine.
const MOST_RULES: usize = 1000;
/// Longer names do not fit into tables.
const NAME_CHARACTERS: usize = 100;

/// Reads a document that was written at an instant. A document without content says nothing, and that is fine.
pub fn parse(text: &str, written_at: Moment) -> Result<Document, DocumentError> {
    if text.len() > MOST_BYTES {
        return Err(DocumentError::TooLong {
            bytes: text.len(),
            most: MOST_BYTES,
        });
    }
    let text: Text = serde_saphyr::from_str(text)
        .map_err(|error| DocumentError::Shape(error.without_snippet().to_string()))?;
    let mut reader = Reader {
        faults: Faults::default(),
        as_of: written_at,
    };
    if let Some(as_of) = &text.as_of {
        reader.as_of = reader.faults.moment("asOf", as_of);
    }
    let document = Document {
        overrides: reader.each("overrides", text.overrides, |rule| &rule.name, Reader::rule),
        discounts: reader.each("discounts", text.discounts, |rule| &rule.name, Reader::discount),
        commitments: reader.each(
            "commitments",
            text.commitments,
            |rule| &rule.name,
            Reader::commitment,
        ),
        sheet: reader.each("sheet", text.sheet, |rule| &rule.name, Reader::sheet_row),
        split: text.split.map(|split| reader.split(&split)),
    };
    if !reader.faults.found.is_empty() {
        return Err(DocumentError::Values(reader.faults.found));
    }
    Ok(document)
}

struct Reader {
    faults: Faults,
    as_of: Moment,
}

impl Reader {
    /// Reads every rule of a kind; two of them with one name would be told apart by nobody.
    fn each<T, R>(
        &mut self,
        kind: &str,
        rules: Option<Vec<T>>,
        name: fn(&T) -> &String,
        read: fn(&mut Self, &str, T) -> R,
    ) -> Vec<R> {
        let rules = rules.unwrap_or_default();
        if rules.len() > MOST_RULES {
            self.faults.add(
                kind,
                &format!("has {} entries; at most {MOST_RULES} are taken", rules.len()),
            );
            return Vec::new();
        }
        let mut names = BTreeSet::new();
        let mut found = Vec::with_capacity(rules.len());
        for (index, rule) in rules.into_iter().enumerate() {
            let place = format!("{kind}[{index}]");
            let called = name(&rule);
            if called.trim().is_empty() || called.chars().count() > NAME_CHARACTERS {
                self.faults
                    .add(&format!("{place}.name"), "has to have 1 to 100 characters");
            } else if !names.insert(called.clone()) {
                self.faults.add(
                    &format!("{place}.name"),
                    &format!("`{called}` is there twice: give each its own name"),
                );
            }
            found.push(read(self, &place, rule));
        }
        found
    }

    fn rule(&mut self, place: &str, text: OverrideText) -> Override {
        let faults = &mut self.faults;
        let rate = match (&text.node_hour, &text.gpu_hour) {
            (Some(amount), None) => OverrideRate::NodeHour(faults.usd(&format!("{place}.nodeHour"), amount)),
            (None, Some(amount)) => OverrideRate::GpuHour(faults.usd(&format!("{place}.gpuHour"), amount)),
            _ => {
                faults.add(
                    place,
                    "needs either `nodeHour` or `gpuHour`, the price of an hour in dollars",
                );
                OverrideRate::NodeHour(NanoUsd::ZERO)
            }
        };
        let cloud = text
            .cloud
            .as_deref()
            .map(|cloud| faults.cloud(&format!("{place}.cloud"), cloud));
        let capacity = text
            .capacity
            .as_deref()
            .map(|capacity| faults.capacity(&format!("{place}.capacity"), capacity));
        let valid = faults.span(place, text.from.as_ref(), text.until.as_ref());
        Override {
            name: text.name,
            cloud,
            region: text.region,
            zone: text.zone,
            instance_type: text.instance_type,
            capacity,
            pool: text.pool,
            gpu_model: text.gpu_model,
            node: text.node,
            rate,
            valid,
            as_of: self.as_of(valid),
        }
    }

    fn discount(&mut self, place: &str, text: DiscountText) -> Discount {
        let faults = &mut self.faults;
        Discount {
            cloud: faults.cloud(&format!("{place}.cloud"), &text.cloud),
            capacity: text
                .capacity
                .as_deref()
                .map(|capacity| faults.capacity(&format!("{place}.capacity"), capacity)),
            off: faults.share(&format!("{place}.off"), &text.off),
            valid: faults.span(place, text.from.as_ref(), text.until.as_ref()),
            name: text.name,
            instance_type: text.instance_type,
        }
    }

    fn commitment(&mut self, place: &str, text: CommitmentText) -> Commitment {
        let faults = &mut self.faults;
        let kind = match (&text.machines, &text.spend) {
            (Some(machines), None) => CommitmentKind::Machines {
                count: faults.count(&format!("{place}.machines.count"), &machines.count),
                rate: faults.usd(&format!("{place}.machines.nodeHour"), &machines.node_hour),
            },
            (None, Some(spend)) => CommitmentKind::Spend {
                per_hour: faults.usd(&format!("{place}.spend.perHour"), &spend.per_hour),
                off: faults.share(&format!("{place}.spend.off"), &spend.off),
            },
            _ => {
                faults.add(
                    place,
                    "needs either `machines` (count, nodeHour) or `spend` (perHour, off)",
                );
                CommitmentKind::Machines {
                    count: 1,
                    rate: NanoUsd::ZERO,
                }
            }
        };
        let cloud = faults.cloud(&format!("{place}.cloud"), &text.cloud);
        let valid = faults.span(place, text.from.as_ref(), text.until.as_ref());
        Commitment {
            kind,
            name: CommitmentName {
                id: text.name,
                cloud,
                region: text.region,
                instance_type: text.instance_type,
            },
            valid,
            as_of: self.as_of(valid),
        }
    }

    fn sheet_row(&mut self, place: &str, text: SheetText) -> SheetRow {
        let faults = &mut self.faults;
        let purchase = faults.usd(&format!("{place}.purchase"), &text.purchase);
        let residual = faults.optional_usd(&format!("{place}.residual"), text.residual.as_ref());
        if residual > purchase {
            faults.add(&format!("{place}.residual"), "is more than `purchase`");
        }
        let power = text.power.map(|power| Tariff {
            per_kilowatt_hour: faults.usd(
                &format!("{place}.power.perKilowattHour"),
                &power.per_kilowatt_hour,
            ),
            pue_thousandths: power
                .pue
                .map_or(1000, |pue| faults.factor(&format!("{place}.power.pue"), &pue)),
        });
        let support = text
            .support_per_year
            .map(|share| faults.share(&format!("{place}.supportPerYear"), &share));
        let valid = faults.span(place, text.from.as_ref(), text.until.as_ref());
        SheetRow {
            name: text.name,
            pool: text.pool,
            instance_type: text.instance_type,
            gpu_model: text.gpu_model,
            purchase,
            residual,
            life_months: faults.count(&format!("{place}.lifeMonths"), &text.life_months),
            support_per_year: support.unwrap_or_default(),
            fixed_per_month: faults
                .optional_usd(&format!("{place}.fixedPerMonth"), text.fixed_per_month.as_ref()),
            power,
            valid,
            as_of: self.as_of(valid),
        }
    }

    fn split(&mut self, text: &SplitText) -> NodeSplit {
        let faults = &mut self.faults;
        match text {
            SplitText::AllToGpu => NodeSplit::AllToGpu,
            SplitText::Opencost => NodeSplit::OPENCOST,
            SplitText::Ratio { gpu } => NodeSplit::Ratio {
                gpu: faults.share("split.ratio.gpu", gpu),
            },
            SplitText::Residual {
                core_hour,
                gibibyte_hour,
            } => NodeSplit::Residual {
                core_hour: faults.usd("split.residual.coreHour", core_hour),
                gibibyte_hour: faults.usd("split.residual.gibibyteHour", gibibyte_hour),
            },
            SplitText::Reference {
                gpu_hour,
                core_hour,
                gibibyte_hour,
            } => NodeSplit::Reference {
                gpu_hour: faults.usd("split.reference.gpuHour", gpu_hour),
                core_hour: faults.usd("split.reference.coreHour", core_hour),
                gibibyte_hour: faults.usd("split.reference.gibibyteHour", gibibyte_hour),
            },
        }
    }

    /// When a rule was written: with the document, but not before it began to hold. Rows of the ledger name this instant, so
    /// it should not move when a file is merely written again; `asOf` pins it.
    fn as_of(&self, valid: Span) -> Moment {
        if valid.start == PriceVersion::ALWAYS.start {
            self.as_of
        } else {
            valid.start
        }
    }
}
