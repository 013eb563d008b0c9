//! The families of dcgm-exporter that are shown when a counters file or the allow-list names them: errors, throttling
//! and links.

use super::{FamilySpec, LinkError, Measure, Scale, Supply, Tier, dcgm_counter, dcgm_gauge, field};
use crate::readings::{Field, ThrottleReason};

use Tier::Named;

pub(super) const NAMED: &[FamilySpec] = &[
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_POWER_VIOLATION",
        "Throttling time by power limits (in ns).",
        field(Field::ViolationPower),
    )
    .scaled(Scale::Nanoseconds),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_THERMAL_VIOLATION",
        "Throttling time by temperature limits (in ns).",
        field(Field::ViolationThermal),
    )
    .scaled(Scale::Nanoseconds),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_SYNC_BOOST_VIOLATION",
        "Throttling time by sync boost (in ns).",
        field(Field::ViolationSyncBoost),
    )
    .scaled(Scale::Nanoseconds),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_BOARD_LIMIT_VIOLATION",
        "Throttling time by board limits (in ns).",
        field(Field::ViolationBoardLimit),
    )
    .scaled(Scale::Nanoseconds),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_LOW_UTIL_VIOLATION",
        "Throttling time by low utilization (in ns).",
        field(Field::ViolationLowUtilization),
    )
    .scaled(Scale::Nanoseconds),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_RELIABILITY_VIOLATION",
        "Throttling time by reliability limits (in ns).",
        field(Field::ViolationReliability),
    )
    .scaled(Scale::Nanoseconds),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_TOTAL_APP_CLOCKS_VIOLATION",
        "Throttling time by application clocks (in ns).",
        field(Field::ViolationAppClocks),
    )
    .scaled(Scale::Nanoseconds),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_TOTAL_BASE_CLOCKS_VIOLATION",
        "Throttling time by base clocks (in ns).",
        field(Field::ViolationBaseClocks),
    )
    .scaled(Scale::Nanoseconds),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS",
        "Throttling time by the software power cap (in ns).",
        Supply::One(Measure::DriverThrottle(ThrottleReason::PowerCap)),
    )
    .scaled(Scale::Nanoseconds),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST_NS",
        "Throttling time by sync boost (in ns).",
        Supply::One(Measure::DriverThrottle(ThrottleReason::SyncBoost)),
    )
    .scaled(Scale::Nanoseconds),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN_NS",
        "Throttling time by software thermal slowdown (in ns).",
        Supply::One(Measure::DriverThrottle(ThrottleReason::SoftwareThermal)),
    )
    .scaled(Scale::Nanoseconds),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS",
        "Throttling time by hardware thermal slowdown (in ns).",
        Supply::One(Measure::DriverThrottle(ThrottleReason::HardwareThermal)),
    )
    .scaled(Scale::Nanoseconds),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS",
        "Throttling time by the hardware power brake (in ns).",
        Supply::One(Measure::DriverThrottle(ThrottleReason::HardwarePowerBrake)),
    )
    .scaled(Scale::Nanoseconds),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
        "Single-bit volatile ECC errors.",
        field(Field::EccCorrectedVolatile),
    )
    .scaled(Scale::Whole),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
        "Double-bit volatile ECC errors.",
        field(Field::EccUncorrectedVolatile),
    )
    .scaled(Scale::Whole),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL",
        "Single-bit persistent ECC errors.",
        field(Field::EccCorrectedAggregate),
    )
    .scaled(Scale::Whole),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL",
        "Double-bit persistent ECC errors.",
        field(Field::EccUncorrectedAggregate),
    )
    .scaled(Scale::Whole),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_RETIRED_SBE",
        "Pages retired for single-bit errors.",
        field(Field::RetiredPagesSingleBit),
    )
    .alias("DCGM_FI_DEV_PAGE_RETIRED_SBE_TOTAL")
    .scaled(Scale::Whole),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_RETIRED_DBE",
        "Pages retired for double-bit errors.",
        field(Field::RetiredPagesDoubleBit),
    )
    .alias("DCGM_FI_DEV_PAGE_RETIRED_DBE_TOTAL")
    .scaled(Scale::Whole),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_RETIRED_PENDING",
        "Whether pages wait to be retired.",
        field(Field::RetiredPagesPending),
    )
    .alias("DCGM_FI_DEV_PAGE_RETIRED_PENDING"),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_ROW_REMAP_PENDING",
        "Whether memory rows wait to be remapped.",
        field(Field::RowRemapPending),
    ),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
        "NVLink CRC errors of all links.",
        Supply::LinkErrorSum(LinkError::Crc),
    )
    .alias("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_TOTAL")
    .scaled(Scale::Whole),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
        "NVLink retries of all links.",
        Supply::LinkErrorSum(LinkError::Replay),
    )
    .alias("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_TOTAL")
    .scaled(Scale::Whole),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
        "NVLink recoveries of all links.",
        Supply::LinkErrorSum(LinkError::Recovery),
    )
    .alias("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_TOTAL")
    .scaled(Scale::Whole),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_NVLINK_TX_BANDWIDTH_TOTAL",
        "NVLink traffic sent over all links (in MB/s).",
        field(Field::LinkSentRate),
    )
    .alias("DCGM_FI_DEV_NVLINK_TX_THROUGHPUT_TOTAL")
    .scaled(Scale::Megabytes),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_NVLINK_RX_BANDWIDTH_TOTAL",
        "NVLink traffic received over all links (in MB/s).",
        field(Field::LinkReceivedRate),
    )
    .alias("DCGM_FI_DEV_NVLINK_RX_THROUGHPUT_TOTAL")
    .scaled(Scale::Megabytes),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_NVLINK_COUNT_TX_BYTES",
        "Bytes sent over NVLink.",
        field(Field::LinkSentBytes),
    )
    .alias("DCGM_FI_DEV_NVLINK_TX_BYTES_TOTAL")
    .scaled(Scale::Whole),
    dcgm_counter(
        Named,
        "DCGM_FI_DEV_NVLINK_COUNT_RX_BYTES",
        "Bytes received over NVLink.",
        field(Field::LinkReceivedBytes),
    )
    .alias("DCGM_FI_DEV_NVLINK_RX_BYTES_TOTAL")
    .scaled(Scale::Whole),
    dcgm_gauge(
        Named,
        "DCGM_FI_DEV_FABRIC_HEALTH_MASK",
        "Health of the fabric, as a bit mask.",
        field(Field::FabricHealthMask),
    ),
    dcgm_gauge(
        Named,
        "DCGM_FI_PROF_NVLINK_TX_BYTES",
        "NVLink traffic sent (in B/s).",
        field(Field::LinkSentRate),
    )
    .scaled(Scale::Whole),
    dcgm_gauge(
        Named,
        "DCGM_FI_PROF_NVLINK_RX_BYTES",
        "NVLink traffic received (in B/s).",
        field(Field::LinkReceivedRate),
    )
    .scaled(Scale::Whole),
    dcgm_counter(
        Named,
        "DCGM_EXP_XID_ERRORS_TOTAL",
        "XIDs since the exporter started, by code.",
        Supply::Faults,
    )
    .by(&["xid"]),
];
