//! Servers of other projects: each starts in its place, is ready when it answers, and stops when it is told to.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use wirecost_live::Topology;
use wirecost_live::process::folder::{Afterwards, ServerFolder};
use wirecost_live::process::libcoap::{Build, Dtls};
use wirecost_live::process::setup::Setup;
use wirecost_live::process::{
    Launch, Readiness, ServerProcess, TlsFiles, apache, caddy, libcoap, mosquitto, rabbitmq,
};
use wirecost_proto::hosts::{SERVER_V4, SERVER_V6};
use wirecost_stack::target::Target;

use super::{PATIENCE, create, installed, server_folder};

pub(crate) fn run_mosquitto() -> Result<(), String> {
    let (home, topology) = (tempfile::tempdir().unwrap(), create()?);
    let mut folder = server_folder(home.path(), "mosquitto");
    assert!(mosquitto::version().is_none_or(|version| version.starts_with('2') || version.starts_with('1')));
    let address = SocketAddr::new(SERVER_V4.into(), 1883);
    let files = tls_files(&mut folder);
    let launch = installed(mosquitto::launch(
        &mut folder,
        address,
        Some(&files),
        &Setup::from_target(Target::Mosquitto),
    ))?;
    let secure = SocketAddr::new(SERVER_V4.into(), mosquitto::SECURE_PORT);
    serves(&topology, &launch, &folder, || {
        both(mosquitto::probe(address), secure)
    });
    Ok(())
}

pub(crate) fn run_caddy() -> Result<(), String> {
    let (home, topology) = (tempfile::tempdir().unwrap(), create()?);
    let mut folder = server_folder(home.path(), "caddy");
    assert!(caddy::version().is_none_or(|version| version.starts_with('2')));
    let address = SocketAddr::new(SERVER_V4.into(), 80);
    let files = tls_files(&mut folder);
    let launch = installed(caddy::launch(&mut folder, address, Some(&files)))?;
    let secure = SocketAddr::new(SERVER_V4.into(), caddy::SECURE_PORT);
    serves(&topology, &launch, &folder, || {
        both(caddy::probe(address), secure)
    });
    Ok(())
}

pub(crate) fn run_apache() -> Result<(), String> {
    let (home, topology) = (tempfile::tempdir().unwrap(), create()?);
    assert!(apache::version().is_some_and(|version| version.starts_with("2.") && version.contains("PHP 8.")));
    for ip in [SERVER_V4.into(), SERVER_V6.into()] {
        let address = SocketAddr::new(ip, 80);
        let mut folder = server_folder(home.path(), "apache");
        let launch = installed(apache::launch(
            &mut folder,
            address,
            None,
            &Setup::from_target(Target::Apache),
        ))?;
        serves(&topology, &launch, &folder, || {
            readings_in_queries(apache::probe(address), address)
        });
    }
    Ok(())
}

/// Once it is ready, a reading in a query is taken, and a query that is no reading is refused, as by the built-in server.
fn readings_in_queries(readiness: Readiness, address: SocketAddr) -> Readiness {
    if matches!(readiness, Readiness::Ready) {
        for (query, expected) in [
            ("?reading=68%2e5", "204"),
            ("?reading=%6", "400"),
            ("?value=68.5", "400"),
            ("?reading=1&reading=2", "400"),
        ] {
            assert_eq!(status_of_get(address, query), expected, "{query}");
        }
    }
    readiness
}

/// The status code of a GET of `/test` with a query.
fn status_of_get(address: SocketAddr, query: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET /test{query} HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

pub(crate) fn run_rabbitmq() -> Result<(), String> {
    let (home, topology) = (tempfile::tempdir().unwrap(), create()?);
    let mut folder = server_folder(home.path(), "rabbitmq");
    assert!(rabbitmq::version().is_none_or(|version| version.starts_with('3')));
    let files = tls_files(&mut folder);
    let ip = SERVER_V4.into();
    let launch = installed(rabbitmq::launch(&mut folder, ip, Some(&files)))?;
    let secure = SocketAddr::new(ip, rabbitmq::SECURE_AMQP_PORT);
    serves(&topology, &launch, &folder, || both(rabbitmq::probe(ip), secure));
    Ok(())
}

/// Ready if the second port accepts connections, too.
fn both(first: Readiness, secure: SocketAddr) -> Readiness {
    match TcpStream::connect(secure) {
        Ok(_) => first,
        Err(_) => Readiness::NotYet,
    }
}

/// A certificate that the server of this folder can read.
fn tls_files(folder: &mut ServerFolder) -> TlsFiles {
    let made_in = tempfile::tempdir().unwrap();
    let [certificate, private_key] = ["c.pem", "k.pem"].map(|name| made_in.path().join(name));
    let mut openssl = Command::new("openssl");
    openssl.args([
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]);
    openssl
        .args(["-subj", "/CN=server", "-keyout"])
        .arg(&private_key)
        .arg("-out")
        .arg(&certificate);
    let made = openssl.output().expect("openssl is installed");
    assert!(made.status.success(), "{made:?}");
    let [certificate, private_key] = [("c.pem", certificate), ("k.pem", private_key)].map(|(name, path)| {
        let text = fs::read_to_string(path).unwrap();
        folder.write(name, &text, Afterwards::Removed).unwrap()
    });
    TlsFiles {
        authority: certificate.clone(),
        certificate,
        private_key,
    }
}

pub(crate) fn run_libcoap() -> Result<(), String> {
    let (home, topology) = (tempfile::tempdir().unwrap(), create()?);
    let (ipv4, ipv6) = (SERVER_V4.into(), SERVER_V6.into());
    for (ip, build) in [(ipv4, Build::Openssl), (ipv6, Build::Gnutls)] {
        let address = SocketAddr::new(ip, 5683);
        let mut folder = server_folder(home.path(), "libcoap");
        let files = tls_files(&mut folder);
        let dtls = Dtls {
            files: &files,
            psk: "0123456789abcdef",
        };
        let launch = installed(libcoap::launch(&mut folder, address, build, Some(dtls)))?;
        assert!(libcoap::version(build).is_some_and(|version| version.starts_with('4')));
        serves(&topology, &launch, &folder, || libcoap::probe(address));
    }
    Ok(())
}

fn serves(
    topology: &Topology,
    launch: &Launch,
    folder: &ServerFolder,
    probe: impl Fn() -> Readiness + Send + Sync,
) {
    assert_eq!(probe(), Readiness::NotYet, "nothing listens where this thread is");
    let mut server = ServerProcess::start_apart(launch, &topology.server, folder).unwrap();
    server.wait_until_ready(rabbitmq::PATIENCE, &probe).unwrap();
    let before = server.usage().unwrap();
    for _ in 0..50 {
        server.wait_until_ready(PATIENCE, &probe).unwrap();
    }
    let after = server.usage().unwrap();
    assert!(
        after.cpu_time > before.cpu_time && after.resident_bytes > 100_000,
        "{after:?}"
    );
    assert!(server.exit_status().is_none());
    let status = server.stop(PATIENCE).unwrap();
    assert_eq!(status.code(), Some(0), "SIGTERM is enough: {status}");
}
