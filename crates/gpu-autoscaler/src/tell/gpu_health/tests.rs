//! Which faults condemn a GPU, and what pardons it.

use std::sync::Arc;

use gpu_model::{Celsius, Device, FaultCount, GpuIndex, TargetReport};

use super::*;

const HOUR: i64 = 3600;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn sample(faults: &[(u32, u64)]) -> GpuSample {
    GpuSample {
        temperature: Reading::Known(Celsius(40)),
        faults: faults
            .iter()
            .map(|(code, count)| FaultCount {
                code: *code,
                count: *count,
            })
            .collect(),
        ..GpuSample::default()
    }
}

fn harvest(samples: &[(u16, GpuSample)]) -> Harvest {
    let gpus = samples.iter().map(|(index, sample)| GpuReport {
        node: "n1".parse().unwrap(),
        device: Arc::new(Device {
            uuid: format!("GPU-{index}").parse().unwrap(),
            index: GpuIndex(*index),
            vendor: Vendor::Nvidia,
            model: "NVIDIA H100".to_owned(),
            driver: None,
            pci_address: None,
        }),
        taken_at: at(0),
        sample: sample.clone(),
        parts: Vec::new(),
    });
    Harvest {
        at: at(0),
        gpus: gpus.collect(),
        targets: vec![target()],
    }
}

fn target() -> TargetReport {
    TargetReport {
        name: "n1:9400".to_owned(),
        node: Some("n1".parse().unwrap()),
        last_success: Some(at(0)),
        failure: None,
        skipped_lines: 0,
        skewed_samples: 0,
        warnings: Vec::new(),
        gpus: 1,
    }
}

fn nodes(boot: &str, is_ready: bool, exporter_answers: bool) -> BTreeMap<NodeName, NodeFacts> {
    let facts = NodeFacts {
        is_ready,
        exporter_answers,
        machine: "i-1".to_owned(),
        boot: Some(boot.to_owned()),
    };
    [("n1".parse().unwrap(), facts)].into()
}

struct Watch {
    memory: HealthMemory,
}

impl Watch {
    fn new() -> Self {
        Self {
            memory: HealthMemory::default(),
        }
    }

    /// One round, and its news in words.
    fn round(
        &mut self,
        seconds: i64,
        samples: &[(u16, GpuSample)],
        nodes: &BTreeMap<NodeName, NodeFacts>,
    ) -> Vec<String> {
        let settings = HealthSettings::default();
        let memory = std::mem::take(&mut self.memory);
        let turn = memory.judge(&harvest(samples), nodes, at(seconds), &settings);
        self.memory = turn.memory;
        turn.news
            .iter()
            .map(|news| {
                let sign = if news.is_over { "-" } else { "+" };
                format!("{sign}{} {}", news.uuid, news.trouble.reason())
            })
            .collect()
    }

    fn up(&mut self, seconds: i64, samples: &[(u16, GpuSample)]) -> Vec<String> {
        self.round(seconds, samples, &nodes("b1", true, true))
    }
}

#[test]
fn faults_of_the_hardware_condemn_and_those_of_programs_never_do() {
    for code in [48, 62, 64, 74, 79, 95, 110, 119, 120, 140, 144, 150] {
        let mut watch = Watch::new();
        assert!(watch.up(0, &[(0, sample(&[]))]).is_empty());
        assert_eq!(
            watch.up(30, &[(0, sample(&[(code, 1)]))]),
            [format!("+GPU-0 XID{code}")]
        );
        assert_eq!(watch.memory.excluded(&HealthSettings::default()).len(), 1);
    }
    for code in [13, 31, 32, 43, 45, 69] {
        let mut watch = Watch::new();
        assert!(
            watch.up(0, &[(0, sample(&[(code, 50_000)]))]).is_empty(),
            "{code}"
        );
        assert!(watch.memory.excluded(&HealthSettings::default()).is_empty());
    }
}

#[test]
fn errors_that_the_gpu_mends_count_when_they_come_often() {
    let mut watch = Watch::new();
    assert!(watch.up(0, &[(0, sample(&[(94, 1)]))]).is_empty());
    assert!(watch.up(30, &[(0, sample(&[(94, 2)]))]).is_empty());
    assert_eq!(watch.up(60, &[(0, sample(&[(94, 3)]))]), ["+GPU-0 XID94"]);
    // Spread over days, they never do.
    let mut watch = Watch::new();
    for day in 0..10 {
        let count = u64::try_from(day).unwrap() + 1;
        assert!(
            watch
                .up(day * 25 * HOUR, &[(0, sample(&[(63, count)]))])
                .is_empty()
        );
    }
}

#[test]
fn an_exporter_that_starts_anew_repeats_no_fault_and_hides_none() {
    let mut watch = Watch::new();
    watch.up(0, &[(0, sample(&[(79, 2)]))]);
    // Its counters begin at nothing: the verdict stays, and nothing is counted twice.
    assert!(watch.up(30, &[(0, sample(&[]))]).is_empty());
    assert!(watch.up(60, &[(0, sample(&[(79, 2)]))]).is_empty());
    let (_, _, _, spell) =
        watch.memory.by_node(&HealthSettings::default())[&"n1".parse::<NodeName>().unwrap()][0].clone();
    assert_eq!((spell.times, spell.last), (2, at(0)));
    // A counter that fell counts from nothing.
    assert!(watch.up(90, &[(0, sample(&[(79, 1)]))]).is_empty());
    let (_, _, _, spell) =
        watch.memory.by_node(&HealthSettings::default())[&"n1".parse::<NodeName>().unwrap()][0].clone();
    assert_eq!((spell.times, spell.last), (3, at(90)));
}

#[test]
fn what_is_remembered_can_be_written_down_and_read_again() {
    let mut watch = Watch::new();
    let failed = GpuSample {
        ecc_uncorrected: Reading::Known(1),
        row_remap_failed: Reading::Known(true),
        ..sample(&[(79, 1), (13, 2)])
    };
    watch.up(0, &[(0, failed)]);
    let record = watch.memory.gpus.values().next().unwrap();
    let text = serde_json::to_string(record).unwrap();
    assert_eq!(&serde_json::from_str::<GpuRecord>(&text).unwrap(), record);
    assert!(Trouble::try_from("XIDx".to_owned()).is_err());
}

#[test]
fn a_reboot_or_a_clean_day_pardons_and_nothing_else() {
    let mut watch = Watch::new();
    watch.up(0, &[(0, sample(&[(79, 1)]))]);
    assert!(watch.up(23 * HOUR, &[(0, sample(&[(79, 1)]))]).is_empty());
    assert_eq!(watch.up(24 * HOUR, &[(0, sample(&[(79, 1)]))]), ["-GPU-0 XID79"]);
    watch.up(25 * HOUR, &[(0, sample(&[(79, 2)]))]);
    let rebooted = watch.round(26 * HOUR, &[(0, sample(&[]))], &nodes("b2", true, true));
    assert_eq!(rebooted, ["-GPU-0 XID79"]);
}

#[test]
fn memory_errors_and_failed_rows_condemn() {
    let mut watch = Watch::new();
    let with = |ecc: u64, failed: Reading<bool>| GpuSample {
        ecc_uncorrected: Reading::Known(ecc),
        row_remap_failed: failed,
        ..sample(&[])
    };
    assert!(watch.up(0, &[(0, with(0, Reading::Known(false)))]).is_empty());
    assert_eq!(
        watch.up(30, &[(0, with(4, Reading::Known(false)))]),
        ["+GPU-0 UncorrectedMemoryErrors"]
    );
    assert_eq!(
        watch.up(60, &[(0, with(4, Reading::Known(true)))]),
        ["+GPU-0 RowRemapFailed"]
    );
    // Not read is not mended.
    assert!(watch.up(90, &[(0, with(4, Reading::Failed))]).is_empty());
    assert_eq!(
        watch.up(120, &[(0, with(4, Reading::Known(false)))]),
        ["-GPU-0 RowRemapFailed"]
    );
}

#[test]
fn a_gpu_is_lost_only_when_its_node_and_its_exporter_answer() {
    let both = [(0, sample(&[])), (1, sample(&[]))];
    let one = [(0, sample(&[]))];
    let mut watch = Watch::new();
    watch.up(0, &both);
    // The exporter is silent for an hour: nothing is known.
    for minute in 1..60 {
        assert!(
            watch
                .round(minute * 60, &[], &nodes("b1", true, false))
                .is_empty()
        );
    }
    // The node is not ready.
    assert!(watch.round(2 * HOUR, &one, &nodes("b1", false, true)).is_empty());
    assert!(watch.up(3 * HOUR, &one).is_empty());
    assert!(watch.up(3 * HOUR + 299, &one).is_empty());
    assert_eq!(watch.up(3 * HOUR + 300, &one), ["+GPU-1 GPULost"]);
    assert!(watch.up(3 * HOUR + 330, &both).is_empty());
    assert_eq!(watch.up(3 * HOUR + 630, &both), ["-GPU-1 GPULost"]);
}

#[test]
fn a_gpu_that_answers_nothing_is_lost_too_and_a_machine_that_went_takes_its_record_along() {
    let silent = GpuSample {
        utilization: Reading::Failed,
        memory_used: Reading::Failed,
        power: Reading::Failed,
        temperature: Reading::Failed,
        ..GpuSample::default()
    };
    let mut watch = Watch::new();
    watch.up(0, &[(0, sample(&[]))]);
    watch.up(30, &[(0, silent.clone())]);
    assert_eq!(watch.up(330, &[(0, silent)]), ["+GPU-0 GPULost"]);
    let gone = watch.round(360, &[], &BTreeMap::new());
    assert_eq!(gone, ["-GPU-0 GPULost"]);
    assert!(watch.memory.gpus.is_empty());
}
