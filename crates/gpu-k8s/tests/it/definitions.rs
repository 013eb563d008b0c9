//! The chart's definitions are made from the types; `UPDATE_GOLDEN=1` writes them anew.

use std::path::{Path, PathBuf};

use gpu_k8s::kinds::definitions;

pub(crate) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/gpu-autoscaler/crds")
}

#[test]
fn the_chart_carries_the_definitions_of_today() {
    let directory = directory();
    let mut names = Vec::new();
    for definition in definitions() {
        let name = format!("{}.yaml", definition.metadata.name.as_deref().unwrap_or_default());
        let yaml = serde_saphyr::to_string(&definition).expect("a definition can be written");
        let text = format!(
            "# Made from the types in crates/gpu-k8s/src/kinds; `cargo xtask bless` writes it anew.\n{yaml}\n"
        );
        let path = directory.join(&name);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::create_dir_all(&directory).expect("the directory can be made");
            std::fs::write(&path, &text).expect("the definition can be written");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == text, "{name} is out of date; run with UPDATE_GOLDEN=1");
        names.push(name);
    }
    let mut found: Vec<String> = std::fs::read_dir(&directory)
        .expect("the chart has definitions")
        .map(|entry| {
            entry
                .expect("it can be listed")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    found.sort();
    assert_eq!(
        found, names,
        "a definition without its type, or a type without its definition"
    );
}
