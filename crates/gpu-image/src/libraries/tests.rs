//! The loader's list in its known shapes.

use super::*;

#[track_caller]
fn check(list: &str, expected: Result<&[&str], &str>) {
    let expected = expected
        .map(|paths| paths.iter().map(PathBuf::from).collect::<Vec<_>>())
        .map_err(str::to_owned);
    assert_eq!(parse(list), expected);
}

#[test]
fn the_kernels_library_has_no_file() {
    check(
        "\tlinux-vdso.so.1 (0x00007fff)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x7f)\n\t/lib64/ld.so (0x7e)\n",
        Ok(&["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld.so"]),
    );
}

#[test]
fn a_path_with_blanks_survives() {
    check(
        "\tliba.so => /opt/my libs/liba.so (0x7f)\n",
        Ok(&["/opt/my libs/liba.so"]),
    );
}

#[test]
fn a_missing_library_is_named() {
    check("\tliba.so => not found\n", Err("liba.so => not found"));
}
