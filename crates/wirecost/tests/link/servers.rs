//! The servers of programs, and the errors without one.

use super::common::need_program;
use super::{Home, assert_code};

#[test]
#[ignore = "needs root"]
fn a_server_that_ends_before_it_listens_is_quoted() {
    let home = Home::new();
    let said = home.run_with("sh -c 'echo no such thing >&2; exit 4'", "-q", &["true"]);
    assert_code(&said, 11);
    assert_eq!(
        said.line("error: "),
        Some("the server sh ended with exit status: 4 before it listened, its last words: no such thing")
    );
    assert!(
        said.line("hint: ")
            .is_some_and(|hint| hint.contains("server.log"))
    );
    assert!(home.file("server.log").exists());
}

#[test]
#[ignore = "needs root and python3"]
fn a_server_that_ends_while_the_program_runs_is_a_warning() {
    need_program("python3", "python3");
    let home = Home::new();
    // It ends once the program runs, however busy the machine is.
    let server = "python3 -c 'import os, socket, sys, time\n\
                  s = socket.create_server((\"{server}\", 7))\n\
                  while not os.path.exists(\"{folder}/runs\"): time.sleep(0.05)\n\
                  sys.exit(\"enough\")'";
    let said = home.run_with(
        server,
        "-q",
        &["sh", "-c", "touch {folder}/runs; sleep 3; exit 5"],
    );
    assert_code(&said, 5);
    let warning = "the server ended with exit status: 1 while the program ran, its last words: enough";
    assert_eq!(said.line("warning: "), Some(warning));
    assert_eq!(home.summary()["warnings"], serde_json::json!([warning]));
}

#[test]
#[ignore = "needs root and python3"]
fn a_server_on_another_port_is_reported_with_that_port() {
    need_program("python3", "python3");
    let home = Home::new();
    let server = "python3 -c 'import socket, time\n\
                  s = socket.create_server((\"127.0.0.1\", 1883)); time.sleep(60)'";
    let said = home.run_with(server, "-q --server-timeout 1s", &["true"]);
    assert_code(&said, 11);
    let error = said.line("error: ").expect("an error");
    assert!(error.ends_with("only at tcp 127.0.0.1:1883"), "{error}");
}

#[test]
#[ignore = "needs root"]
fn waiting_for_a_server_is_visible() {
    let home = Home::new();
    let said = home.run_with("sleep 60", "--port 7 --server-timeout 2s", &["true"]);
    assert_code(&said, 11);
    let waiting = "\"sleep 60\" listens on port 7: 1 s of 2 s";
    assert_eq!(said.line("waiting until "), Some(waiting), "{}", said.stderr);
}

#[test]
#[ignore = "needs root and python3"]
fn the_port_that_is_waited_for_may_come_last() {
    need_program("python3", "python3");
    let home = Home::new();
    let server = "python3 -c 'import socket, time\n\
                  a = socket.create_server((\"\", 7)); time.sleep(1)\n\
                  b = socket.create_server((\"\", 8)); time.sleep(60)'";
    let client = "import socket, sys; socket.create_connection((sys.argv[1], 8), 5)";
    let said = home.run_with(server, "-q --port 8", &["python3", "-c", client, "{server}"]);
    assert_code(&said, 0);
}

#[test]
#[ignore = "needs root"]
fn servers_that_are_not_commands_are_refused() {
    let home = Home::new();
    let cases = [
        ("", 2, "names no program"),
        ("sh -c 'x", 2, "a quote that is not closed"),
        ("no-such-server -c x", 11, "cannot find the server no-such-server"),
    ];
    for (server, code, expected) in cases {
        let said = home.run_with(server, "-q", &["true"]);
        assert_code(&said, code);
        assert!(said.stderr.contains(expected), "{server}: {}", said.stderr);
        assert!(!home.path().join("run").exists(), "{server}");
    }
}

#[test]
#[ignore = "needs root and curl"]
fn a_built_in_server_proves_its_identity() {
    need_program("curl", "curl");
    let home = Home::new();
    let url = "https://server/";
    let curl = [
        "curl",
        "-sS",
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        "--cacert",
        "{authority}",
        "--resolve",
        "server:443:{server}",
        url,
    ];
    let said = home.run("--serve http1 --tls --rtt 20ms -q", &curl);
    assert_code(&said, 0);
    assert_eq!(said.stdout, "404", "nothing has been stored");
    let summary = home.summary();
    assert_eq!(
        summary["report"]["groups"][0]["protocol"],
        "HTTP/1.1 over TLS 1.3"
    );
    assert_eq!(summary["report"]["unattributed"], serde_json::json!([]));
}

#[test]
#[ignore = "needs root and libcoap3-bin"]
fn a_built_in_server_speaks_dtls() {
    need_program("coap-client-openssl", "libcoap3-bin");
    let home = Home::new();
    let client = [
        "coap-client-openssl",
        "-m",
        "get",
        "-R",
        "{authority}",
        "coaps://{server}/test",
    ];
    let said = home.run("--serve coap --dtls --rtt 20ms -q", &client);
    assert_code(&said, 0);
    assert_eq!(said.stdout.trim(), "wirecost");
    let summary = home.summary();
    let group = &summary["report"]["groups"][0];
    assert_eq!(group["server"], "10.78.0.1:5684");
    assert!(group["connect"]["up"]["security"].as_u64() > Some(200), "{group}");
}
