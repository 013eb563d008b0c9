//! Offers devices to the kubelet of a real node, as the vendors' device plugins do.
fn main() -> anyhow::Result<()> {
    gpu_testbed::real_node::device_plugin::main()
}
