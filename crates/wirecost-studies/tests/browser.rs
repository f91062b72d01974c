//! The pages of the studies in a browser: no error, no request, the published numbers in the drawings.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use wirecost_studies::library::{self, Study};
use wirecost_studies::page::{Shown, page};
use wirecost_studies::{Evidence, Judged};

const CHROMIUM: &str = "/usr/bin/chromium";

/// What a browser makes of a page, and what it logs.
fn opened(folder: &Path, html: &str, width: u32) -> (String, String) {
    assert!(
        Path::new(CHROMIUM).exists(),
        "there is no {CHROMIUM}: scripts/test installs it"
    );
    let file = folder.join("report.html");
    std::fs::write(&file, html).expect("a file");
    let output = Command::new(CHROMIUM)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--enable-logging=stderr",
            "--dump-dom",
        ])
        .arg(format!("--window-size={width},1000"))
        .arg(format!("--log-net-log={}", folder.join("net.json").display()))
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("a browser");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(output.stdout), text(output.stderr))
}

#[test]
#[ignore = "needs chromium"]
fn each_study_opens_without_errors_and_requests() {
    let folder = tempfile::tempdir().expect("a folder");
    let evidence = Evidence::default();
    for name in library::names() {
        let claims = Study::named(name).expect(name).claims;
        let judged: Vec<Judged> = claims.judge(&evidence, &BTreeMap::new()).expect(name);
        let html = page(&[Shown {
            claims: &claims,
            judged: &judged,
            evidence: &evidence,
            from: None,
        }])
        .expect(name);
        for width in [420, 1280] {
            let (dom, log) = opened(folder.path(), &html, width);
            assert!(!log.contains("CONSOLE"), "{name}: {log}");
            let requests = std::fs::read_to_string(folder.path().join("net.json")).expect("a log");
            let of_page = |line: &str| line.contains("site=file://") && line.contains("\"url\":\"http");
            assert!(!requests.lines().any(of_page), "{name}");
            let published = judged
                .iter()
                .flat_map(|claim| &claim.points)
                .filter_map(|point| point.published.as_ref());
            for number in published {
                assert!(dom.contains(number.as_str()), "{name} {number}");
            }
            assert_eq!(
                dom.contains("class=\"diamond\""),
                html.contains("class=\"diamond\""),
                "{name}"
            );
        }
    }
}
