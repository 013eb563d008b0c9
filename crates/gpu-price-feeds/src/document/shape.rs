//! The text as it is written: every value a text still, so that no amount passes through a float.

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Text {
    pub(super) as_of: Option<String>,
    pub(super) overrides: Option<Vec<OverrideText>>,
    pub(super) discounts: Option<Vec<DiscountText>>,
    pub(super) commitments: Option<Vec<CommitmentText>>,
    pub(super) sheet: Option<Vec<SheetText>>,
    pub(super) split: Option<SplitText>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OverrideText {
    pub(super) name: String,
    pub(super) cloud: Option<String>,
    pub(super) region: Option<String>,
    pub(super) zone: Option<String>,
    pub(super) instance_type: Option<String>,
    pub(super) capacity: Option<String>,
    pub(super) pool: Option<String>,
    pub(super) gpu_model: Option<String>,
    pub(super) node: Option<String>,
    pub(super) node_hour: Option<String>,
    pub(super) gpu_hour: Option<String>,
    pub(super) from: Option<String>,
    pub(super) until: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DiscountText {
    pub(super) name: String,
    pub(super) cloud: String,
    pub(super) instance_type: Option<String>,
    pub(super) capacity: Option<String>,
    pub(super) off: String,
    pub(super) from: Option<String>,
    pub(super) until: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CommitmentText {
    pub(super) name: String,
    pub(super) cloud: String,
    pub(super) region: Option<String>,
    pub(super) instance_type: Option<String>,
    pub(super) machines: Option<MachinesText>,
    pub(super) spend: Option<SpendText>,
    pub(super) from: Option<String>,
    pub(super) until: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct MachinesText {
    pub(super) count: String,
    pub(super) node_hour: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SpendText {
    pub(super) per_hour: String,
    pub(super) off: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SheetText {
    pub(super) name: String,
    pub(super) pool: Option<String>,
    pub(super) instance_type: Option<String>,
    pub(super) gpu_model: Option<String>,
    pub(super) purchase: String,
    pub(super) residual: Option<String>,
    pub(super) life_months: String,
    pub(super) support_per_year: Option<String>,
    pub(super) fixed_per_month: Option<String>,
    pub(super) power: Option<PowerText>,
    pub(super) from: Option<String>,
    pub(super) until: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PowerText {
    pub(super) per_kilowatt_hour: String,
    pub(super) pue: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub(super) enum SplitText {
    AllToGpu,
    Opencost,
    Ratio {
        gpu: String,
    },
    Residual {
        core_hour: String,
        gibibyte_hour: String,
    },
    Reference {
        gpu_hour: String,
        core_hour: String,
        gibibyte_hour: String,
    },
}
