//! One module per command.

pub mod compare;
pub mod doctor;
pub mod link;
pub mod link_flags;
pub mod object;
pub mod pcap;
pub mod probe;
pub mod report;
pub mod serve;
