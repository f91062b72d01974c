//! Asking Wireshark's programs.

use std::path::Path;
use std::process::Command;

/// Off by default, because network cards fill checksums in.
const CHECK_CHECKSUMS: [&str; 3] = [
    "ip.check_checksum:TRUE",
    "tcp.check_checksum:TRUE",
    "udp.check_checksum:TRUE",
];

/// A row per packet with `names` between bars, as tshark sees `file`.
pub(crate) fn fields(file: &Path, names: &[&str]) -> Vec<String> {
    let mut arguments = vec![
        "-r",
        file.as_os_str().to_str().unwrap(),
        "-T",
        "fields",
        "-E",
        "separator=|",
    ];
    for preference in CHECK_CHECKSUMS {
        arguments.extend(["-o", preference]);
    }
    for name in names {
        arguments.extend(["-e", name]);
    }
    output_of("tshark", &arguments)
        .lines()
        .map(str::to_owned)
        .collect()
}

/// What `program` prints. A judge that is not installed fails the test: scripts/test installs it.
pub(crate) fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program} does not start ({error}): scripts/test installs it"));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
