//! The arguments of `wirecost ui`.

use std::net::SocketAddr;

use clap::Args;

/// `wirecost ui`.
#[derive(Debug, Args)]
#[command(
    after_help = "The page asks what wirecost choose answers, with the same options, and shows the command line that prints the same figures. \
    Nothing leaves this machine, and nothing is written: new questions are simulated in memory. On an address that others reach, the printed \
    link has a token, without which the page answers nobody. Ctrl-C ends it.\n\n\
    wirecost ui\n\
    wirecost ui --listen 192.0.2.7:8090\n\n\
    Exit codes: 0 ended by Ctrl-C, 1 output could not be written, 2 usage, 10 it cannot listen."
)]
pub struct UiArguments {
    /// Address to listen on; a port alone is of 127.0.0.1, and port 0 is one that is free
    #[arg(long, value_name = "[ADDRESS:]PORT", default_value = "8090", value_parser = crate::http::address)]
    pub listen: SocketAddr,
}
