//! Ports for servers that cannot say which one the kernel gave them.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::path::Path;
use std::sync::Mutex;

/// Below the ports that Linux gives to sockets without one (`ip_local_port_range`), and above those of known services: no
/// client of another program takes one between this look-up and the server's own bind.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// The locks of the ports that this program took. The kernel lets them go when it ends.
static TAKEN: Mutex<Vec<(u16, File)>> = Mutex::new(Vec::new());

/// A port of 127.0.0.1, for TCP and UDP, that no other test has until this program ends: it is locked by a file.
pub(crate) fn own_port() -> u16 {
    // Not in a folder where others may write: the tests run as root.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ports");
    fs::create_dir_all(&folder).expect("a folder for the locks of ports");
    let mut taken = TAKEN.lock().expect("no test panics while it takes a port");
    // Programs that run at the same time begin at different ports, so that they seldom try the same.
    let first = std::process::id() as usize * 131 % PORTS.len();
    for port in PORTS.cycle().skip(first).take(PORTS.len()) {
        if taken.iter().any(|(other, _)| *other == port) {
            continue;
        }
        let lock = File::create(folder.join(port.to_string())).expect("the lock of a port");
        if lock.try_lock().is_ok() && is_free(port) {
            taken.push((port, lock));
            return port;
        }
    }
    panic!("no port of {PORTS:?} is free")
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
        && UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}
