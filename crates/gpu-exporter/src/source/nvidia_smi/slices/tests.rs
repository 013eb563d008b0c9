//! The list of `nvidia-smi -L`.

use super::{SliceName, slice_names};

#[test]
fn slices_are_named() {
    let text = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-a)\n  MIG 1g.10gb     Device  0: (UUID: MIG-b)\n  \
                MIG 1c.3g.40gb  Device  1: (UUID: MIG-c)\nGPU 1: NVIDIA H100 (PCIe) (UUID: GPU-d)\n  \
                MIG 7g.80gb+me  Device 10: (UUID: MIG-GPU-d/0/0)\n  MIG broken\nnoise (UUID: )\n";
    let table = slice_names(text);
    let name = |gpu: &str, place| {
        table
            .get(&(gpu.to_owned(), place))
            .map(|SliceName { uuid, profile }| (uuid.as_str(), profile.as_str()))
    };
    assert_eq!(name("GPU-a", 0), Some(("MIG-b", "1g.10gb")));
    assert_eq!(name("GPU-a", 1), Some(("MIG-c", "1c.3g.40gb")));
    assert_eq!(name("GPU-d", 10), Some(("MIG-GPU-d/0/0", "7g.80gb+me")));
    assert_eq!(table.len(), 3);
}
