//! Who may ask: neither a page of another site, nor, where others reach the server, somebody without its token.
//!
//! The token is in the link that is printed. The first request with it gets a cookie, so that it stays in no address and in no link that
//! is passed on.

use std::io;
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use wirecost_security::entropy::Entropy;

use super::{Request, Response, names_this_machine};

/// The key of the token in a link.
const KEY: &str = "token";

/// Who may ask a server.
#[derive(Debug)]
pub struct Door {
    /// Whether only this machine reaches the server.
    is_loopback: bool,
    port: u16,
    /// Where the page is, as a line.
    place: &'static str,
    token: Option<String>,
}

/// What a request gets instead of an answer.
#[derive(Debug)]
pub enum Refused {
    /// A line with a status.
    Told(Response<'static>),
    /// The token is right: the same address without it, and a cookie in its place.
    Known(String),
}

impl Door {
    /// The door of a server that anybody may ask who reaches it. `place` is a line that says where the page is.
    pub const fn open(address: SocketAddr, place: &'static str) -> Self {
        Self {
            is_loopback: address.ip().is_loopback(),
            port: address.port(),
            place,
            token: None,
        }
    }

    /// The same, with a token where others than this machine reach it.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn guarded(address: SocketAddr, place: &'static str) -> io::Result<Self> {
        let open = Self::open(address, place);
        if open.is_loopback {
            return Ok(open);
        }
        let mut bytes = [0; 18];
        Entropy::system().fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self {
            token: Some(BASE64.encode(bytes)),
            ..open
        })
    }

    /// What follows the address in the link that lets somebody in; empty without a token.
    pub fn key(&self) -> String {
        let token = self.token.as_ref();
        token.map_or_else(String::new, |token| format!("?{KEY}={token}"))
    }

    /// Why a request is not answered; `None` where it is.
    pub fn refused(&self, request: &Request) -> Option<Refused> {
        let host = request.field("host");
        if (self.is_loopback || self.token.is_some()) && !names_this_machine(host) {
            // A page of another site whose name leads here must not read what is for others.
            return Some(Refused::Told(Response::plain(
                "421 Misdirected Request",
                self.place,
            )));
        }
        let origin = request.field("origin");
        let is_other = !origin.is_empty() && origin.strip_prefix("http://") != Some(host);
        if is_other || is_of_another_site(request) {
            let words = "a page of another site may not ask this server\n";
            return Some(Refused::Told(Response::plain("403 Forbidden", words)));
        }
        let token = self.token.as_deref()?;
        if cookies(request).any(|(name, value)| name == self.cookie() && is_same(value, token)) {
            return None;
        }
        let mut pairs = request.query().split('&').filter_map(|pair| pair.split_once('='));
        if request.path() == "/" && pairs.any(|(key, value)| key == KEY && is_same(value, token)) {
            return Some(Refused::Known(self.welcome(request, token)));
        }
        let words = "this page needs the link that wirecost has printed: its token is missing or wrong\n";
        Some(Refused::Told(Response::plain("403 Forbidden", words)))
    }

    /// The fields of the answer to who has the token.
    fn welcome(&self, request: &Request, token: &str) -> String {
        let pairs = request.query().split('&');
        let kept: Vec<&str> = pairs
            .filter(|pair| !pair.is_empty() && !pair.starts_with(&format!("{KEY}=")))
            .collect();
        let query = if kept.is_empty() { "" } else { "?" };
        // Lax: a link in a mail is followed from another site, and the cookie must come with the page. No request of another site's page has it.
        format!(
            "Location: /{query}{}\r\nSet-Cookie: {}={token}; Path=/; HttpOnly; SameSite=Lax\r\nCache-Control: no-store\r\n",
            kept.join("&"),
            self.cookie()
        )
    }

    /// The name of the cookie. Servers on other ports of this host see it too (RFC 6265, section 8.5), and have one of their own.
    fn cookie(&self) -> String {
        format!("wirecost-{}", self.port)
    }
}

impl Refused {
    /// Answers the request with it.
    ///
    /// # Errors
    /// The peer has gone, or takes too long.
    pub fn answer(&self, request: Request) -> io::Result<()> {
        match self {
            Self::Told(response) => request.answer(response),
            Self::Known(fields) => request.answer(&Response {
                fields,
                ..Response::plain("303 See Other", "the page is at /\n")
            }),
        }
    }
}

/// Whether a page of another site asks, as the browser says (Fetch Metadata Request Headers, W3C): a GET of an image or of a script has
/// no `Origin`. A link there may lead to the page itself in a window of its own. Programs, and browsers that say nothing, are answered.
fn is_of_another_site(request: &Request) -> bool {
    let is_other = matches!(request.field("sec-fetch-site"), "cross-site" | "same-site");
    let is_followed =
        request.field("sec-fetch-mode") == "navigate" && request.field("sec-fetch-dest") == "document";
    let is_page = matches!(request.method(), "GET" | "HEAD") && request.path() == "/";
    is_other && !(is_followed && is_page)
}

/// The cookies of a request (RFC 6265, section 4.2.1).
fn cookies(request: &Request) -> impl Iterator<Item = (&str, &str)> {
    let pairs = request.field("cookie").split(';');
    pairs.filter_map(|pair| pair.trim().split_once('='))
}

/// Compares in a time that does not say how much is alike.
fn is_same(given: &str, token: &str) -> bool {
    let differences = given.bytes().zip(token.bytes()).map(|(one, other)| one ^ other);
    given.len() == token.len() && differences.fold(0, |all, difference| all | difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request;

    fn told(door: &Door, head: &str) -> String {
        let request = request(format!("GET {head}\r\n\r\n").as_bytes()).expect("a request");
        match door.refused(&request) {
            None => "answered".to_owned(),
            Some(Refused::Told(response)) => response.status.to_owned(),
            Some(Refused::Known(fields)) => fields,
        }
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let door = Door::open(([127, 0, 0, 1], 8080).into(), "here\n");
        for (head, expected) in [
            ("/ HTTP/1.1\r\nHost: 127.0.0.1:8080", "answered"),
            (
                "/ HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nOrigin: http://127.0.0.1:8080",
                "answered",
            ),
            ("/ HTTP/1.1\r\nHost: evil.example", "421 Misdirected Request"),
            (
                "/ HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nOrigin: http://evil.example",
                "403 Forbidden",
            ),
            (
                "/ HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nOrigin: null",
                "403 Forbidden",
            ),
        ] {
            assert_eq!(told(&door, head), expected, "{head}");
        }
        assert_eq!(door.key(), "");
    }

    #[test]
    fn what_another_site_makes_a_browser_ask_is_refused_but_for_a_link_to_the_page() {
        let door = Door::open(([127, 0, 0, 1], 8080).into(), "here\n");
        let page = "navigate document";
        for (target, site, how, expected) in [
            ("/api/choose?v=1", "cross-site", "no-cors image", "403 Forbidden"),
            ("/api/choose?v=1", "same-site", "no-cors script", "403 Forbidden"),
            ("/api/choose?v=1", "cross-site", page, "403 Forbidden"),
            ("/", "cross-site", "no-cors image", "403 Forbidden"),
            ("/", "cross-site", "navigate iframe", "403 Forbidden"),
            ("/?v=1", "cross-site", page, "answered"),
            ("/?v=1", "same-site", page, "answered"),
            ("/api/choose?v=1", "same-origin", "cors empty", "answered"),
            ("/?v=1", "none", page, "answered"),
        ] {
            let (mode, dest) = how.split_once(' ').expect("two words");
            let head = format!(
                "{target} HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nSec-Fetch-Site: {site}\r\nSec-Fetch-Mode: {mode}\r\nSec-Fetch-Dest: {dest}"
            );
            assert_eq!(told(&door, &head), expected, "{head}");
        }
        // An older browser, or a program.
        assert_eq!(
            told(&door, "/api/choose?v=1 HTTP/1.1\r\nHost: 127.0.0.1:8080"),
            "answered"
        );
    }

    #[test]
    fn others_need_the_token_and_get_a_cookie_for_it() {
        let door = Door::guarded(([0, 0, 0, 0], 8080).into(), "here\n").expect("random bytes");
        let key = door.key();
        let token = key.strip_prefix("?token=").expect("a token").to_owned();
        assert_eq!(token.len(), 24);
        let host = "HTTP/1.1\r\nHost: 10.0.0.7:8080";
        assert_eq!(told(&door, &format!("/ {host}")), "403 Forbidden");
        assert_eq!(told(&door, &format!("/?token={token}x {host}")), "403 Forbidden");
        assert_eq!(
            told(&door, &format!("/api/choose?token={token} {host}")),
            "403 Forbidden"
        );
        let known = told(&door, &format!("/?v=1&token={token}&size=1B {host}"));
        assert!(
            known.starts_with("Location: /?v=1&size=1B\r\nSet-Cookie: wirecost-8080="),
            "{known}"
        );
        let cookie = |value: &str| format!("/ {host}\r\nCookie: a=b; wirecost-8080={value}");
        assert_eq!(told(&door, &cookie(&token)), "answered");
        assert_eq!(told(&door, &cookie(&token[1..])), "403 Forbidden");
        assert_eq!(
            told(&door, &format!("/?token={token} HTTP/1.1\r\nHost: evil.example")),
            "421 Misdirected Request"
        );
    }
}
