//! Opens captures and the key logs beside them, and says what of a capture could not be read.

use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use wirecost_dissect::Report;
use wirecost_files::{FileFault, Input};
use wirecost_proto::units::counted;

use crate::exit::Failure;

/// The name that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// The bytes of a capture: a file, or standard input. Neither is ever in memory as a whole.
pub fn source(path: &Path) -> Result<Box<dyn Read>, FileFault> {
    if path.as_os_str() != STANDARD_INPUT {
        return Ok(Box::new(Input::Capture.open(path)?));
    }
    let input = io::stdin();
    if input.is_terminal() {
        return Err(io::Error::other("standard input is a terminal, not a capture").into());
    }
    Ok(Box::new(input.lock()))
}

/// The capture of a results folder.
pub fn in_folder(folder: &Path) -> PathBuf {
    let [all, simulated] = ["all.pcapng", "sim.pcapng"].map(|name| folder.join("capture").join(name));
    if simulated.exists() && !all.exists() {
        simulated
    } else {
        all
    }
}

/// Refuses a folder where a capture is expected.
pub fn no_folder(path: &Path) -> Result<(), Failure> {
    if !path.is_dir() {
        return Ok(());
    }
    let capture = in_folder(path);
    let hint = match capture.exists() {
        true => format!("give its capture, e.g. {}", capture.display()),
        false => "give a file that tcpdump, dumpcap or Wireshark wrote".to_owned(),
    };
    Err(Failure::usage(format!("{} is a folder, not a capture", path.display())).with_hint(hint))
}

/// The name of a capture for a person.
pub fn name(path: &Path) -> String {
    match path.as_os_str() == STANDARD_INPUT {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}

/// The text of a key log, empty without one. Its secrets are ASCII; comments may have any encoding.
pub fn key_log(path: Option<&Path>) -> Result<String, FileFault> {
    path.map_or_else(|| Ok(String::new()), |path| Input::KeyLog.lossy_text(path))
}

/// That most of a capture could not be read, as the failure that a command ends with.
pub fn mostly_unread(path: &Path, report: &Report) -> Option<Failure> {
    let blocks: u64 = report.unread_blocks.iter().map(|unread| unread.blocks).sum();
    let packets = counted(report.packets, "packet");
    let blocks = match blocks {
        0 => String::new(),
        blocks => format!(", and {}", counted(blocks, "block")),
    };
    let text = format!(
        "{}: most of it cannot be read: {} of {packets}{blocks}",
        name(path),
        report.unread_packets
    );
    report.is_mostly_unread().then(|| {
        Failure::new(crate::exit::INVALID, text)
            .with_hint("wirecost pcap lists what it is; capture Ethernet, Wi-Fi data, PPP or IP packets")
    })
}
