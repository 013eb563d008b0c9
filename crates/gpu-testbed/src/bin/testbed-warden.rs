//! The warden of a test bed: it owns the started programs and leaves nothing behind when the test process ends.
fn main() -> anyhow::Result<()> {
    gpu_testbed::warden::program::main()
}
