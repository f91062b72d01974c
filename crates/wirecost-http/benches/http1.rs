//! A POST and its 204 over HTTP/1.1, client and server.

#[path = "../../wirecost-proto/benches/measure/mod.rs"]
mod measure;

use std::sync::Arc;
use std::time::Duration;

use measure::{Bench, Loop, PAYLOAD};
use wirecost_http::client::Command;
use wirecost_http::http1::{Client, ClientConfig, Server, ServerConfig};
use wirecost_http::message::{Method, RequestTemplate};

fn main() {
    let mut bench = Bench::from_arguments();
    let octets = Some("application/octet-stream");
    for bytes in [PAYLOAD.len(), 10_000] {
        let payload = vec![7; bytes];
        let template = RequestTemplate::new(Method::Post, "wirecost", "/test", octets, payload);
        let template = Arc::new(template.expect("a request"));
        let (client, server) = (
            Client::new(ClientConfig::default()),
            Server::new(ServerConfig::default()),
        );
        let mut both = Loop::connected(client, server, Duration::from_millis(1));
        bench.ours(&format!("http1, {bytes} B"), || {
            let template = Arc::clone(&template);
            both.message(Command::Request { message: 0, template });
        });
    }
}
