//! Nodes of the compute driver, and what processes say of their open files.

use super::super::*;

/// One of eight partitions of the second MI300X of a machine.
const PARTITION: &str = "cpu_cores_count 0\nsimd_count 152\nsimd_per_cu 4\ngfx_target_version 90402\nvendor_id 4098\n\
    device_id 29857\nlocation_id 9987\ndomain 1\ndrm_render_minor 139\nhive_id 15188982192727901047\n\
    max_engine_clk_fcompute 2100\nlocal_mem_size 0\nunique_id 2472748907779728154\nnum_xcc 1\n";

#[test]
fn a_partition_says_which_gpu_it_belongs_to() {
    let node = kfd_node(PARTITION);
    assert!(node.is_gpu());
    assert_eq!(node.compute_units(), Some(38));
    assert_eq!(node.gfx_target.unwrap().to_string(), "gfx942");
    assert_eq!(node.pci_address().unwrap().to_string(), "0001:27:00.0");
    assert_eq!(node.partition(), Some(3));
    assert_eq!(node.drm_render_minor, Some(139));
    assert_eq!(node.hive_id, Some(15_188_982_192_727_901_047));
    assert_eq!(node.unique_id, Some(2_472_748_907_779_728_154));
    assert_eq!((node.num_xcc, node.local_mem_bytes), (Some(1), None));
    // Where kernels have more bits for it.
    assert_eq!(kfd_node("location_id 1342187264").partition(), Some(5));
    assert_eq!(
        kfd_node("location_id 1342187264").pci_address(),
        kfd_node("location_id 9984").pci_address()
    );
}

#[test]
fn a_processor_is_no_gpu_and_zero_is_no_number_of_one() {
    let node =
        kfd_node("cpu_cores_count 96\nsimd_count 0\ndrm_render_minor 0\nhive_id 0\ngfx_target_version 0\n");
    assert!(!node.is_gpu());
    assert_eq!(
        node,
        KfdNode {
            cpu_cores: Some(96),
            simd_count: Some(0),
            ..KfdNode::default()
        }
    );
    assert_eq!(node.compute_units(), None);
    assert_eq!(kfd_node("simd_count 8\nsimd_per_cu 0").compute_units(), None);
    assert_eq!(
        kfd_node("simd_count\nsimd_count -1\nlonely\n\n"),
        KfdNode::default()
    );
}

#[test]
fn instruction_sets_are_written_as_people_write_them() {
    let name = |number: u32| {
        kfd_node(&format!("gfx_target_version {number}"))
            .gfx_target
            .map(|name| name.to_string())
    };
    assert_eq!(name(90_010).as_deref(), Some("gfx90a"));
    assert_eq!(name(90_008).as_deref(), Some("gfx908"));
    assert_eq!(name(90_500).as_deref(), Some("gfx950"));
    assert_eq!(name(110_003).as_deref(), Some("gfx1103"));
    assert_eq!(name(0), None);
}

#[test]
fn an_open_file_of_amdgpu_in_its_newer_and_its_older_form() {
    let newer = "pos:\t0\nflags:\t02100002\nmnt_id:\t25\nino:\t1113\ndrm-driver:\tamdgpu\ndrm-client-id:\t42\n\
        drm-pdev:\t0000:05:00.0\npasid:\t32771\ndrm-total-cpu:\t0\ndrm-total-vram:\t2 MiB\ndrm-shared-vram:\t0\n\
        drm-resident-vram:\t1024 KiB\ndrm-memory-vram:\t1024 KiB\ndrm-memory-gtt: \t12 KiB\namd-evicted-vram:\t0 KiB\n\
        drm-engine-gfx:\t1234567 ns\ndrm-engine-compute:\t99 ns\ndrm-engine-dec:\t0 ns\n";
    let info = fdinfo(newer).unwrap();
    assert_eq!((info.driver, info.pdev), (Some("amdgpu"), Some("0000:05:00.0")));
    assert_eq!((info.client_id, info.pasid), (Some(42), Some(32_771)));
    assert_eq!(info.occupied_bytes("vram"), Some(1 << 20));
    assert_eq!(info.region("vram").unwrap().total_bytes, Some(2 << 20));
    assert_eq!(info.region("cpu").unwrap().total_bytes, Some(0));
    assert_eq!(info.engine("gfx").unwrap().busy_nanoseconds, Some(1_234_567));
    assert_eq!(
        info.engines().map(|engine| engine.name).collect::<Vec<_>>(),
        ["gfx", "compute", "dec"]
    );
    let older = fdinfo("drm-driver: amdgpu\ndrm-memory-vram: 3 KiB\n").unwrap();
    assert_eq!(older.occupied_bytes("vram"), Some(3072));
    assert_eq!(older.occupied_bytes("gtt"), None);
    assert_eq!((older.client_id, older.pdev), (None, None));
}

#[test]
fn cycles_and_capacities_are_no_memory_and_no_engine() {
    let text = "drm-driver:\txe\ndrm-total-vram0:\t5 MiB\ndrm-resident-vram0:\t4 MiB\ndrm-cycles-ccs:\t28257900\n\
        drm-total-cycles-ccs:\t7655183225\ndrm-engine-capacity-ccs:\t4\n";
    let info = fdinfo(text).unwrap();
    assert_eq!(
        info.regions().map(|region| region.name).collect::<Vec<_>>(),
        ["vram0"]
    );
    assert_eq!(
        info.engines().collect::<Vec<_>>(),
        [&Engine {
            name: "ccs",
            busy_nanoseconds: None,
            cycles: Some(28_257_900),
            total_cycles: Some(7_655_183_225),
            capacity: Some(4),
        }]
    );
}

#[test]
fn files_without_a_gpu_and_numbers_of_other_units_are_passed_over() {
    assert_eq!(fdinfo("pos:\t0\nflags:\t02\n"), None);
    assert_eq!(fdinfo(""), None);
    let info =
        fdinfo("drm-driver: amdgpu\ndrm-engine-gfx: 5 ms\ndrm-memory-vram: 5 pages\ndrm-client-id: x\n")
            .unwrap();
    assert_eq!(
        info.engine("gfx").and_then(|engine| engine.busy_nanoseconds),
        None
    );
    assert_eq!((info.occupied_bytes("vram"), info.client_id), (None, None));
}

#[test]
fn there_is_room_for_so_many_kinds_and_no_more() {
    let mut text = "drm-driver: amdgpu\n".to_owned();
    for kind in 0..100 {
        text.push_str(&format!("drm-engine-e{kind}: 1 ns\ndrm-memory-m{kind}: 1\n"));
    }
    let info = fdinfo(&text).unwrap();
    assert_eq!(
        (info.engines().count(), info.regions().count()),
        (MAX_ENGINES, MAX_REGIONS)
    );
}
