//! The one layer of an image: files in a tar archive whose bytes depend on nothing but names and contents.

use std::collections::BTreeMap;

use tar::{Builder, EntryType, Header};

use crate::USER_ID;

/// Files by path, without the leading slash. Directories follow from the paths.
#[derive(Debug, Default)]
pub(crate) struct Files {
    files: BTreeMap<String, File>,
}

#[derive(Debug)]
struct File {
    mode: u32,
    bytes: Vec<u8>,
}

impl Files {
    /// What programs expect of a system: their user's name, and host names from the hosts file before the name server.
    pub(crate) fn with_system() -> Self {
        let mut files = Self::default();
        files.plain(
            "etc/passwd",
            format!(
                "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:{USER_ID}:{USER_ID}:nonroot:/:/sbin/nologin\n"
            ),
        );
        files.plain("etc/group", format!("root:x:0:\nnonroot:x:{USER_ID}:\n"));
        files.plain("etc/nsswitch.conf", "hosts: files dns\n");
        files
    }

    pub(crate) fn plain(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.files.insert(
            path.to_owned(),
            File {
                mode: 0o644,
                bytes: bytes.into(),
            },
        );
    }

    pub(crate) fn program(&mut self, path: &str, bytes: Vec<u8>) {
        self.files.insert(path.to_owned(), File { mode: 0o755, bytes });
    }

    /// The layer's bytes: every directory before what is in it, everything in the order of names.
    pub(crate) fn into_layer(self) -> Vec<u8> {
        let mut entries: BTreeMap<String, Option<File>> = BTreeMap::new();
        for (path, file) in self.files {
            for (at, _) in path.match_indices('/') {
                entries.insert(format!("{}/", &path[..at]), None);
            }
            entries.insert(path, Some(file));
        }
        // Programs may use it when a container mounts something writable there.
        entries.insert("tmp/".to_owned(), None);
        let mut tar = Builder::new(Vec::new());
        for (path, file) in entries {
            match file {
                Some(file) => append(&mut tar, EntryType::Regular, &path, file.mode, &file.bytes),
                None => {
                    let mode = if path == "tmp/" { 0o1777 } else { 0o755 };
                    append(&mut tar, EntryType::Directory, &path, mode, &[]);
                }
            }
        }
        tar.into_inner().expect("writing to memory cannot fail")
    }
}

/// Appends one entry that belongs to root and has no age.
pub(crate) fn append(tar: &mut Builder<Vec<u8>>, kind: EntryType, path: &str, mode: u32, bytes: &[u8]) {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(u64::try_from(bytes.len()).expect("a length fits 64 bits"));
    tar.append_data(&mut header, path, bytes)
        .expect("writing to memory cannot fail");
}
