//! Who is answered, and with which sentence those are refused who are not.

use std::net::TcpListener;

use serde_json::json;

use crate::Ui;
use crate::common::{said, wirecost};

fn status(response: &str) -> &str {
    response.split(' ').nth(1).unwrap_or_default()
}

/// The content, which is one line.
fn sentence(response: &str) -> &str {
    let (_, content) = response.split_once("\r\n\r\n").expect("a head");
    assert_eq!(content.lines().count(), 1, "{content}");
    content.trim_end()
}

#[test]
fn requests_that_are_none_of_the_page_are_refused_in_a_sentence() {
    let ui = Ui::start();
    let long = format!(
        "GET /api/choose?v=1&every={} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "1".repeat(20_000)
    );
    for (request, expected, words) in [
        (
            "GET / HTTP/1.1\r\nHost: ui.example\r\n\r\n",
            "421",
            "the page is at the address that wirecost ui names",
        ),
        (
            "GET /api/controls HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://ui.example\r\n\r\n",
            "403",
            "a page of another site may not ask this server",
        ),
        (
            "GET /api/choose?v=1&every=1h HTTP/1.1\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n\r\n",
            "403",
            "a page of another site may not ask this server",
        ),
        (
            "GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
            "404",
            "the page is at /",
        ),
        (
            // What is too large is refused before it is read.
            "POST /api/choose HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2000000000\r\n\r\n",
            "405",
            "this server takes nothing here: only GET and HEAD are answered",
        ),
        (
            &long,
            "431",
            "the request is not whole, or longer than this server reads",
        ),
    ] {
        let response = ui.response(request.as_bytes());
        assert_eq!(status(&response), expected, "{request:.60}");
        assert_eq!(sentence(&response), words);
    }
}

#[test]
fn the_page_may_load_nothing_of_others_and_stays_in_no_cache() {
    let ui = Ui::start();
    let page = ui.get("/");
    for part in [
        "HTTP/1.1 200 ",
        "default-src 'none'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "nosniff",
        "no-store",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("http://") && !page.contains("https://"));
    let (status, begin) = ui.json("/api/controls");
    assert_eq!(status, "200");
    let controls = begin["controls"].as_array().expect("controls");
    assert!(controls.len() > 40 && controls.iter().any(|control| control["key"] == "battery-years"));
}

#[test]
fn connections_that_stall_do_not_keep_others_away() {
    let ui = Ui::start();
    let stalling: Vec<_> = (0..200).map(|_| ui.ask(b"GET /api")).collect();
    assert_eq!(status(&ui.get("/")), "200");
    drop(stalling);
}

#[test]
fn a_question_that_cannot_be_answered_is_refused_as_by_the_command_line() {
    let ui = Ui::start();
    for (state, error) in [
        ("every=1h", "this link does not say its version: it lacks v=1"),
        (
            "v=0&every=1h",
            "this link is of version 0 of the page, and this wirecost reads version 1",
        ),
        (
            "v=1&every=1h&device=./x.yaml",
            "--device takes names here, and \"./x.yaml\" is a file",
        ),
        ("v=1&every=0s", "--every must be above 0s"),
        ("v=1&every=1h&by=money", "--by money needs --tariff NAME"),
        (
            "v=1&every=1h&rtt=1s&within=100ms",
            "--within 100 ms contradicts the link, whose delay up is 500 ms",
        ),
        (
            "v=1&every=1h&size=1GB",
            "this question has 1000MB for a reading, and this page sends at most 100 kB",
        ),
        (
            "v=1&every=1h&count=5000",
            "this question has 5000 devices of each way, and this page simulates 100",
        ),
        ("v=1&every=1h&rtt=5ms,6ms", "choose takes one link"),
        ("v=1&every=1h&row=x", "row is a number, not \"x\""),
    ] {
        let (status, answer) = ui.json(&format!("/api/choose?{state}"));
        assert_eq!(
            (status.as_str(), &answer["error"]),
            ("400", &json!(error)),
            "{state}"
        );
    }
    // Words of the parser of the command line.
    for state in [
        "v=1&every=often",
        "v=1&every=1h&stacks=nonsense",
        "v=1&every=1h&battery-years=5",
        "v=1",
    ] {
        let (status, answer) = ui.json(&format!("/api/choose?{state}"));
        let error = answer["error"].as_str().expect("a sentence");
        assert!(
            status == "400" && !error.is_empty() && !error.contains('\n'),
            "{state}: {error}"
        );
    }
}

#[test]
fn on_the_network_nobody_is_answered_without_the_token() {
    let ui = Ui::on("0.0.0.0:0");
    let (_, token) = ui.url.split_once("/?token=").expect("a token");
    let host = format!("127.0.0.1:{}", ui.address.port());
    let asked = |target: &str, more: &str| {
        ui.response(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n").as_bytes())
    };
    let words = "this page needs the link that wirecost has printed: its token is missing or wrong";
    for target in [
        "/",
        "/?token=",
        "/?token=x",
        "/api/controls",
        "/api/choose?v=1&every=1h",
    ] {
        let response = asked(target, "");
        assert_eq!(
            (status(&response), sentence(&response)),
            ("403", words),
            "{target}"
        );
    }
    let known = asked(&format!("/?token={token}&v=1&every=1h"), "");
    assert_eq!(status(&known), "303");
    assert!(known.contains("\r\nLocation: /?v=1&every=1h\r\n"), "{known}");
    let cookie = known
        .split("Set-Cookie: ")
        .nth(1)
        .and_then(|rest| rest.split(';').next());
    let cookie = format!("Cookie: {}\r\n", cookie.expect("a cookie"));
    assert_eq!(status(&asked("/", &cookie)), "200");
    assert_eq!(status(&asked("/api/controls", &cookie)), "200");
    assert_eq!(status(&asked("/", &cookie.replace('=', "=x"))), "403");
}

#[test]
fn an_address_that_cannot_be_listened_on_is_said() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let said = said(wirecost(std::path::Path::new("/")).args(["ui", "--listen", &address]));
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    let expected = format!("error: cannot listen on {address}: Address already in use");
    assert!(said.stderr.starts_with(&expected), "{}", said.stderr);
}
