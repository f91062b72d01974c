//! Real servers and the end of this process: they start in the right place, report that they are ready, and never
//! outlive it.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

mod common;

use common::{Case, User};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use wirecost_live::process::folder::{Afterwards, ServerFolder};
use wirecost_live::process::libcoap::{Build, Dtls};
use wirecost_live::process::setup::Setup;
use wirecost_live::process::user::ServerUser;
use wirecost_live::process::{
    Launch, Readiness, ServerProcess, TlsFiles, apache, caddy, libcoap, mosquitto, rabbitmq,
};
use wirecost_live::{EnvironmentError, Interrupt, Topology, TopologyConfig};
use wirecost_proto::hosts::{SERVER_V4, SERVER_V6};
use wirecost_stack::target::Target;

const PATIENCE: Duration = Duration::from_secs(20);
const ROLE: &str = "WIRECOST_TEST_ROLE";

fn main() -> ExitCode {
    let case = |name, needs, user, run| Case {
        name,
        needs,
        user,
        run,
    };
    common::main(&[
        case(
            "mosquitto_is_ready_and_stops",
            "root, mosquitto and openssl",
            User::Caller,
            run_mosquitto,
        ),
        case(
            "mosquitto_is_ready_and_stops_for_nobody",
            "root, mosquitto and openssl",
            User::Nobody,
            run_mosquitto,
        ),
        case(
            "caddy_is_ready_and_stops",
            "root, caddy and openssl",
            User::Caller,
            run_caddy,
        ),
        case(
            "caddy_is_ready_and_stops_for_nobody",
            "root, caddy and openssl",
            User::Nobody,
            run_caddy,
        ),
        case(
            "apache_is_ready_and_stops",
            "root and libapache2-mod-php",
            User::Caller,
            run_apache,
        ),
        case(
            "apache_is_ready_and_stops_for_nobody",
            "root and libapache2-mod-php",
            User::Nobody,
            run_apache,
        ),
        case(
            "rabbitmq_is_ready_and_stops",
            "root, rabbitmq-server and openssl",
            User::Caller,
            run_rabbitmq,
        ),
        case(
            "rabbitmq_is_ready_and_stops_for_nobody",
            "root, rabbitmq-server and openssl",
            User::Nobody,
            run_rabbitmq,
        ),
        case(
            "libcoap_is_ready_and_stops",
            "root, libcoap3-bin and openssl",
            User::Caller,
            run_libcoap,
        ),
        case(
            "libcoap_is_ready_and_stops_for_nobody",
            "root, libcoap3-bin and openssl",
            User::Nobody,
            run_libcoap,
        ),
        case(
            "a_server_that_dies_shows_its_last_words",
            "root",
            User::Caller,
            dies_early,
        ),
        case(
            "a_server_that_never_answers_is_killed",
            "root",
            User::Caller,
            never_ready,
        ),
        case(
            "a_program_that_cannot_run_is_an_error",
            "root",
            User::Caller,
            cannot_run,
        ),
        case(
            "what_a_server_started_is_counted_and_ends_with_it",
            "root",
            User::Caller,
            family,
        ),
        case(
            "a_server_starts_with_a_clean_slate",
            "root",
            User::Caller,
            clean_slate,
        ),
        case(
            "a_server_of_root_is_another_user_that_gets_no_rights",
            "root",
            User::Caller,
            is_another_user,
        ),
        case(
            "a_server_of_nobody_is_nobody_in_its_own_eyes_too",
            "root",
            User::Nobody,
            is_nobody,
        ),
        case("nothing_survives_a_sigkill", "root", User::Caller, || {
            leaves_nothing(libc::SIGKILL)
        }),
        case(
            "nothing_survives_a_sigkill_of_nobody",
            "root",
            User::Nobody,
            || leaves_nothing(libc::SIGKILL),
        ),
        case(
            "a_server_sees_its_own_processes",
            "root",
            User::Caller,
            own_processes,
        ),
        case(
            "a_server_of_nobody_sees_its_own_processes",
            "root",
            User::Nobody,
            own_processes,
        ),
        case("nothing_survives_a_panic", "root", User::Caller, || {
            leaves_nothing(0)
        }),
        case(
            "the_first_signal_sets_a_flag_and_the_second_ends_us",
            "",
            User::Caller,
            interrupted,
        ),
    ])
}

fn create() -> Result<Topology, String> {
    Topology::create(&TopologyConfig::default()).map_err(|error| {
        assert!(error.is_privilege(), "{error}");
        error.to_string()
    })
}

fn installed(launch: Result<Launch, EnvironmentError>) -> Result<Launch, String> {
    launch.map_err(|error| {
        assert!(
            matches!(error, EnvironmentError::ServerNotFound { .. }),
            "{error}"
        );
        error.to_string()
    })
}

fn run_mosquitto() -> Result<(), String> {
    let (home, topology) = (tempfile::tempdir().unwrap(), create()?);
    let mut folder = server_folder(home.path(), "mosquitto");
    assert!(mosquitto::version().is_none_or(|version| version.starts_with('2') || version.starts_with('1')));
    let address = SocketAddr::new(SERVER_V4.into(), 1883);
    let files = tls_files(&mut folder);
    let launch = installed(mosquitto::launch(
        &mut folder,
        address,
        Some(&files),
        &Setup::of(Target::Mosquitto),
    ))?;
    let secure = SocketAddr::new(SERVER_V4.into(), mosquitto::SECURE_PORT);
    serves(&topology, &launch, &folder, || {
        both(mosquitto::probe(address), secure)
    });
    Ok(())
}

fn run_caddy() -> Result<(), String> {
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

fn run_apache() -> Result<(), String> {
    let (home, topology) = (tempfile::tempdir().unwrap(), create()?);
    assert!(apache::version().is_some_and(|version| version.starts_with("2.") && version.contains("PHP 8.")));
    for ip in [SERVER_V4.into(), SERVER_V6.into()] {
        let address = SocketAddr::new(ip, 80);
        let mut folder = server_folder(home.path(), "apache");
        let launch = installed(apache::launch(
            &mut folder,
            address,
            None,
            &Setup::of(Target::Apache),
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

fn run_rabbitmq() -> Result<(), String> {
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

fn server_folder(home: &Path, name: &str) -> ServerFolder {
    ServerFolder::create(home, name).unwrap()
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

fn run_libcoap() -> Result<(), String> {
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

fn shell(folder: &Path, script: &str) -> Launch {
    Launch {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("GREETING".into(), "hello".into()),
        ],
        log: folder.join("log"),
    }
}

fn dies_early() -> Result<(), String> {
    let (folder, topology) = (tempfile::tempdir().unwrap(), create()?);
    let launch = shell(folder.path(), "echo port taken >&2; exit 3");
    let mut server = ServerProcess::start(&launch, &topology.server).unwrap();
    let error = server
        .wait_until_ready(PATIENCE, || Readiness::NotYet)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "sh ended with exit status: 3 before it was ready, its last words: port taken"
    );
    Ok(())
}

fn never_ready() -> Result<(), String> {
    let (folder, topology) = (tempfile::tempdir().unwrap(), create()?);
    let launch = shell(folder.path(), "sleep 1000; true");
    let mut server = ServerProcess::start(&launch, &topology.server).unwrap();
    let error = server
        .wait_until_ready(Duration::from_millis(50), || Readiness::NotYet)
        .unwrap_err();
    assert!(
        matches!(error, EnvironmentError::ServerNotReady { .. }),
        "{error}"
    );
    let pid = server.pid();
    drop(server);
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    Ok(())
}

fn cannot_run() -> Result<(), String> {
    let (folder, topology) = (tempfile::tempdir().unwrap(), create()?);
    let launch = Launch {
        program: "/no/such/program".into(),
        ..shell(folder.path(), "")
    };
    let error = ServerProcess::start(&launch, &topology.server).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot start /no/such/program (execve: ENOENT)"
    );
    Ok(())
}

fn family() -> Result<(), String> {
    let (folder, topology) = (tempfile::tempdir().unwrap(), create()?);
    let launch = shell(
        folder.path(),
        "(trap '' TERM; sleep 1000; true) & echo started; wait",
    );
    let mut server = ServerProcess::start(&launch, &topology.server).unwrap();
    let mut processes = 0;
    let started = |_: &mut usize| fs::read_to_string(&launch.log).is_ok_and(|log| log.contains("started"));
    let deadline = Instant::now() + PATIENCE;
    while !(started(&mut processes) && processes == 3) {
        assert!(Instant::now() < deadline, "{processes} processes, expected 3");
        processes = server.usage().unwrap().processes;
    }
    assert!(server.exit_status().is_none());
    let namespace = fs::read_link(format!("/proc/{}/ns/pid", server.pid())).unwrap();
    // The shell is not the first process of its namespace, which would ignore SIGTERM.
    assert_eq!(server.stop(PATIENCE).unwrap().signal(), Some(libc::SIGTERM));
    assert_eq!(members(&namespace), Vec::<String>::new());
    Ok(())
}

fn members(namespace: &Path) -> Vec<String> {
    let entries = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let is_member =
        |pid: &String| fs::read_link(format!("/proc/{pid}/ns/pid")).is_ok_and(|link| link == namespace);
    entries.filter(is_member).collect()
}

/// The output of a server that has ended by itself.
fn said_in_all(launch: &Launch, side: &wirecost_live::topology::Side) -> String {
    let mut server = ServerProcess::start(launch, side).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while server.exit_status().is_none() {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
    fs::read_to_string(&launch.log).unwrap()
}

fn clean_slate() -> Result<(), String> {
    let (folder, topology) = (tempfile::tempdir().unwrap(), create()?);
    let script = "env | grep -v ^PWD | grep -v ^_= | sort; ls /proc/self/fd | wc -l; cat /proc/net/dev; \
                  grep -E '^Sig(Blk|Ign)' /proc/self/status";
    let launch = shell(folder.path(), script);
    let log = said_in_all(&launch, &topology.server);
    let lines: Vec<&str> = log.lines().collect();
    // Standard input, output and error, and the descriptor with which ls reads.
    assert_eq!(lines[..3], ["GREETING=hello", "PATH=/usr/bin:/bin", "4"], "{log}");
    assert!(log.contains("wirecost0:"), "{log}");
    // This program ignores SIGPIPE. Signals from 32 on belong to libc and cannot be set.
    for line in lines.iter().filter_map(|line| line.strip_prefix("Sig")) {
        let set = u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
        assert_eq!(set & 0x7fff_ffff, 0, "{log}");
    }
    Ok(())
}

/// What a server that runs a script in its own folder, below `home`, has said before it ends.
fn said_apart(home: &Path, topology: &Topology, script: &str) -> (String, ServerUser) {
    let folder = server_folder(home, "server");
    let launch = Launch {
        log: folder.log(),
        ..shell(home, script)
    };
    let mut server = ServerProcess::start_apart(&launch, &topology.server, &folder).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while server.exit_status().is_none() {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
    (fs::read_to_string(&launch.log).unwrap(), folder.user())
}

/// What the server says of itself. Its first line is its IPC namespace.
const SELF: &str = "readlink /proc/self/ns/ipc; pwd; id -u; id -g; id -un; umask; grep -E '^(Cap(Eff|Prm|Amb)|Groups|NoNewPrivs)' /proc/self/status; \
                    touch mine && ls -ld . | cut -c1-10";
/// Apache opens its standard error anew. Later output would be written over this.
const AGAIN: &str = "echo again >>/dev/stderr";

/// Shared memory of an IPC namespace goes with its last process.
fn shares_no_memory(namespace: &str) {
    let ours = fs::read_link("/proc/self/ns/ipc").unwrap();
    assert!(
        namespace.starts_with("ipc:[") && ours != Path::new(namespace),
        "{namespace}"
    );
}

fn is_another_user() -> Result<(), String> {
    let topology = create()?;
    let closed = tempfile::tempdir().unwrap();
    let open = tempfile::tempdir().unwrap();
    for (home, mode) in [(&closed, 0o700), (&open, 0o755)] {
        fs::set_permissions(home.path(), fs::Permissions::from_mode(mode)).unwrap();
    }
    for (home, place) in [
        (closed.path(), "/mnt".into()),
        (open.path(), open.path().join("server.d")),
    ] {
        let script = format!(
            "{SELF}; cat /etc/shadow; touch {0}/theirs /etc/theirs; ls {0}; {AGAIN}",
            home.display()
        );
        let (said, user) = said_apart(home, &topology, &script);
        let ServerUser::Own(number) = user else {
            panic!("{user:?}");
        };
        assert!(number > 60_000, "{number}");
        let lines: Vec<&str> = said.lines().collect();
        shares_no_memory(lines[0]);
        let number = number.to_string();
        let whom = [place.to_str().unwrap(), &number, &number, "wirecost", "0077"];
        assert_eq!(lines[1..6], whom, "{said}");
        for line in ["CapEff:", "CapPrm:", "CapAmb:"] {
            let line = format!("{line}\t0000000000000000");
            assert!(lines.contains(&line.as_str()), "{said}");
        }
        for line in ["Groups:\t ", "NoNewPrivs:\t1", "drwx------", "again"] {
            assert!(lines.contains(&line), "{line}: {said}");
        }
        assert!(said.contains("/etc/shadow: Permission denied"), "{said}");
        assert!(!home.join("theirs").exists() && !Path::new("/etc/theirs").exists());
        // Afterwards what is left is the caller's.
        let log = fs::metadata(home.join("server.log")).unwrap();
        assert_eq!(
            (log.uid(), log.mode() & 0o777),
            (fs::metadata(home).unwrap().uid(), 0o600)
        );
        assert!(!home.join("server.d").exists());
    }
    Ok(())
}

fn is_nobody() -> Result<(), String> {
    let (home, topology) = (tempfile::tempdir().unwrap(), create()?);
    let (said, user) = said_apart(home.path(), &topology, &format!("{SELF}; {AGAIN}"));
    assert!(matches!(user, ServerUser::Nested { .. }), "{user:?}");
    let lines: Vec<&str> = said.lines().collect();
    shares_no_memory(lines[0]);
    let place = home.path().join("server.d");
    let whom = [place.to_str().unwrap(), "65534", "65534", "nobody", "0077"];
    assert_eq!(lines[1..6], whom, "{said}");
    for line in [
        "CapEff:\t0000000000000000",
        "NoNewPrivs:\t1",
        "drwx------",
        "again",
    ] {
        assert!(lines.contains(&line), "{line}: {said}");
    }
    Ok(())
}

/// The numbers in /proc match the server's view of itself.
fn own_processes() -> Result<(), String> {
    let (folder, topology) = (tempfile::tempdir().unwrap(), create()?);
    let script =
        "read -r me rest </proc/self/stat; [ $me = $$ ] && cat /proc/1/comm; ls /proc | grep -c '^[0-9]'";
    let launch = shell(folder.path(), script);
    // The first process, the shell, ls and grep.
    assert_eq!(said_in_all(&launch, &topology.server), "wirecost-init\n4\n");
    Ok(())
}

/// Runs a server in a copy of this program that is ended by `signal`, or panics if that is 0.
fn leaves_nothing(signal: i32) -> Result<(), String> {
    if std::env::var(ROLE).is_ok() {
        return be_the_victim(signal);
    }
    let mut victim = again()
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(victim.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let namespace = line.trim().strip_prefix("namespace ");
    if signal != 0 && namespace.is_some() {
        kill(&victim, signal);
    }
    victim.wait().unwrap();
    let namespace = namespace.ok_or(line.clone())?;
    let deadline = Instant::now() + PATIENCE;
    while !members(Path::new(namespace)).is_empty() {
        assert!(Instant::now() < deadline, "the server outlives us");
    }
    Ok(())
}

fn be_the_victim(signal: i32) -> Result<(), String> {
    let (folder, topology) = (tempfile::tempdir().unwrap(), create()?);
    // A change of user clears the parent-death signal (prctl(2)).
    let script = "trap '' TERM INT HUP; setpriv --reuid 65534 --clear-groups sleep 1000 & \
                  setsid sleep 1000 & wait; sleep 1000";
    let launch = shell(folder.path(), script);
    let server = ServerProcess::start(&launch, &topology.server).unwrap();
    println!(
        "namespace {}",
        fs::read_link(format!("/proc/{}/ns/pid", server.pid()))
            .unwrap()
            .display()
    );
    if signal == 0 {
        panic!("an error of ours");
    }
    std::thread::sleep(PATIENCE * 3);
    Ok(())
}

fn again() -> Command {
    // The user nobody may execute this program, but may not be able to search the folders above it: mktemp(1) makes
    // folders of mode 0700.
    let mut command = Command::new("/proc/self/exe");
    command.env(ROLE, "victim");
    command
}

fn kill(victim: &Child, signal: i32) {
    // SAFETY: takes no pointers; the victim is our child and has not been waited for.
    assert_eq!(unsafe { libc::kill(victim.id() as i32, signal) }, 0);
}

fn interrupted() -> Result<(), String> {
    if std::env::var(ROLE).is_ok() {
        let interrupt = Interrupt::install().unwrap();
        assert!(!interrupt.is_set());
        println!("ready");
        while !interrupt.is_set() {
            std::thread::yield_now();
        }
        let mut poll = mio::Poll::new().unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&interrupt);
        let source = &mut mio::unix::SourceFd(&fd);
        poll.registry()
            .register(source, mio::Token(0), mio::Interest::READABLE)
            .unwrap();
        let mut events = mio::Events::with_capacity(1);
        poll.poll(&mut events, Some(PATIENCE)).unwrap();
        assert!(!events.is_empty());
        println!("asked");
        std::thread::sleep(PATIENCE * 3);
        return Ok(());
    }
    let mut victim = again().stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("ready"));
    kill(&victim, libc::SIGINT);
    assert_eq!(lines.next().as_deref(), Some("asked"));
    kill(&victim, libc::SIGTERM);
    assert_eq!(victim.wait().unwrap().code(), Some(130));
    Ok(())
}
