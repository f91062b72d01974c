//! Real programs in a network namespace of their own, recorded.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use wirecost_dissect::{Report, read};

/// Commands before and after the programs of a case. They disable tail loss probes (RFC 8985 section 7), which a busy
/// machine provokes, because tshark does not decrypt retransmitted data.
const BEFORE: &str = "
set -eu
ip link set lo gso_max_segs 1 up
echo 0 > /proc/sys/net/ipv4/tcp_early_retrans
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2 \
    -subj /CN=localhost 2>/dev/null
chmod a+rx . && chmod a+r key.pem
head -c 20000 /dev/zero | tr '\\0' x > body
dumpcap -q -i lo -f 'tcp or udp' -w capture.pcapng 2>/dev/null &
recorder=$!
sleep 1.2
";
const AFTER: &str = "
sleep 0.5
kill -INT $recorder
wait $recorder || true
";

/// A recording of programs.
pub(crate) struct Recording {
    folder: TempDir,
}

impl Recording {
    /// Runs a shell script of programs. It needs root, as scripts/test has.
    pub(crate) fn from_script(script: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let output = Command::new("unshare")
            .args(["--net", "bash", "-c", &format!("{BEFORE}{script}{AFTER}")])
            .current_dir(folder.path())
            .output()
            .expect("unshare starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}: {stderr}");
        Self { folder }
    }

    fn path(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        path.to_str().expect("a path of ASCII").to_owned()
    }

    /// The report of wirecost, with the key log if there is one.
    pub(crate) fn report(&self) -> Report {
        let keys = std::fs::read_to_string(self.path("keys")).unwrap_or_default();
        self.report_with(&self.path("capture.pcapng"), &keys)
    }

    /// The report of wirecost on the capture in another format of Wireshark.
    pub(crate) fn report_as(&self, format: &str) -> Report {
        let keys = std::fs::read_to_string(self.path("keys")).unwrap_or_default();
        let (from, to) = (self.path("capture.pcapng"), self.path(format));
        output_of("editcap", &["-F", format, &from, &to]);
        self.report_with(&to, &keys)
    }

    /// The report of wirecost without secrets.
    pub(crate) fn report_without_secrets(&self) -> Report {
        self.report_with(&self.path("capture.pcapng"), "")
    }

    fn report_with(&self, path: &str, keys: &str) -> Report {
        let file = File::open(Path::new(path)).expect("a capture");
        let reading = read(file, keys).expect("a capture");
        assert!(reading.fault.is_none(), "{:?}", reading.fault);
        reading.report
    }

    /// The values of the fields `names` in every packet that matches `filter`, by tshark. A field may occur several
    /// times.
    pub(crate) fn fields(&self, filter: &str, names: &[&str]) -> Vec<Vec<Vec<u64>>> {
        let keys = format!("tls.keylog_file:{}", self.path("keys"));
        let capture = self.path("capture.pcapng");
        let mut arguments = vec!["-n", "-r", &capture, "-o", &keys, "-Y", filter, "-T", "fields"];
        // Otherwise tshark may take a client's port for the port of another protocol.
        arguments.extend(["-d", "tcp.port==4433,tls"]);
        arguments.extend(["-E", "separator=|", "-E", "occurrence=a", "-E", "aggregator=,"]);
        names.iter().for_each(|name| arguments.extend(["-e", name]));
        let text = output_of("tshark", &arguments);
        let numbers = |field: &str| {
            field
                .split(',')
                .filter_map(|number| number.parse().ok())
                .collect()
        };
        let row = |line: &str| line.split('|').map(numbers).collect();
        text.lines().map(row).collect()
    }

    /// The sum of one field over every packet that matches `filter`.
    pub(crate) fn sum(&self, filter: &str, name: &str) -> u64 {
        self.fields(filter, &[name]).iter().flatten().flatten().sum()
    }
}

/// The output of `program`. The test fails if the program is missing: scripts/test installs it.
fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program} does not start ({error}): scripts/test installs it"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
