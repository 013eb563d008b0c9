//! The control plane, the command line and the demo of gpu-autoscaler. This file only starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    gpu_autoscaler::main()
}
