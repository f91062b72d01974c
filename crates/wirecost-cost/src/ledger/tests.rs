mod acknowledgements;
mod bench;
mod datagrams;
mod fragment;
mod icmp;
mod probes;
mod properties;
mod segments;
