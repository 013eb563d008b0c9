//! Turns the two `.proto` files into Rust. `protox` is a compiler in Rust, so no `protoc` has to be installed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = ["proto/podresources.proto", "proto/deviceplugin.proto"];
    for file in files {
        println!("cargo::rerun-if-changed={file}");
    }
    let descriptors = protox::compile(files, ["proto"])?;
    // Ordered maps, as everywhere: what a device plugin sends is the same bytes in every run.
    tonic_prost_build::configure()
        .btree_map(".")
        .compile_fds(descriptors)?;
    Ok(())
}
