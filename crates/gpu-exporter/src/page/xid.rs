//! What the driver's fault codes mean, in a few words each: the `err_msg` label of dcgm-exporter's last fault.

/// A short meaning; the closed set keeps the label from growing.
pub(super) const fn meaning(code: u32) -> &'static str {
    match code {
        0 => "No Error",
        13 => "Graphics engine exception",
        31 => "GPU memory page fault",
        32 => "Invalid or corrupted push buffer stream",
        38 => "Driver firmware error",
        43 => "GPU stopped processing",
        45 => "Preemptive cleanup, due to previous errors",
        48 => "Double bit ECC error",
        61 => "Internal micro-controller breakpoint or warning",
        62 => "Internal micro-controller halt",
        63 => "ECC page retirement or row remapping event",
        64 => "ECC page retirement or row remapper failure",
        68 => "Video processor exception",
        69 => "Graphics engine class error",
        74 => "NVLink error",
        79 => "GPU has fallen off the bus",
        92 => "High single-bit ECC error rate",
        94 => "Contained ECC error",
        95 => "Uncontained ECC error",
        109 => "Context switch timeout",
        119 => "GSP RPC timeout",
        120 => "GSP error",
        121 => "C2C link error",
        122 => "SPI flash failure",
        136 => "Link training failed",
        140 => "Unrecovered ECC error",
        143 => "GPU initialization failure",
        149 => "NVLink fatal error",
        154 => "GPU recovery action changed",
        _ => "Unknown Error",
    }
}
