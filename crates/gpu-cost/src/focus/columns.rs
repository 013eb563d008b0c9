//! The columns of the Cost and Usage dataset that we fill, and what the specification says of each.

/// How much a column is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Always present, and never null.
    Required,
    /// Always present, null where it does not apply.
    Nullable,
    /// Our own: the names begin with `x_` and stand after the others.
    Custom,
}

macro_rules! columns {
    ($($name:ident $text:literal $level:ident;)*) => {
        /// A column, in the order of the file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Column {
            $($name,)*
        }

        impl Column {
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The id in the first line of a file.
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            pub const fn level(self) -> Level {
                match self {
                    $(Self::$name => Level::$level,)*
                }
            }
        }
    };
}

columns! {
    AllocatedMethodDetails "AllocatedMethodDetails" Nullable;
    AllocatedMethodId "AllocatedMethodId" Nullable;
    AllocatedResourceId "AllocatedResourceId" Nullable;
    AllocatedResourceName "AllocatedResourceName" Nullable;
    AllocatedTags "AllocatedTags" Nullable;
    AvailabilityZone "AvailabilityZone" Nullable;
    BilledCost "BilledCost" Required;
    BillingAccountId "BillingAccountId" Required;
    BillingAccountName "BillingAccountName" Nullable;
    BillingCurrency "BillingCurrency" Required;
    BillingPeriodEnd "BillingPeriodEnd" Required;
    BillingPeriodStart "BillingPeriodStart" Required;
    ChargeCategory "ChargeCategory" Required;
    ChargeClass "ChargeClass" Nullable;
    ChargeDescription "ChargeDescription" Nullable;
    ChargeFrequency "ChargeFrequency" Required;
    ChargePeriodEnd "ChargePeriodEnd" Required;
    ChargePeriodStart "ChargePeriodStart" Required;
    CommitmentDiscountCategory "CommitmentDiscountCategory" Nullable;
    CommitmentDiscountId "CommitmentDiscountId" Nullable;
    CommitmentDiscountQuantity "CommitmentDiscountQuantity" Nullable;
    CommitmentDiscountStatus "CommitmentDiscountStatus" Nullable;
    CommitmentDiscountType "CommitmentDiscountType" Nullable;
    CommitmentDiscountUnit "CommitmentDiscountUnit" Nullable;
    ConsumedQuantity "ConsumedQuantity" Nullable;
    ConsumedUnit "ConsumedUnit" Nullable;
    ContractedCost "ContractedCost" Required;
    ContractedUnitPrice "ContractedUnitPrice" Nullable;
    EffectiveCost "EffectiveCost" Required;
    HostProviderName "HostProviderName" Nullable;
    InvoiceIssuerName "InvoiceIssuerName" Required;
    ListCost "ListCost" Required;
    ListUnitPrice "ListUnitPrice" Nullable;
    PricingCategory "PricingCategory" Nullable;
    PricingQuantity "PricingQuantity" Nullable;
    PricingUnit "PricingUnit" Nullable;
    RegionId "RegionId" Nullable;
    ResourceId "ResourceId" Nullable;
    ResourceName "ResourceName" Nullable;
    ResourceType "ResourceType" Nullable;
    ServiceCategory "ServiceCategory" Required;
    ServiceName "ServiceName" Required;
    ServiceProviderName "ServiceProviderName" Required;
    ServiceSubcategory "ServiceSubcategory" Required;
    SkuId "SkuId" Nullable;
    SkuMeter "SkuMeter" Nullable;
    SkuPriceDetails "SkuPriceDetails" Nullable;
    SkuPriceId "SkuPriceId" Nullable;
    Tags "Tags" Nullable;
    ClusterId "x_ClusterId" Custom;
    Estimate "x_Estimate" Custom;
    GpuUuid "x_GpuUuid" Custom;
    Namespace "x_Namespace" Custom;
    Part "x_Part" Custom;
    Partition "x_Partition" Custom;
    PriceAsOf "x_PriceAsOf" Custom;
    PriceSource "x_PriceSource" Custom;
    RowKey "x_RowKey" Custom;
    UnmeasuredCost "x_UnmeasuredCost" Custom;
    UnusedCost "x_UnusedCost" Custom;
    UsedCost "x_UsedCost" Custom;
}
