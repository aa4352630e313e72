//! The memory limit of a control group, version 1 or 2.
//!
//! A group's limit applies to all groups below it, so the lowest limit on the way up counts. In a container,
//! the path that `/proc/self/cgroup` names may be one of the host's, which is not mounted. Then the mount
//! itself is the group.

use std::fs;
use std::path::Path;

/// The lowest limit in bytes, of the groups that `groups` (the text of `/proc/self/cgroup`) names and those
/// above them. `mount`: where control groups are mounted.
pub(crate) fn limit_bytes(mount: &Path, groups: &str) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let (roots, file): (&[&str], &str) = if controllers.is_empty() {
            (&["", "unified"], "memory.max")
        } else if controllers.split(',').any(|name| name == "memory") {
            (&["memory"], "memory.limit_in_bytes")
        } else {
            return None;
        };
        roots
            .iter()
            .filter_map(|root| lowest(&mount.join(root), path, file))
            .min()
    });
    limits.min()
}

/// The lowest of the limits in `file`, of the group at `path` below `root` and all above it.
fn lowest(root: &Path, path: &str, file: &str) -> Option<u64> {
    let mut limits = Vec::new();
    let mut path = path.trim_matches('/');
    loop {
        let text = fs::read_to_string(root.join(path).join(file));
        // "max", and no file in the root group of version 2: no limit.
        limits.extend(text.ok().and_then(|text| text.trim().parse::<u64>().ok()));
        if path.is_empty() {
            return limits.into_iter().min();
        }
        path = path.rsplit_once('/').map_or("", |(above, _)| above);
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A directory that is removed when this is dropped.
    struct Mount(PathBuf);

    impl Mount {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let mount = std::env::temp_dir().join(format!("stemdb-cgroup-{name}-{}", std::process::id()));
            for (path, text) in files {
                let path = mount.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(mount)
        }
    }

    impl Drop for Mount {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn version_2_counts_the_lowest_on_the_way_up() {
        let mount = Mount::new(
            "v2",
            &[
                ("system.slice/memory.max", "3000\n"),
                ("system.slice/stemdb.service/memory.max", "max\n"),
                ("user.slice/memory.max", "10\n"),
            ],
        );
        let limit = |groups| limit_bytes(&mount.0, groups);
        assert_eq!(limit("0::/system.slice/stemdb.service\n"), Some(3000));
        assert_eq!(limit("0::/system.slice/other.service\n"), Some(3000));
        assert_eq!(limit("0::/\n"), None);
        assert_eq!(limit(""), None);
    }

    #[test]
    fn version_1_and_both_at_once() {
        let mount = Mount::new(
            "v1",
            &[
                ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("memory/a/b/memory.limit_in_bytes", "5000\n"),
                ("unified/a/memory.max", "4000\n"),
            ],
        );
        let limit = |groups| limit_bytes(&mount.0, groups);
        assert_eq!(limit("4:cpu,memory:/a/b\n3:pids:/x\n"), Some(5000));
        assert_eq!(limit("4:memory:/a/b\n0::/a/c\n"), Some(4000));
        assert_eq!(limit("4:memory:/elsewhere\n"), Some(9_223_372_036_854_771_712));
    }

    #[test]
    fn in_a_container_the_mount_is_the_group() {
        let mount = Mount::new("container", &[("memory.max", "7000\n")]);
        assert_eq!(limit_bytes(&mount.0, "0::/docker/0123\n"), Some(7000));
    }
}
