//! One module per command.

pub mod command_line;
pub mod compare;
pub mod doctor;
pub mod link;
pub mod link_flags;
pub mod load;
pub mod load_target;
pub mod load_worker;
pub mod merge;
pub mod new;
pub mod object;
pub mod pcap;
pub mod probe;
pub mod report;
pub mod run;
pub mod serve;
pub mod thresholds;
