//! Network settings of a namespace (sysctls): written, read back, and recorded.

use std::collections::BTreeMap;
use std::{fs, io};

use wirecost_files::system;

/// Settings by their dotted name, as the kernel reads them back.
pub type Settings = BTreeMap<String, String>;

/// The congestion control of sockets that choose none.
pub(crate) const CONGESTION_CONTROL: &str = "net.ipv4.tcp_congestion_control";

/// The settings of both namespaces in every measurement. The virtual TCP's `linux` preset uses the same values.
pub(crate) const REQUIRED: [(&str, &str); 24] = [
    (CONGESTION_CONTROL, "cubic"),
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
    ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
    ("net.ipv4.tcp_timestamps", "1"),
    ("net.ipv4.tcp_sack", "1"),
    ("net.ipv4.tcp_ecn", "0"),
    ("net.ipv4.tcp_slow_start_after_idle", "1"),
    ("net.ipv4.tcp_fastopen", "0"),
    UNPRIVILEGED_PORTS,
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    ("net.ipv6.ip_nonlocal_bind", "1"),
    ("net.ipv6.conf.all.disable_ipv6", "0"),
    ("net.ipv6.conf.default.disable_ipv6", "0"),
    // No router solicitation, no autoconfiguration, no duplicate address detection, no link-local address: only the
    // packets of a cell may cross the link.
    ("net.ipv6.conf.all.accept_ra", "0"),
    ("net.ipv6.conf.default.accept_ra", "0"),
    ("net.ipv6.conf.all.autoconf", "0"),
    ("net.ipv6.conf.default.autoconf", "0"),
    ("net.ipv6.conf.all.accept_dad", "0"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.dad_transmits", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
    ("net.ipv6.conf.default.addr_gen_mode", "1"), // none
];

/// Settings that stay at the kernel's values, and are recorded because they affect results.
const OBSERVED: [&str; 14] = [
    "net.core.somaxconn",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_dsack",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_min_rto_us",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_retries2",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_window_scaling",
];

/// The setting from which on any user may listen at a port. Servers that are not root listen at registered ports.
const UNPRIVILEGED_PORTS: (&str, &str) = ("net.ipv4.ip_unprivileged_port_start", "0");

/// The settings of the calling thread's network namespace that a load on loopback depends on, for a new namespace: a namespace begins
/// with the kernel's values and not with those that this machine was given. In a new one any user may listen at any port.
pub(crate) fn of_loads() -> Settings {
    const FOLDER: &str = "net.ipv4";
    const FURTHER: [&str; 3] = [
        "net.core.somaxconn",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
    ];
    let entries = fs::read_dir(path(FOLDER)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let of_tcp = names.filter(|name| name.starts_with("tcp_"));
    let names = of_tcp
        .map(|name| format!("{FOLDER}.{name}"))
        .chain(FURTHER.map(str::to_owned));
    let mut settings: Settings = names
        // Some are for root alone, or can only be written.
        .filter_map(|name| Some((name.clone(), read(&name).ok()?)))
        .collect();
    let (name, value) = UNPRIVILEGED_PORTS;
    settings.insert(name.into(), value.into());
    settings
}

/// The settings of one namespace after they were applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Every configured or observed setting, as read back.
    pub settings: Settings,
    /// One line for each setting with another value than configured.
    pub warnings: Vec<String>,
}

/// Applies `REQUIRED`, then `overrides`, to the calling thread's network namespace, and reads everything back. A
/// setting that cannot be changed is a warning, and its actual value is recorded.
pub fn apply(overrides: &Settings) -> Applied {
    let mut wanted: Settings = REQUIRED
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    // Last, so that what the user asks for stands instead of our own value.
    wanted.extend(overrides.clone());
    let mut applied = Applied::default();
    for (name, value) in &wanted {
        let outcome = write(name, value);
        // The kernel may refuse or round a value: only what is read back is true.
        match read(name) {
            Ok(found) => {
                if found != *value {
                    applied
                        .warnings
                        .push(mismatch(name, value, &found, outcome.err()));
                }
                applied.settings.insert(name.clone(), found);
            }
            Err(error) => applied
                .warnings
                .push(format!("{name} is not on this machine: {error}")),
        }
    }
    let observed = OBSERVED
        .iter()
        .filter_map(|name| Some((name.to_string(), read(name).ok()?)));
    applied.settings.extend(observed);
    applied
}

fn mismatch(name: &str, value: &str, found: &str, refused: Option<io::Error>) -> String {
    let reason = refused.map(|error| format!(" ({error})")).unwrap_or_default();
    format!("{name} should be {value:?}, is {found:?}{reason}")
}

/// Writes one setting of the calling thread's network namespace.
///
/// # Errors
/// ENOENT if the kernel has no such setting, EACCES or EROFS if it may not be changed.
pub fn write(name: &str, value: &str) -> io::Result<()> {
    system::set(path(name), value)
}

/// Reads one setting of the calling thread's network namespace, with tabs replaced by single spaces.
///
/// # Errors
/// ENOENT if the kernel has no such setting.
pub fn read(name: &str) -> io::Result<String> {
    let text = system::text(path(name))?;
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The file of a setting.
pub(crate) fn path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_read_with_single_spaces() {
        let range = read("net.ipv4.ip_local_port_range").unwrap();
        assert_eq!(range.split(' ').count(), 2);
    }

    #[test]
    fn a_value_that_did_not_change_names_both_values() {
        let refused = Some(io::Error::from_raw_os_error(libc::ENOENT));
        let warning = mismatch(CONGESTION_CONTROL, "cubic", "reno", refused);
        assert!(warning.starts_with(r#"net.ipv4.tcp_congestion_control should be "cubic", is "reno" ("#));
    }
}
