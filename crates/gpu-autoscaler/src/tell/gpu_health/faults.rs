//! What the codes of NVIDIA's driver faults (XIDs) mean for the GPU that threw them.

/// Whose fault a fault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultClass {
    /// The program that ran did something wrong; the GPU is as good as before.
    Application,
    /// The GPU noticed an error and mended it. Often in a short time, it is wearing out.
    Mended,
    /// The GPU, its link or its firmware needs a reset, a reboot or a technician.
    Hardware,
    /// A code that says nothing certain about the GPU.
    Unknown,
}

/// The class of a code. What is not listed condemns nobody.
pub fn fault_class(code: u32) -> FaultClass {
    match code {
        13 | 31 | 32 | 43 | 45 | 68 | 69 => FaultClass::Application,
        63 | 92 | 94 => FaultClass::Mended,
        46 | 48 | 62 | 64 | 74 | 79 | 95 | 109 | 110 | 119 | 120 | 140 | 143..=150 => FaultClass::Hardware,
        _ => FaultClass::Unknown,
    }
}

/// A few words on a code.
pub fn fault_words(code: u32) -> &'static str {
    match code {
        13 => "graphics engine exception",
        31 => "memory page fault",
        32 | 69 => "invalid work of a program",
        43 => "the program stopped",
        45 => "the program was ended",
        46 => "the GPU stopped processing",
        48 => "double-bit memory error",
        62 => "micro-controller halt",
        63 => "a memory row was replaced",
        64 => "a memory row could not be replaced",
        68 => "video engine exception",
        74 => "NVLink error",
        79 => "the GPU has fallen off the bus",
        92 => "many single-bit memory errors",
        94 => "contained memory error",
        95 => "uncontained memory error",
        109 => "context switch timeout",
        110 => "security fault",
        119 | 120 => "the firmware does not answer",
        140 => "unrecovered memory error",
        143..=150 => "NVLink or chip interconnect error",
        _ => "driver fault",
    }
}
