//! The warden: a small program between a test process and the programs it starts.
//!
//! A test process can end in any way, even by SIGKILL, and then nobody would stop what it had started. So it starts
//! nothing itself. It starts the warden, which reads orders from its standard input, and takes the end of that input
//! as the end of the bed: it stops every descendant (it is their reaper, so daemons cannot slip away), unmounts,
//! removes the bed's directories and control groups, and exits.
//!
//! The module holds the wire between the two (`protocol`), the program (`program` and below) and nothing of the
//! tests' side, which is `bed`.

mod cleaning;
mod descendants;
pub mod program;
pub mod protocol;
mod shim;

pub(crate) use cleaning::{mounts_below, remove_cgroup, remove_directory, unmount_below};

/// Carries the bed's id in the environment of every process of a bed, so that orphans can be found in `/proc`.
pub const BED_VARIABLE: &str = "GPU_TESTBED_BED";

/// Tells a warden built from other sources than the test process: cargo does not rebuild the programs of a
/// dependency, so the file found beside the tests may be an old one.
pub const FINGERPRINT: u64 = fingerprint(&[
    include_str!("warden/cleaning.rs"),
    include_str!("warden/descendants.rs"),
    include_str!("warden/program.rs"),
    include_str!("warden/protocol.rs"),
    include_str!("warden/shim.rs"),
]);

/// FNV-1a, because it fits in a `const fn`; it tells versions apart and guards nothing.
const fn fingerprint(sources: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut file = 0;
    while file < sources.len() {
        let text = sources[file].as_bytes();
        let mut at = 0;
        while at < text.len() {
            hash = (hash ^ text[at] as u64).wrapping_mul(0x0100_0000_01b3);
            at += 1;
        }
        file += 1;
    }
    hash
}
