//! One module per command.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use wirecost_files::Input;

use crate::exit::Failure;

/// The seconds of `--keep-alive`, as MQTT carries them.
fn keep_alive_seconds(time: Duration) -> Result<u16, Failure> {
    u16::try_from(time.as_secs())
        .ok()
        .filter(|_| time.subsec_nanos() == 0)
        .ok_or_else(|| Failure::usage("--keep-alive must be whole seconds, at most 65535s"))
}

/// The bytes of the file of `--payload-file`.
fn payload_of(path: &Path) -> Result<Arc<[u8]>, Failure> {
    Input::Payload.bytes(path).map(Into::into).map_err(|error| {
        let text = format!("--payload-file: cannot read {}: {error}", path.display());
        Failure::usage(text)
    })
}

pub mod agent;
pub mod budget;
pub mod captures;
pub mod catalog;
pub mod choose;
pub mod claims;
pub mod command_line;
pub mod compare;
pub mod completions;
pub mod cost;
pub mod diff;
pub mod doctor;
pub mod folder;
pub mod job;
pub mod link;
pub mod link_flags;
pub mod load;
pub mod load_target;
pub mod load_worker;
pub mod merge;
pub mod nbiot;
pub mod new;
pub mod object;
pub mod pcap;
pub mod probe;
pub mod program;
pub mod readings;
pub mod report;
pub mod run;
pub mod serve;
pub mod store;
pub mod study;
pub mod thresholds;
pub mod told;
pub mod ui;
pub mod what_if;
