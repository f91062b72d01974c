//! `wirecost serve` under TLS, DTLS, QUIC and OSCORE, with clients of other makers.

#[path = "../common/mod.rs"]
mod common;
#[path = "../peers/mod.rs"]
mod peers;

mod amqp;
mod attacks;
mod bad_input;
mod coap;
mod files;
mod held;
mod held_datagrams;
mod http;
mod idle;
mod mqtt;
mod open;
mod openssl;
mod processes;

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use common::{Said, WIRECOST, need_program, said as run};
use peers::{Server, own_port};

/// A folder with the certificates of the tests.
///
/// `own.pem` has issued `server` and `client`, another authority `stranger`; each has a `.pem` and a `.key`.
/// `other.pem` has issued none of them.
fn certificates() -> TempDir {
    use wirecost_security::certificate::{Authority, Identity};
    let folder = TempDir::new().expect("a temporary folder");
    let file = |name: &str| folder.path().join(name);
    let write = |name: &str, text| std::fs::write(file(name), text).expect("a file");
    let [own, another] = [(); 2].map(|()| Authority::generate().expect("an authority"));
    write("own.pem", own.to_pem().expect("a text"));
    let identities = [
        ("server", Identity::generate(&own)),
        ("client", Identity::client(&own, "client")),
        ("stranger", Identity::client(&another, "stranger")),
    ];
    for (name, identity) in identities {
        let identity = identity.expect("an identity");
        let texts = (identity.certificates_to_pem(), identity.private_key_to_pem());
        write(&format!("{name}.pem"), texts.0.expect("a text"));
        write(&format!("{name}.key"), texts.1.expect("a text"));
    }
    let text = |name: &str| std::fs::read_to_string(file(name)).expect("a text");
    write("mixed.pem", text("server.pem") + &text("client.pem"));
    write("long.pem", text("server.pem").repeat(200));
    self_signed(folder.path(), "other", "ec -pkeyopt ec_paramgen_curve:P-256", "");
    folder
}

/// Has OpenSSL make a certificate of its own and its key.
fn self_signed(folder: &Path, name: &str, key: &str, more: &str) {
    let (key_file, certificate) = (format!("{name}.key"), format!("{name}.pem"));
    let line = format!(
        "req -x509 -nodes -days 2 -subj /CN={name} -keyout {key_file} -out {certificate} -newkey {key} {more}"
    );
    need_program("openssl", "openssl");
    let mut command = Command::new("openssl");
    let made = run(command.current_dir(folder).args(line.split_whitespace()));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
}

/// `wirecost serve` with options that are separated by blanks, in a folder of [`certificates`].
fn serve(options: &str) -> Server {
    serve_in(certificates(), options)
}

fn serve_in(folder: TempDir, options: &str) -> Server {
    serve_at(Ipv4Addr::LOCALHOST, folder, options)
}

fn serve_at(address: Ipv4Addr, folder: TempDir, options: &str) -> Server {
    let port = own_port();
    let mut command = Command::new(WIRECOST);
    command.current_dir(folder.path()).arg("serve");
    // A server that is killed leaves its temporary files.
    command.env("TMPDIR", folder.path());
    command.args(options.split(' '));
    command.args(["--listen", &format!("{address}:{port}")]);
    let server = Server::start_in(folder, command, port);
    server.wait(|server| server.log().contains("serving"));
    server
}

/// Runs a client with arguments that are separated by blanks, of which `@NAME` is a file in the server's folder and
/// `PORT` the server's port.
fn client(server: &Server, program: &str, package: &str, arguments: &str) -> Said {
    let arguments: Vec<String> = arguments.split(' ').map(|word| filled(server, word)).collect();
    peers::client(program, package, &arguments).into()
}

/// A word of a command line with files and port as they are.
fn filled(server: &Server, word: &str) -> String {
    let folder = format!("{}/", server.folder().display());
    word.replace('@', &folder)
        .replace("PORT", &server.port.to_string())
}

/// Waits until the server has said each of the texts, in this order.
fn said(server: &Server, texts: &[&str]) {
    server.wait(|server| {
        let log = server.log();
        let mut rest = log.as_str();
        texts.iter().all(|text| match rest.split_once(text) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    });
}
