//! The memory that this process can still take: what the machine has available, and what its control groups leave.

use std::path::Path;

use wirecost_files::system;

use crate::environment::Load;

/// Memory that can still be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes that this process may still take.
    pub bytes: u64,
    /// What limits them.
    pub holder: Holder,
}

/// What limits the memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The machine.
    Machine,
    /// A control group of the process, as containers and services have.
    Group,
}

impl Room {
    /// The room of this process; without a limit where the kernel tells none.
    pub fn read() -> Self {
        let machine = match Load::read().available_bytes {
            0 => u64::MAX,
            available => available,
        };
        let text = |path: &Path| system::text(path).ok();
        let groups = text(Path::new("/proc/self/cgroup"));
        let left = groups.and_then(|groups| left_by_groups(&groups, &text));
        match left {
            Some(bytes) if bytes < machine => Self {
                bytes,
                holder: Holder::Group,
            },
            _ => Self {
                bytes: machine,
                holder: Holder::Machine,
            },
        }
    }
}

/// The files of a hierarchy of control groups: where it is mounted, limit, usage, and what the kernel can drop of the usage.
struct Hierarchy {
    mount: &'static str,
    limit: &'static str,
    usage: &'static str,
    droppable: &'static str,
}

/// Documentation/admin-guide/cgroup-v2.rst of Linux.
const UNIFIED: Hierarchy = Hierarchy {
    mount: "/sys/fs/cgroup",
    limit: "memory.max",
    usage: "memory.current",
    droppable: "inactive_file ",
};
/// Documentation/admin-guide/cgroup-v1/memory.rst of Linux.
const OF_MEMORY: Hierarchy = Hierarchy {
    mount: "/sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    droppable: "total_inactive_file ",
};

/// The bytes that the control groups of /proc/self/cgroup (cgroups(7)) leave, the least over each group and those above it; `None`
/// without a limit.
fn left_by_groups(groups: &str, text: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
    let of_line = |line: &str| {
        // The path is last and may itself have colons.
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let hierarchy = match controllers {
            // cgroups(7): the line of version 2 names no controllers.
            "" => &UNIFIED,
            some if some.split(',').any(|one| one == "memory") => &OF_MEMORY,
            _ => return None,
        };
        let group = Path::new(path.trim_start_matches('/'));
        group
            .ancestors()
            .filter_map(|group| left_by(hierarchy, &Path::new(hierarchy.mount).join(group), text))
            .min()
    };
    groups.lines().filter_map(of_line).min()
}

/// The bytes that one control group leaves; `None` without a limit.
fn left_by(hierarchy: &Hierarchy, group: &Path, text: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
    let number = |name: &str| text(&group.join(name))?.trim().parse::<u64>().ok();
    let limit = number(hierarchy.limit)?;
    let usage = number(hierarchy.usage)?;
    let stat = text(&group.join("memory.stat")).unwrap_or_default();
    let droppable = stat
        .lines()
        .find_map(|line| line.strip_prefix(hierarchy.droppable));
    let droppable = droppable.and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
    Some(limit.saturating_sub(usage.saturating_sub(droppable)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(groups: &str, files: &[(&str, &str)]) -> Option<u64> {
        left_by_groups(groups, &|path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == path);
            found.map(|(_, text)| (*text).to_owned())
        })
    }

    #[test]
    fn the_narrowest_group_above_a_process_limits_it() {
        let files = [
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/b/memory.current", "500\n"),
            ("/sys/fs/cgroup/a/memory.max", "9000\n"),
            ("/sys/fs/cgroup/a/memory.current", "3000\n"),
            (
                "/sys/fs/cgroup/a/memory.stat",
                "anon 2000\ninactive_file 1000\nactive_file 7\n",
            ),
        ];
        assert_eq!(left("0::/a/b\n", &files), Some(7_000));
        assert_eq!(left("0::/c\n", &files), None);
        assert_eq!(left("", &files), None);
    }

    #[test]
    fn a_container_that_sees_its_own_group_at_the_root_is_limited() {
        let files = [
            ("/sys/fs/cgroup/memory.max", "100"),
            ("/sys/fs/cgroup/memory.current", "140"),
        ];
        assert_eq!(left("0::/not/visible/here\n", &files), Some(0));
    }

    #[test]
    fn the_older_hierarchy_limits_too() {
        let files = [
            ("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "5000"),
            ("/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "1000"),
            ("/sys/fs/cgroup/memory/x/memory.stat", "total_inactive_file 10\n"),
        ];
        assert_eq!(left("4:cpu:/x\n3:memory,hugetlb:/x\n0::/\n", &files), Some(4_010));
    }
}
