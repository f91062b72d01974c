//! A page that brings its style and its script. Its policy forbids every other script, and every request but to its own server.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use wirecost_security::entropy::Entropy;

use super::{Request, Response};

/// A page before it is sent: markup with places for style, script and the nonce of both.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Its title, until its script gives it another.
    pub title: &'static str,
    /// The markup from `<body>` on, with `{script}` and `{nonce}`.
    pub markup: &'static str,
    /// Its style sheets, behind that of all pages.
    pub style: &'static [&'static str],
    /// Its script.
    pub script: &'static str,
    /// What its policy allows besides (Content Security Policy Level 3): directives, each with a semicolon behind it.
    pub allowed: &'static str,
}

/// What all pages begin with.
const HEAD: &str = include_str!("head.html");

impl Page {
    /// Answers a request with the page.
    ///
    /// # Errors
    /// The peer has gone or takes too long, or the system has no random bytes.
    pub fn answer(&self, request: Request) -> io::Result<()> {
        let nonce = nonce()?;
        let allowed = self.allowed;
        let fields = format!(
            "{NOT_KEPT}Content-Security-Policy: default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; {allowed}\
             connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
        );
        let style = wirecost_report::html::STYLE.to_owned() + &self.style.concat();
        let content = (HEAD.to_owned() + self.markup)
            .replace("{title}", self.title)
            .replace("{style}", &style)
            .replace("{script}", self.script)
            .replace("{nonce}", &nonce);
        request.answer(&Response {
            status: "200 OK",
            content_type: "text/html; charset=utf-8",
            fields: &fields,
            content: &content,
        })
    }
}

/// The fields of an answer that nobody keeps, takes for another type or loads from another site.
pub const NOT_KEPT: &str = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n";

/// A number that only this response knows.
fn nonce() -> io::Result<String> {
    let mut bytes = [0; 18];
    Entropy::system().fill(&mut bytes).map_err(io::Error::other)?;
    Ok(BASE64.encode(bytes))
}
