//! What a server holds for clients that do not finish their messages, and for clients that do not read.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, Type};
use wirecost_live::environment::OpenFiles;
use wirecost_security::certificate::{Authority, Identity};
use wirecost_security::pinned::{Pin, Session};

use crate::attacks::{ATTACKS, Attack, PART_BYTES, POSTGRES_STARTUP, WHOLE_BYTES};
use crate::idle::memory;
use crate::peers::{PATIENCE, Server, own_port};

/// The most memory of a server, whatever its clients do.
const MOST_BYTES: usize = 150 << 20;
pub(crate) const UNFINISHED: usize = 600;
const UNREAD: usize = 200;
const QUIET: usize = 300;

fn connect(address: SocketAddr) -> TcpStream {
    // A small window: what the kernel takes for a client is not what the server holds.
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.set_recv_buffer_size(4_096).expect("an open socket");
    socket.connect(&address.into()).expect("the server listens");
    socket.into()
}

/// Asks once, and waits for the answer.
fn is_answered(address: SocketAddr, attack: &Attack) {
    let mut stream = connect(address);
    let asks = [attack.hello, attack.asks].concat();
    stream.write_all(&asks).expect("the server reads");
    let answer = read_answer(&mut stream, attack);
    assert!(
        has_answer(&answer, attack),
        "{}: the server has closed after {answer:02x?}",
        attack.protocol
    );
}

fn has_answer(bytes: &[u8], attack: &Attack) -> bool {
    attack.answer.is_empty()
        || bytes
            .windows(attack.answer.len())
            .any(|part| part == attack.answer)
}

/// What the server sends up to the end of the answer, or until it closes.
fn read_answer(stream: &mut TcpStream, attack: &Attack) -> Vec<u8> {
    stream.set_read_timeout(Some(PATIENCE)).expect("an open socket");
    let (mut answer, mut chunk) = (Vec::new(), [0; 4_096]);
    while !has_answer(&answer, attack) {
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => answer.extend_from_slice(&chunk[..read]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{}: {error}", attack.protocol),
        }
    }
    answer
}

/// Writes to each its bytes until nothing is taken, to all in turns.
fn write_to_all<B: AsRef<[u8]>>(streams: &mut [TcpStream], bytes: &[B]) {
    let mut written = vec![0; streams.len()];
    for _ in 0..20 {
        let mut has_moved = false;
        for ((stream, written), bytes) in streams.iter_mut().zip(&mut written).zip(bytes) {
            stream.set_nonblocking(true).expect("an open socket");
            let bytes = bytes.as_ref();
            while *written < bytes.len() {
                match stream.write(&bytes[*written..]) {
                    Ok(taken) => *written += taken,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // The server has ended this one.
                    Err(_) => *written = bytes.len(),
                }
                has_moved = true;
            }
        }
        if !has_moved {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn peak(server: &Server) -> usize {
    memory(server.id(), "VmHWM:")
}

pub(crate) fn check(server: &Server, what: &str) {
    let bytes = peak(server);
    println!("{what}: {} MB at most", bytes / 1_000_000);
    assert!(bytes < MOST_BYTES, "{what}: {bytes} B; {}", server.log());
}

fn unfinished(attack: &Attack) {
    let server = Server::builtin(attack.protocol);
    let address = (Ipv4Addr::LOCALHOST, server.port).into();
    let begun = [attack.hello, &(attack.begun)(), &vec![b'x'; PART_BYTES]].concat();
    let mut clients: Vec<TcpStream> = (0..UNFINISHED).map(|_| connect(address)).collect();
    for some in clients.chunks_mut(50) {
        let each = vec![&begun; some.len()];
        write_to_all(some, &each);
    }
    is_answered(address, attack);
    check(&server, attack.protocol);
}

/// Messages that all grow at the same time: each buffer has grown ahead of what is in it.
fn growing(attack: &Attack) {
    let server = Server::builtin(attack.protocol);
    let address = (Ipv4Addr::LOCALHOST, server.port).into();
    let begun = [attack.hello, &(attack.begun)(), &vec![b'x'; PART_BYTES]].concat();
    let mut clients: Vec<TcpStream> = (0..UNFINISHED).map(|_| connect(address)).collect();
    for part in begun.chunks(PART_BYTES / 20) {
        write_to_all(&mut clients, &vec![part; UNFINISHED]);
    }
    is_answered(address, attack);
    check(&server, attack.protocol);
}

/// Clients of which each sends a whole message, has its answer, and is quiet from then on.
fn quiet(attack: &Attack, uncounted: usize) {
    let server = Server::builtin(attack.protocol);
    let address = (Ipv4Addr::LOCALHOST, server.port).into();
    let mut message = (attack.begun)();
    message.resize(uncounted + WHOLE_BYTES as usize, b'x');
    let bytes = [attack.hello, &message, attack.asks].concat();
    let clients: Vec<TcpStream> = (0..QUIET)
        .map(|_| {
            let mut stream = connect(address);
            // A server of a database closes after a message without meaning.
            if stream.write_all(&bytes).is_ok() {
                read_answer(&mut stream, attack);
            }
            stream
        })
        .collect();
    is_answered(address, attack);
    check(&server, attack.protocol);
    drop(clients);
}

fn unread(attack: &Attack) {
    let server = Server::builtin(attack.protocol);
    let address = (Ipv4Addr::LOCALHOST, server.port).into();
    if attack.protocol == "http1" {
        let put = "PUT /test HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n";
        let put = put.to_owned() + &"x".repeat(100_000);
        let mut stream = connect(address);
        stream.write_all(put.as_bytes()).expect("the server reads");
        stream.read_exact(&mut [0; 12]).expect("an answer");
    }
    let asks = attack.asks.repeat(400_000 / attack.asks.len());
    let mut clients: Vec<TcpStream> = (0..UNREAD).map(|_| connect(address)).collect();
    write_to_all(&mut clients, &vec![[attack.hello, &asks].concat(); UNREAD]);
    is_answered(address, attack);
    check(&server, attack.protocol);
}

#[test]
fn six_hundred_unfinished_messages_of_every_protocol_stay_within_the_limit() {
    OpenFiles::raise().expect("limits");
    ATTACKS.iter().for_each(unfinished);
}

#[test]
fn six_hundred_messages_that_grow_together_stay_within_the_limit() {
    OpenFiles::raise().expect("limits");
    ATTACKS.iter().for_each(growing);
}

#[test]
fn clients_that_are_quiet_after_a_large_message_take_none_of_its_memory() {
    OpenFiles::raise().expect("limits");
    for attack in ATTACKS.iter().filter(|attack| !attack.asks.is_empty()) {
        if let Some(uncounted) = attack.uncounted {
            quiet(attack, uncounted);
        }
    }
}

#[test]
fn two_hundred_clients_of_every_protocol_that_do_not_read_stay_within_the_limit() {
    OpenFiles::raise().expect("limits");
    ATTACKS
        .iter()
        .filter(|attack| !attack.asks.is_empty())
        .for_each(unread);
}

/// A server with TLS and a certificate that the clients of the tests know.
fn with_tls(protocol: &str) -> (Server, Pin) {
    let identity = Identity::generate(&Authority::generate().expect("an authority")).expect("an identity");
    let folder = tempfile::TempDir::new().expect("a folder");
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&certificate, identity.certificates_to_pem().expect("a text")).expect("a file");
    std::fs::write(&key, identity.private_key_to_pem().expect("a text")).expect("a file");
    let texts = [&certificate, &key].map(|path| path.to_str().expect("a text"));
    let more = ["--tls", "--cert", texts[0], "--key", texts[1]];
    (
        Server::builtin_with(protocol, own_port(), &more),
        Pin::from_identity(&identity),
    )
}

/// Completes a handshake, and returns what protects the next bytes; `None` if the server has ended the connection: on a busy machine
/// the last ones wait for so long until it is their turn that they seem to go no further.
fn shake_hands(stream: &mut TcpStream, pin: Pin) -> Option<Session> {
    stream.set_read_timeout(Some(PATIENCE)).expect("an open socket");
    let mut session = Session::client(pin).expect("a session");
    let mut chunk = [0; 8_192];
    loop {
        stream.write_all(&session.bytes()).ok()?;
        if !session.is_handshaking() {
            return Some(session);
        }
        let read = match stream.read(&mut chunk) {
            Ok(read) if read > 0 => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("no answer: {error}"),
            Ok(_) | Err(_) => return None,
        };
        session
            .take(&chunk[..read], &mut Vec::new())
            .expect("a handshake");
    }
}

/// The layer is the same for every protocol.
#[test]
fn handshakes_and_messages_within_tls_stay_within_the_limit() {
    OpenFiles::raise().expect("limits");
    let mut attacks = ATTACKS.iter();
    let attack = attacks
        .find(|attack| attack.protocol == "http1")
        .expect("HTTP/1.1");
    let (server, pin) = with_tls(attack.protocol);
    let address = (Ipv4Addr::LOCALHOST, server.port).into();
    // A handshake record that is never complete.
    let mut halves: Vec<TcpStream> = (0..UNFINISHED).map(|_| connect(address)).collect();
    let half = [b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc", &[3; 16_000][..]].concat();
    write_to_all(&mut halves, &vec![half; UNFINISHED]);
    check(&server, "half handshakes");
    let begun = [attack.hello, &(attack.begun)(), &vec![b'x'; PART_BYTES]].concat();
    let mut clients: Vec<TcpStream> = (0..UNFINISHED / 2).map(|_| connect(address)).collect();
    let mut shaken = 0;
    for some in clients.chunks_mut(50) {
        let sealed = some.iter_mut().map(|client| shake_hands(client, pin));
        let sealed: Vec<Vec<u8>> = sealed
            .map(|session| session.map_or_else(Vec::new, |mut session| session.put(&begun)))
            .collect();
        shaken += sealed.iter().filter(|bytes| !bytes.is_empty()).count();
        write_to_all(some, &sealed);
    }
    assert!(shaken >= UNFINISHED / 4, "{shaken}: {}", server.log());
    check(&server, "half messages within TLS");
}

#[test]
fn a_client_that_holds_most_is_ended_and_named_and_others_are_not() {
    let server = Server::builtin_with("postgres", own_port(), &["--max-held", "1MB"]);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port));
    let begin = |bytes: usize| {
        let mut stream = TcpStream::connect(address).expect("the server listens");
        let begun = [POSTGRES_STARTUP, b"B\x00\x0f\x42\x40", &vec![b'x'; bytes]].concat();
        stream.write_all(&begun).expect("the server reads");
        stream
    };
    let small = begin(100_000);
    let mut large = begin(800_000);
    let largest = large.local_addr().expect("an address");
    // The two others hold less than half of the bound, in buffers that double, however far the server has read.
    let _further = begin(200_000);
    let named = format!("{largest} ended: it held ");
    server.wait(|server| server.log().contains(&named));
    large.set_read_timeout(Some(PATIENCE)).expect("an open socket");
    let end = large.read_to_end(&mut Vec::new()).expect_err("a reset");
    assert_eq!(end.kind(), ErrorKind::ConnectionReset);
    assert_eq!(server.log().matches("ended").count(), 1, "{}", server.log());
    assert!(
        SockRef::from(&small)
            .take_error()
            .is_ok_and(|error| error.is_none())
    );
}

/// Blocks of a body in datagrams that each wait for the next one.
#[test]
fn bodies_in_blocks_stay_within_the_limit() {
    let server = Server::builtin_with("coap", own_port(), &["--max-held", "4MB"]);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port));
    let payload = [b'x'; 1_024];
    let mut peers = Vec::new();
    for peer in 0_u16..40 {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        socket.connect(address).expect("loopback");
        socket.set_read_timeout(Some(PATIENCE)).expect("an open socket");
        for block in 0_u32..200 {
            // CON PUT /large-update with Block1: the number, more to come, 1,024 B.
            let value = (block << 4 | 0b1110).to_be_bytes();
            let id = (peer * 200 + block as u16).to_be_bytes();
            let head = [0x40, 3, id[0], id[1], 0xbc];
            let datagram = [
                &head[..],
                b"large-update",
                &[0xd3, 3],
                &value[1..],
                &[0xff],
                &payload,
            ]
            .concat();
            socket.send(&datagram).expect("loopback");
            let _ = socket.recv(&mut [0; 64]).expect("an answer");
        }
        peers.push(socket);
    }
    assert!(server.log().contains("ended: it held"), "{}", server.log());
    assert!(peak(&server) < 60 << 20, "{} B", peak(&server));
}

/// Handshakes from many addresses, of which none goes on.
#[test]
fn dtls_handshakes_stay_within_the_limit() {
    OpenFiles::raise().expect("limits");
    let server = Server::builtin_with("udp", own_port(), &["--psk", "me:secret", "--max-held", "1MB"]);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port));
    let mut body = vec![0xfe, 0xfd];
    body.extend([7; 32]);
    // No session and no cookie; TLS_PSK_WITH_AES_128_CCM_8; no compression.
    body.extend([0, 0, 0, 2, 0xc0, 0xa8, 1, 0]);
    let length = body.len() as u8;
    let message = [&[1, 0, 0, length, 0, 0, 0, 0, 0, 0, 0, length][..], &body].concat();
    let record = [
        &[22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, message.len() as u8][..],
        &message,
    ]
    .concat();
    let _peers: Vec<UdpSocket> = (0..UNFINISHED)
        .map(|_| {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
            socket.connect(address).expect("loopback");
            socket.send(&record).expect("loopback");
            socket
        })
        .collect();
    server.wait(|server| server.log().matches("ended: it held").count() > UNFINISHED / 2);
}

#[test]
fn connections_that_say_nothing_make_room_when_no_descriptor_is_left() {
    let port = own_port();
    let mut command = std::process::Command::new("sh");
    let line = "ulimit -n 64; exec \"$0\" serve tcp --listen 127.0.0.1:\"$1\"";
    command.args(["-c", line, crate::common::WIRECOST, &port.to_string()]);
    let server = Server::start(command, port);
    server.wait(|server| server.log().contains("serving"));
    let address = (Ipv4Addr::LOCALHOST, port).into();
    let _silent: Vec<TcpStream> = (0..100).map(|_| connect(address)).collect();
    // It waits until the others have been silent for long enough.
    let mut client = connect(address);
    client.write_all(&[0, 0, 0, 1, b'x']).expect("the kernel accepts");
    server.wait(|server| server.log().contains("Message"));
    assert!(
        server.log().contains("ended: it said nothing for 5 s"),
        "{}",
        server.log()
    );
}
