//! Pages that are wrong, in one line or in all of them.

use gpu_exposition::{Format, Progress};

use super::super::{Memory, Mixture, Origin, PageStream, merge};
use super::{AT, outcome, text};

const GOOD: &str = "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-1\",Hostname=\"n\"} 50\n";

fn stream(page: &[u8]) -> Result<(String, u64), String> {
    let mut stream = PageStream::new(Format::Text);
    for piece in page.chunks(1000) {
        if stream.feed(piece) == Progress::Ended {
            break;
        }
    }
    let reader = stream.finish().map_err(|error| error.to_string())?;
    let origin = Origin {
        node: None,
        host: "h",
        at: AT,
        exporter: None,
        mixture: Mixture::OneScrape,
    };
    let outcome = reader.finish(&origin, &mut Memory::default());
    Ok((text(&merge(outcome.drafts)), outcome.skipped))
}

#[track_caller]
fn check_skips(bad: &str, skipped: u64) {
    let found = stream(format!("{GOOD}{bad}").as_bytes()).unwrap();
    assert_eq!(
        found,
        ("n 0 GPU-1 \"\" C=50\n".to_owned(), skipped),
        "after {bad:?}"
    );
}

#[test]
fn a_bad_line_costs_itself() {
    check_skips("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1\"} lots\n", 1);
    check_skips("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1\" 5\n", 1);
    check_skips("DCGM_FI_DEV_GPU_UTIL 5\n", 1);
    check_skips("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 5\n", 1);
    check_skips(
        "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1\",GPU_I_ID=\"x\",GPU_I_PROFILE=\"y\"} 5\n",
        1,
    );
    check_skips("\u{0}\u{1}\u{2}\n", 1);
    check_skips("go_goroutines lots\n# TYPE broken\n", 0);
    check_skips(
        &format!("DCGM_FI_DEV_GPU_UTIL{{UUID=\"{}\"}} 5\n", "x".repeat(1000)),
        1,
    );
}

#[test]
fn a_line_without_end_is_not_held() {
    let mut page = GOOD.as_bytes().to_vec();
    page.extend(std::iter::repeat_n(b'x', 1 << 20));
    page.extend_from_slice(b"\n");
    page.extend_from_slice(&GOOD.replace("GPU_TEMP", "SM_CLOCK").into_bytes());
    assert_eq!(
        stream(&page).unwrap(),
        ("n 0 GPU-1 \"\" C=50 MHz=50\n".to_owned(), 1)
    );
}

/// The number of a line that was cut is not the number that was meant.
#[test]
fn a_last_line_that_was_cut_is_not_read() {
    check_skips("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1\"} 8", 1);
}

#[test]
fn what_is_no_page_says_so() {
    let html = "<!DOCTYPE html>\n<html><body>not here</body></html>\n";
    assert!(
        stream(html.as_bytes())
            .unwrap_err()
            .starts_with("no line can be read, the first at line 1")
    );
    let other = "go_goroutines 7\nprocess_cpu_seconds_total 1.5\n";
    let said = stream(other.as_bytes()).unwrap_err();
    assert_eq!(
        said,
        "the page says nothing about GPUs in any vocabulary that is understood"
    );
    assert!(stream(b"").is_err());
    let noise = "<\n".repeat(2000);
    assert!(
        stream(noise.as_bytes())
            .unwrap_err()
            .starts_with("too many lines cannot be read")
    );
}

#[test]
fn a_page_that_names_thousands_of_gpus_is_bounded() {
    let page: String = (0..5000)
        .map(|gpu| GOOD.replace("GPU-1", &format!("GPU-{gpu}")))
        .collect();
    let outcome = outcome(&page, None);
    assert_eq!((outcome.drafts.len(), outcome.skipped), (256, 4744));
}

#[test]
fn times_that_cannot_be_true_are_replaced_and_counted() {
    let stamped =
        |seconds: i64| GOOD.replace(" 50\n", &format!(" 50 {}\n", (AT.as_second() + seconds) * 1000));
    for (seconds, taken, skewed) in [(-20, -20, 0), (2, 2, 0), (3600, 0, 1), (-86_400, 0, 1)] {
        let outcome = outcome(&stamped(seconds), None);
        let report = &outcome.drafts[0].report;
        let distance = report.taken_at.duration_since(AT).as_secs();
        assert_eq!((distance, outcome.skewed), (taken, skewed), "{seconds}");
    }
}

/// Damaged at random, but the same way every time.
#[test]
fn no_damage_makes_the_reader_panic_or_believe_the_impossible() {
    let page = [
        GOOD,
        "gpu_info{gpu=\"0\",uuid=\"GPU-1\",vendor=\"nvidia\",node=\"n\",partition=\"3g.40gb/1/0\"} 1\n",
        "gpu_memory_used_bytes{gpu=\"0\",uuid=\"GPU-1\",vendor=\"nvidia\",partition=\"rest\"} 1e12\n",
        "gpu_utilization_ratio{gpu=\"0\",uuid=\"GPU-1\",vendor=\"nvidia\",namespace=\"a\",pod=\"b\"} 0.5 -9223372036854775808\n",
        "DCGM_FI_DEV_FB_USED{gpu=\"0\",UUID=\"GPU-1\",GPU_I_ID=\"1\",GPU_I_PROFILE=\"1g.5gb\"} 100 9223372036854775807\n",
        "gpu_used_vram{gpu_id=\"1\",serial_number=\"5\",gpu_partition_id=\"1\",gpu_compute_partition_type=\"cpx\"} 100\n",
        "nvidia_smi_gpu_info{uuid=\"1\",name=\"x\",index=\"0\"} 1\n",
    ]
    .concat();
    let mut state = 42_u32;
    let mut random = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        usize::try_from(state >> 8).unwrap() % below
    };
    const BYTES: &[u8] = b"\0\n\"\\{}=, 09eE.-+NaNx";
    for _ in 0..3000 {
        let mut damaged = page.clone().into_bytes();
        for _ in 0..=random(4) {
            let at = random(damaged.len());
            match random(3) {
                0 => damaged[at] = BYTES[random(BYTES.len())],
                1 => damaged.insert(at, BYTES[random(BYTES.len())]),
                _ => drop(damaged.remove(at)),
            }
        }
        if let Ok((text, _)) = stream(&damaged) {
            assert!(!text.contains("NaN"), "{text}");
        }
    }
}
