//! Control groups as nodes really show them, beside who the process belongs to.

use proptest::prelude::*;

use super::{parse, uid_of_group};

const UID: &str = "0f4c6a9e-2b1d-4c3e-8f5a-6b7c8d9e0f1a";
const UID_: &str = "0f4c6a9e_2b1d_4c3e_8f5a_6b7c8d9e0f1a";
const STATIC: &str = "c2a1b0d9e8f7a6b5c4d3e2f1a0b9c8d7";
const ID: &str = "3f1e5d7c9b8a7f6e5d4c3b2a190817263f4e5d6c7b8a9f0e1d2c3b4a59687706";

/// Expected is `<pod uid or -> <container, if it is found, or -> <runtime or ->`.
#[track_caller]
fn check(text: &str, expected: &str) {
    let text = text
        .replace("{uid}", UID)
        .replace("{uid_}", UID_)
        .replace("{static}", STATIC)
        .replace("{id}", ID);
    let found = parse(&text).map(|found| {
        let container = found.container.map(|id| {
            assert_eq!(id.as_str(), ID);
            "container"
        });
        let runtime = found.runtime.map(|runtime| format!("{runtime:?}"));
        format!(
            "{} {} {}",
            found.uid.as_ref().map_or("-", |uid| uid.as_str()),
            container.unwrap_or("-"),
            runtime.as_deref().unwrap_or("-"),
        )
    });
    let expected = expected.replace("{uid}", UID).replace("{static}", STATIC);
    assert_eq!(found.as_deref().unwrap_or("host"), expected, "{text}");
}

#[test]
fn version_2_with_the_systemd_driver() {
    let tree = "0::/kubepods.slice";
    for (class, pod) in [
        ("/kubepods-burstable.slice", "kubepods-burstable-pod{uid_}.slice"),
        (
            "/kubepods-besteffort.slice",
            "kubepods-besteffort-pod{uid_}.slice",
        ),
        ("", "kubepods-pod{uid_}.slice"),
    ] {
        for (scope, runtime) in [
            ("cri-containerd-{id}.scope", "Containerd"),
            ("crio-{id}.scope", "CriO"),
            ("docker-{id}.scope", "Docker"),
            ("{id}", "-"),
        ] {
            let expected = format!("{{uid}} container {runtime}");
            check(&format!("{tree}{class}/{pod}/{scope}\n"), &expected);
            check(&format!("{tree}{class}/{pod}/{scope}/init.scope\n"), &expected);
            check(&format!("{tree}{class}/{pod}/{scope}/docker/{{id}}\n"), &expected);
        }
        check(
            &format!("{tree}{class}/{pod}/crio-conmon-{{id}}.scope"),
            "{uid} - -",
        );
        check(&format!("{tree}{class}/{pod}"), "{uid} - -");
    }
}

#[test]
fn version_2_with_the_cgroupfs_driver() {
    check("0::/kubepods/burstable/pod{uid}/{id}", "{uid} container -");
    check("0::/kubepods/besteffort/pod{uid}/{id}", "{uid} container -");
    check("0::/kubepods/pod{uid}/{id}", "{uid} container -");
    check("0::/kubepods/pod{uid}/crio-{id}", "{uid} container CriO");
    check(
        "0::/kubepods/pod{uid}/{id}/system.slice/a.service",
        "{uid} container -",
    );
}

#[test]
fn version_1_has_a_line_for_each_hierarchy() {
    check(
        "12:memory:/kubepods/burstable/pod{uid}/{id}\n\
         11:cpu,cpuacct:/kubepods/burstable/pod{uid}/{id}\n\
         1:name=systemd:/kubepods/burstable/pod{uid}/{id}\n",
        "{uid} container -",
    );
    check(
        "12:rdma:/\n9:memory:/kubepods.slice/kubepods-pod{uid_}.slice/docker-{id}.scope\n0::/system.slice/docker.service\n",
        "{uid} container Docker",
    );
}

#[test]
fn the_line_that_knows_most_wins() {
    check(
        "4:pids:/kubepods/pod{uid}\n3:cpu:/kubepods/pod{uid}/{id}\n0::/\n",
        "{uid} container -",
    );
    check("4:pids:/docker/{id}\n3:cpu:/kubepods/pod{uid}\n", "{uid} - -");
}

#[test]
fn trees_inside_of_trees() {
    check(
        "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/\
         kubelet-kubepods-burstable-pod{uid_}.slice/cri-containerd-{id}.scope",
        "{uid} container Containerd",
    );
    check(
        "0::/docker/{id}/kubelet/kubepods/pod{uid}/{id}",
        "{uid} container -",
    );
    check(
        "0::/testbed/node-1/kubepods/burstable/pod{uid}/{id}",
        "{uid} container -",
    );
    check(
        "0::/kubepods/pod{uid}/{id}/kubelet/kubepods/pod{static}/{id}",
        "{uid} container -",
    );
    check(
        "0::/system.slice/containerd.service/kubepods-besteffort-pod{uid_}.slice:cri-containerd:{id}",
        "{uid} container Containerd",
    );
}

#[test]
fn static_pods_have_a_hash_for_a_uid() {
    check("0::/kubepods/burstable/pod{static}/{id}", "{static} container -");
    check(
        "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{static}.slice/crio-{id}.scope",
        "{static} container CriO",
    );
}

#[test]
fn a_private_view_shows_relative_paths() {
    check("0::/../../../burstable/pod{uid}/{id}", "{uid} container -");
    check("0::/../../pod{uid}/{id}", "{uid} container -");
    check(
        "0::/../../kubepods-besteffort-pod{uid_}.slice/cri-containerd-{id}.scope",
        "{uid} container Containerd",
    );
    check("0::/../{id}", "- container -");
    check("0::/../cri-containerd-{id}.scope", "- container Containerd");
    check("0::/../../../../system.slice/sshd.service", "host");
}

#[test]
fn containers_outside_of_kubernetes() {
    check("0::/system.slice/docker-{id}.scope", "- container Docker");
    check("5:cpu:/docker/{id}", "- container -");
}

#[test]
fn processes_of_the_host() {
    for text in [
        "",
        "\n\n",
        ":",
        "::",
        "0::",
        "0::/",
        "no colons",
        "0::/system.slice/nvidia-persistenced.service",
        "0::/user.slice/user-1000.slice/session-3.scope",
        "0::/pod{uid}/{id}x",
        "0::/kubepods/podnotauid",
        "0::/kubepods.slice/kubepods-pod.slice",
        "0::/kubepods.slice/system-pod{uid_}.slice",
    ] {
        check(text, "host");
    }
}

#[test]
fn a_directory_is_a_pod_only_when_its_whole_name_says_so() {
    let uid = |name: &str| uid_of_group(name).map(|uid| uid.as_str().to_owned());
    assert_eq!(uid(&format!("pod{UID}")).as_deref(), Some(UID));
    assert_eq!(
        uid(&format!("kubepods-burstable-pod{UID_}.slice")).as_deref(),
        Some(UID)
    );
    assert_eq!(
        uid(&format!("kubepods-pod{UID_}.slice:cri-containerd:{ID}")),
        None
    );
    assert_eq!(uid("burstable"), None);
}

proptest! {
    #[test]
    fn fuzz_no_text_breaks_the_parser(text in "(.|\n){0,300}") {
        parse(&text);
    }

    #[test]
    fn fuzz_what_looks_like_control_groups_does_not_break_the_parser(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "0::", "3:cpu,cpuacct:", "/", "/..", "\n", "kubepods", ".slice", "-burstable", "-pod", "pod", UID, UID_, STATIC, ID,
                "cri-containerd-", "crio-", ".scope", ":cri-containerd:", "é", "a",
            ]),
            0..24,
        ),
    ) {
        if let Some(found) = parse(&parts.concat()) {
            prop_assert!(found.uid.is_some() || found.container.is_some());
        }
    }
}
