//! What names and contents mean, and that nothing in them can hurt.

use std::sync::Arc;

use gpu_model::Vendor;
use proptest::prelude::*;

use super::{Convention, JobBook, Malformed, Named, assign, parse};
use crate::readings::{DeviceReadings, Parts, SliceId, SliceReadings, Values};
use crate::snapshot::{Board, DeviceSnapshot, DeviceState, Identity, Job, Totals};

fn device(vendor: Vendor, index: u32, instances: &[u32]) -> DeviceSnapshot {
    let slice = |gi: &u32| SliceReadings {
        id: SliceId { gi: *gi, ci: 0 },
        uuid: format!("MIG-{index}-{gi}"),
        profile: "1g.10gb".to_owned(),
        render: (vendor == Vendor::Amd).then_some(128 + gi),
        values: Values::default(),
        parts: Parts::default(),
    };
    let readings = DeviceReadings {
        slices: instances.iter().map(slice).collect(),
        ..DeviceReadings::default()
    };
    DeviceSnapshot {
        identity: Arc::new(Identity {
            vendor,
            index,
            minor: None,
            uuid: format!("GPU-{}-{index}", vendor.as_str()),
            model: String::new(),
            pci_bus_id: String::new(),
            serial: None,
            vbios: None,
            driver_version: String::new(),
            architecture: None,
            board: Board::default(),
        }),
        state: DeviceState::Up,
        age: None,
        slow_age: None,
        readings: Arc::new(readings),
        totals: Totals::default(),
        faults: Vec::new(),
        restricted: None,
        holders: Vec::new(),
        jobs: Arc::default(),
        unattributed: Vec::new(),
        errors: Default::default(),
        rejected_total: 0,
    }
}

/// The devices with jobs, each as `vendor index: instance/id ...`.
fn held(files: &[(Convention, &str, &str)], devices: &mut [DeviceSnapshot]) -> Vec<String> {
    let file = |(form, name, content): &(Convention, &str, &str)| {
        let named = Named::parse(name).unwrap();
        ((*form, named), parse(content.as_bytes()).unwrap())
    };
    let book: JobBook = files.iter().map(file).collect();
    assign(&book, devices);
    let text = |device: &DeviceSnapshot| {
        let job = |job: &Job| match job.instance {
            Some(instance) => format!("{instance}/{}", job.id),
            None => job.id.clone(),
        };
        let jobs: Vec<String> = device.jobs.iter().map(job).collect();
        let identity = &device.identity;
        format!(
            "{} {}: {}",
            identity.vendor.as_str(),
            identity.index,
            jobs.join(" ")
        )
    };
    let given = devices.iter().filter(|device| !device.jobs.is_empty());
    given.map(text).collect()
}

use Convention::{Mapping, Slurm};

#[test]
fn a_file_is_named_after_its_gpu() {
    assert_eq!(Named::parse("0"), Some(Named::Index(0)));
    assert_eq!(Named::parse("12"), Some(Named::Index(12)));
    let instance = Named::Instance { gpu: 2, instance: 9 };
    assert_eq!(Named::parse("2.9"), Some(instance));
    assert_eq!(Named::parse("MIG-a"), Some(Named::Uuid("MIG-a".to_owned())));
    for name in [
        "",
        ".",
        "0.",
        ".0",
        "-1",
        "+1",
        "0x1",
        "a",
        "0.1.2",
        "README",
        ".0.swp",
        "99999999999",
    ] {
        assert_eq!(Named::parse(name), None, "{name}");
    }
}

#[test]
fn both_contents_are_read() {
    let job = |id: &str| Job {
        id: id.to_owned(),
        ..Job::default()
    };
    assert_eq!(parse(b"101\n102\r\n\n 101 \n"), Ok(vec![job("101"), job("102")]));
    assert_eq!(parse(b""), Ok(Vec::new()));
    let whole = Job {
        user: Some("ada".to_owned()),
        partition: Some("gpu".to_owned()),
        cluster: Some("hpc1".to_owned()),
        ..job("4711")
    };
    let text = br#"  { "SLURM_JOB_ID": "4711", "SLURM_JOB_USER": "ada", "SLURM_JOB_PARTITION": "gpu",
        "SLURM_CLUSTER_NAME": "hpc1", "SLURM_JOB_GPUS": "0,1", "CUDA_VISIBLE_DEVICES": "0,1",
        "SLURM_SCRIPT_CONTEXT": "prolog_slurmd" }"#;
    assert_eq!(parse(text), Ok(vec![whole]));
    let sparse = br#"{"SLURM_JOB_ID": 7, "SLURM_JOB_USER": "", "SLURM_JOB_PARTITION": null}"#;
    assert_eq!(parse(sparse), Ok(vec![job("7")]));
}

#[test]
fn what_names_no_job_says_why() {
    let many: String = (0..33).map(|id| format!("{id}\n")).collect();
    for (content, problem) in [
        (&b"\xff"[..], Malformed::Encoding),
        (b"{\"SLURM_JOB_ID\": \"1\"", Malformed::Json),
        (b"{}", Malformed::NoId),
        (b"{\"SLURM_JOB_ID\": \"\"}", Malformed::NoId),
        (b"a\tb\x01", Malformed::Value),
        (&[b'a'; 257], Malformed::Value),
        (many.as_bytes(), Malformed::Many),
    ] {
        assert_eq!(
            parse(content),
            Err(problem),
            "{}",
            String::from_utf8_lossy(content)
        );
    }
}

#[test]
fn an_index_means_the_vendor_of_the_directory_where_two_share_a_node() {
    let files = [(Mapping, "0", "101"), (Slurm, "0", "{\"SLURM_JOB_ID\":\"202\"}")];
    let mut both = [device(Vendor::Nvidia, 0, &[]), device(Vendor::Amd, 0, &[])];
    assert_eq!(held(&files, &mut both), ["nvidia 0: 101", "amd 0: 202"]);
    let mut one = [device(Vendor::Amd, 0, &[]), device(Vendor::Amd, 1, &[])];
    assert_eq!(held(&files[..1], &mut one), ["amd 0: 101"]);
}

#[test]
fn an_index_of_a_partitioned_amd_gpu_is_that_of_the_partition() {
    let mut devices = [device(Vendor::Amd, 0, &[0, 1]), device(Vendor::Amd, 1, &[2, 3])];
    let files = [
        (Slurm, "1", "{\"SLURM_JOB_ID\":\"a\"}"),
        (Slurm, "2", "{\"SLURM_JOB_ID\":\"b\"}"),
    ];
    assert_eq!(held(&files, &mut devices), ["amd 0: 1/a", "amd 1: 2/b"]);
}

#[test]
fn instances_and_uuids_name_parts() {
    let mut devices = [device(Vendor::Nvidia, 0, &[1, 2]), device(Vendor::Nvidia, 1, &[])];
    let files = [
        (Mapping, "0.2", "a"),
        (Mapping, "MIG-0-1", "b"),
        (Mapping, "GPU-nvidia-1", "c\nd"),
        (Mapping, "7", "nobody"),
    ];
    assert_eq!(held(&files, &mut devices), ["nvidia 0: 1/b 2/a", "nvidia 1: c d"]);
    // The same job in both directories is there once, with what is known of it.
    let twice = [
        (Mapping, "1", "c"),
        (Slurm, "1", "{\"SLURM_JOB_ID\":\"c\",\"SLURM_JOB_USER\":\"ada\"}"),
    ];
    assert_eq!(held(&twice, &mut devices), ["nvidia 1: c"]);
    assert_eq!(devices[1].jobs[0].user.as_deref(), Some("ada"));
}

proptest! {
    #[test]
    fn no_file_makes_the_reader_panic_or_pass_a_bound(content in prop::collection::vec(any::<u8>(), 0..600), name in ".{0,20}") {
        let _ = Named::parse(&name);
        if let Ok(jobs) = parse(&content) {
            prop_assert!(jobs.len() <= super::MOST_JOBS);
            for job in jobs {
                prop_assert!(!job.id.is_empty() && job.id.len() <= 256 && !job.id.contains('\n'));
            }
        }
    }

    #[test]
    fn no_object_makes_the_reader_panic(key in "(SLURM_JOB_ID|SLURM_JOB_USER|x)", value in any::<String>(), number in any::<f64>()) {
        let text = serde_json::json!({ "SLURM_JOB_ID": "1", key: value, "n": number, "o": {"a": [1]} }).to_string();
        if let Ok(jobs) = parse(text.as_bytes()) {
            prop_assert_eq!(jobs.len(), 1);
        }
    }
}
