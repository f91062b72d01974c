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
pub(crate) fn fields(file: &Path, names: &[&str]) -> Option<Vec<String>> {
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
    let output = output_of("tshark", &arguments)?;
    Some(output.lines().map(str::to_owned).collect())
}

/// What `program` prints; `None`, with the reason on stderr, where it is not installed.
pub(crate) fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = match Command::new(program).args(arguments).output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: {program} does not start: {error}");
            return None;
        }
    };
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap())
}
