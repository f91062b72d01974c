//! Our server with curl.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use wirecost_http::http1::{Server, ServerConfig};

use crate::driver::Running;
use crate::need;

#[test]
#[ignore = "needs curl"]
fn curl_posts_and_gets_over_one_connection() {
    need("curl");
    let server = Running::start(Server::new(ServerConfig::default()));
    let url = &format!("http://{}/test", server.address);
    let text = printed(curl(&[
        "-d", "hello", url, "--next", "-i", url, "--next", "-I", url, "--next", "-i", "-X", "DELETE", url,
    ]));
    let kind = "Content-Type: application/x-www-form-urlencoded\r\n";
    let ok = format!("HTTP/1.1 200 OK\r\n{kind}Content-Length: 5\r\n\r\n");
    let refused =
        "HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD, POST, PUT\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(
        text,
        format!("HTTP/1.1 204 No Content\r\n\r\n{ok}hello{ok}{refused}")
    );
    let (server, connections) = server.stop();
    let stats = server.stats();
    assert_eq!((stats.answered, stats.malformed, connections), (4, 0, 1));
}

#[test]
#[ignore = "needs curl"]
fn curl_waits_for_100_and_sends_chunks_and_speaks_1_0() {
    need("curl");
    let server = Running::start(Server::new(ServerConfig::default()));
    let url = &format!("http://{}/test", server.address);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large");
    fs::write(&file, vec![b'x'; 2_000_000]).unwrap();
    let data = &format!("@{}", file.display());
    let large = printed(curl(&["--data-binary", data, url]));
    assert_eq!(
        large,
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
    );
    let chunks = printed(curl(&[
        "-H",
        "Transfer-Encoding: chunked",
        "-H",
        "Expect:",
        "--data-binary",
        data,
        url,
    ]));
    assert_eq!(chunks, "HTTP/1.1 204 No Content\r\n\r\n");
    let back = printed(curl(&["-0", url]));
    assert!(back.contains("Content-Length: 2000000\r\nConnection: close\r\n\r\n"));
    assert_eq!(back.matches('x').count(), 2_000_000 + 1, "and one in the type");
    let (server, connections) = server.stop();
    let stats = server.stats();
    assert_eq!((stats.answered, stats.malformed, connections), (3, 0, 3));
}

#[test]
#[ignore = "needs curl"]
fn curl_waits_at_a_long_poll_and_pages_through_messages() {
    need("curl");
    let server = Running::start(Server::new(ServerConfig::default()));
    let base = format!("http://{}", server.address);
    let poll = &format!("{base}/long-poll/a?timeout=9");
    let waiting = curl(&[poll]);
    let json = "Content-Type: application/json";
    let mut posts = 0;
    let mut waiting = Some(waiting);
    while let Some(mut child) = waiting.take() {
        // The test cannot know when curl waits, so it posts values until curl has received one.
        printed(curl(&["-H", json, "-d", "{\"test\":1234}", poll]));
        posts += 1;
        match child.try_wait().unwrap() {
            None => {
                std::thread::sleep(Duration::from_millis(50));
                waiting = Some(child);
            }
            Some(_) => assert!(printed(child).ends_with("\r\n\r\n{\"test\":1234}")),
        }
    }
    let page = printed(curl(&[&format!("{base}/messages?next_key={}", posts - 1)]));
    assert!(
        page.ends_with(&format!(
            "{{\"result\":[{{\"test\":1234}}],\"next_key\":{posts}}}"
        )),
        "{page}"
    );
    assert_eq!(server.stop().0.stats().malformed, 0);
}

pub(crate) fn curl(arguments: &[&str]) -> Child {
    Command::new("curl")
        .args(["-s", "-S", "-i", "--max-time", "10"])
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The output of curl: heads and contents.
pub(crate) fn printed(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
