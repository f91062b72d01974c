//! The HTML report in a browser: no error, no request, every figure drawn.

mod common;
#[path = "common/loads.rs"]
mod loads;
#[path = "common/nbiot.rs"]
mod nbiot;

use std::path::{Path, PathBuf};
use std::process::Command;

use wirecost_report::choice::{
    Choice, Choices, CostByInterval, CostLine, CostPoint, Current, Ranked, Sensitivity, Step,
};
use wirecost_report::html::report;
use wirecost_results::Results;

const CHROMIUM: &str = "/usr/bin/chromium";

struct Browser {
    folder: tempfile::TempDir,
}

impl Browser {
    /// A browser with a profile of its own.
    fn new() -> Self {
        assert!(
            Path::new(CHROMIUM).exists(),
            "there is no {CHROMIUM}: scripts/test installs it"
        );
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// What the browser prints and logs when it opens the report.
    fn open(&self, results: &Results, options: &[&str]) -> (String, String) {
        self.open_page(&report(results).unwrap(), options)
    }

    /// What a page asks of the network: the log's requests on behalf of a file. The browser's own have no site.
    fn requests_of(&self, html: &str) -> Vec<String> {
        let log = self.folder.path().join("net.json");
        self.open_page(html, &["--dump-dom", &format!("--log-net-log={}", log.display())]);
        let events = std::fs::read_to_string(&log).unwrap();
        let of_page = |line: &&str| line.contains("site=file://") && line.contains("\"url\":\"http");
        events.lines().filter(of_page).map(str::to_owned).collect()
    }

    fn open_page(&self, html: &str, options: &[&str]) -> (String, String) {
        let page = self.folder.path().join("report.html");
        std::fs::write(&page, html).unwrap();
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
            // The browser resolves no name: what it does for itself stays on this machine.
            .arg("--host-resolver-rules=MAP * ~NOTFOUND")
            .args(["--hide-scrollbars", "--enable-logging=stderr"])
            .arg(format!(
                "--user-data-dir={}",
                self.folder.path().join("profile").display()
            ))
            .args(std::env::var("BROWSER_OPTION").ok())
            .args(options)
            .arg(format!("file://{}", page.display()))
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (text(output.stdout), text(output.stderr))
    }
}

#[test]
#[ignore = "needs chromium"]
fn the_report_opens_without_errors_and_draws_every_figure() {
    let browser = Browser::new();
    let results = common::eight_stacks();
    let (dom, log) = browser.open(&results, &["--dump-dom"]);
    assert_eq!(console(&log), Vec::<&str>::new());
    // Seven figures in two widths, and a panel per stack.
    assert_eq!(dom.matches("<svg").count(), 7 * 2 + common::STACKS.len());
    assert!(dom.contains("id=\"glossary\"") && dom.ends_with("</html>\n"));
}

/// The style sheet alone shows one panel of each map, that of the buttons chosen; the script only looks.
#[test]
#[ignore = "needs chromium"]
fn a_map_shows_the_panel_that_its_buttons_choose() {
    const LOOK: &str = r#"<script>
        const shown = () => [...document.querySelectorAll(".pick")].map(pick => [...pick.querySelectorAll(".panel")]
            .filter(panel => getComputedStyle(panel).display !== "none").map(panel => panel.className).join("+")).join(" ");
        const before = shown();
        document.querySelector("input[name='map0-0'].l0v1").checked = true;
        document.querySelector("input[name='map0-1'].l1v1").checked = true;
        document.title = before + " then " + shown();
        </script></body>"#;
    let browser = Browser::new();
    let sweep = common::sweep(
        &["udp", "coap-con", "mqtt-qos1"],
        &[16, 128],
        &[25, 100],
        &[0.0, 0.2],
    );
    let page = report(&sweep).unwrap().replace("</body>", LOOK);
    let (dom, log) = browser.open_page(&page, &["--dump-dom"]);
    assert_eq!(console(&log), Vec::<&str>::new());
    let title = dom.split("<title>").nth(1).unwrap();
    let before = "panel p0v0 p1v0 panel p0v0 p1v0";
    let after = "panel p0v1 p1v1 panel p0v0 p1v0";
    assert!(
        title.starts_with(&format!("{before} then {after}</title>")),
        "{title:.200}"
    );
}

#[test]
#[ignore = "needs chromium"]
fn an_error_in_the_console_is_noticed() {
    let browser = Browser::new();
    let (_, log) = browser.open_page("<script>missing();</script>", &["--dump-dom"]);
    assert_eq!(console(&log).len(), 1, "{log}");
}

fn console(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains("CONSOLE")).collect()
}

#[test]
#[ignore = "needs chromium"]
fn the_report_asks_nothing_of_the_network() {
    let browser = Browser::new();
    let html = report(&common::troubled()).unwrap();
    assert_eq!(browser.requests_of(&html), Vec::<String>::new());
}

/// Without this, a log that the browser writes differently would look like silence.
#[test]
#[ignore = "needs chromium"]
fn a_page_that_asks_the_network_is_noticed() {
    let browser = Browser::new();
    let requests = browser.requests_of("<img src=\"http://127.0.0.1:9/x.png\">");
    assert!(
        requests.iter().any(|line| line.contains("127.0.0.1:9/x.png")),
        "{requests:?}"
    );
}

#[test]
#[ignore = "needs chromium"]
fn the_report_of_loads_draws_every_figure() {
    let browser = Browser::new();
    let keep = std::env::var_os("SCREENSHOTS").map(PathBuf::from);
    // Rate, times, outcomes, connects, CPU, memory, percentiles and flame graph; of a matrix one figure for each quantity that
    // its loads have, the keys of their lines, and two figures for the one axis along which they differ.
    for (name, results, figures, keys) in [
        ("stalled", loads::stalled(), 8, 0),
        ("storm", loads::storm(), 8, 0),
        ("matrix", loads::matrix(), 2 + 1 + 1, 12),
        ("linked", loads::linked(), 1 + 1, 2),
    ] {
        let html = wirecost_report::load::html(&results).unwrap();
        let (dom, log) = browser.open_page(&html, &["--dump-dom"]);
        assert_eq!(console(&log), Vec::<&str>::new(), "{name}");
        assert_eq!(dom.matches("<svg").count(), figures * 2 + keys, "{name}");
        assert_eq!(browser.requests_of(&html), Vec::<String>::new(), "{name}");
        let Some(keep) = &keep else { continue };
        std::fs::write(keep.join(format!("load-{name}.html")), &html).unwrap();
        for width in [1_400, 1_180, 420] {
            let file = keep.join(format!("load-{name}-{width}.png"));
            let height = if width < 600 { 7_000 } else { 3_600 };
            let options = [
                format!("--screenshot={}", file.display()),
                format!("--window-size={width},{height}"),
            ];
            browser.open_page(&html, &[&options[0], &options[1]]);
        }
    }
}

/// What is wrong with a page at the widths of screens: what is wider than the page and does not scroll, a box that scrolls without a
/// sign or without the keyboard, text in a figure that crosses an axis or lies on other text, and text whose contrast is below 4.5:1. The browser has no
/// window below 500 pixels, so that the page is in a frame.
fn faults(browser: &Browser, page: &str, is_dark: bool) -> String {
    const LOOK: &str = r#"<script>
        for (const more of document.querySelectorAll("details")) more.open = true;
        const found = [];
        const wide = [...document.body.querySelectorAll("*")].filter(box => {
            if (box.closest(".scroll") || box.closest("svg") || box.closest("pre") || box.closest(".sr") || box.closest(".tip")) return false;
            return box.getBoundingClientRect().right > innerWidth + 1;
        }).map(box => "wide " + box.tagName + "." + box.className);
        if (document.documentElement.scrollWidth > innerWidth) found.push("page");
        found.push(...wide);
        for (const box of document.querySelectorAll(".scroll")) {
            if (box.scrollWidth <= box.clientWidth + 1) continue;
            const style = getComputedStyle(box);
            if (style.overflowX !== "auto" || !style.backgroundImage.includes("gradient")) found.push("no sign " + box.ariaLabel);
            if (box.tabIndex !== 0 || box.getAttribute("role") !== "region" || !box.ariaLabel) found.push("no keyboard");
        }
        const rgb = text => (text.match(/[\d.]+/g) || []).map(Number);
        const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
            .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
        const ground = rgb(getComputedStyle(document.body).backgroundColor);
        for (const svg of document.querySelectorAll("svg[role=img]")) {
            if (!svg.getClientRects().length) continue;
            if (!svg.querySelector("title") || !svg.querySelector("desc") || !svg.getAttribute("aria-label")) found.push("unnamed figure");
            const texts = [...svg.querySelectorAll("text")].map(text => [text, text.getBBox()]);
            const axes = [...svg.querySelectorAll("line.axis")].map(line => line.getBBox());
            for (const [text, box] of texts) {
                const crosses = axis => axis.x < box.x + box.width - 1 && axis.x + axis.width > box.x + 1
                    && axis.y < box.y + box.height - 2 && axis.y + axis.height > box.y + 2;
                if (axes.some(crosses)) found.push(svg.ariaLabel + ": on the axis: " + text.textContent);
                if (text.matches(".on, .frame, .flight, .cell-number")) continue;
                const [a, b] = [light(rgb(getComputedStyle(text).fill)), light(ground)];
                if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) found.push("pale: " + text.textContent);
            }
            const labels = texts.filter(([text]) => text.matches(".tick, .muted, .end"));
            labels.forEach(([text, box], at) => labels.slice(at + 1).forEach(([other, second]) => {
                if (Math.min(box.x + box.width, second.x + second.width) - Math.max(box.x, second.x) > 1
                    && Math.min(box.y + box.height, second.y + second.height) - Math.max(box.y, second.y) > 4)
                    found.push(svg.ariaLabel + ": on one another: " + text.textContent + " and " + other.textContent);
            }));
        }
        parent.postMessage(innerWidth + ": " + [...new Set(found)].slice(0, 12).join(" | "), "*");
        </script></body>"#;
    let page = page.replace("</body>", LOOK);
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    let frames: String = SCREENS
        .iter()
        .map(|width| {
            format!("<iframe style=\"border:0;width:{width}px;height:900px\" srcdoc=\"{page}\"></iframe>")
        })
        .collect();
    let listen = "<script>const seen = []; addEventListener('message', event => { seen.push(event.data); \
                  document.title = seen.sort().join('; '); });</script>";
    let outer = format!("<!doctype html><title></title>{listen}<body style=\"width:1700px\">{frames}</body>");
    let scheme = format!("--blink-settings=preferredColorScheme={}", i32::from(!is_dark));
    let options = [
        "--dump-dom",
        "--window-size=1800,900",
        "--virtual-time-budget=8000",
        &scheme,
    ];
    let (dom, _) = browser.open_page(&outer, &options);
    let rest = dom.split("<title>").nth(1).unwrap();
    rest.split("</title>").next().unwrap().to_owned()
}

/// The widths of screens.
const SCREENS: [u32; 4] = [420, 800, 1_200, 1_600];
const NO_FAULT: &str = "1200: ; 1600: ; 420: ; 800: ";

/// Fails where a page has a fault at any width, light or dark.
fn assert_whole(browser: &Browser, page: &str) {
    for is_dark in [false, true] {
        assert_eq!(faults(browser, page, is_dark), NO_FAULT, "dark: {is_dark}");
    }
}

/// Without this, a browser that ignores the scheme would pass the tests of both.
#[test]
#[ignore = "needs chromium"]
fn faults_of_a_page_are_noticed() {
    let browser = Browser::new();
    let page = r##"<style>body { background: #fff } @media (prefers-color-scheme: dark) { body { background: #111 } }</style><body>
        <svg role="img" aria-label="a" viewBox="0 0 400 100" width="400"><title>a</title><desc>a</desc>
        <line class="axis" x1="20" x2="20" y1="0" y2="90"></line><text x="10" y="50" fill="#222">name</text></svg>
        <div style="width:2000px">wide</div></body>"##;
    let light = faults(&browser, page, false);
    assert!(
        light.contains("page | wide DIV. | a: on the axis: name"),
        "{light}"
    );
    assert!(!light.contains("pale") && faults(&browser, page, true).contains("pale: name"));
}

/// Each figure of each page opens by itself, with its name, and asks nothing of the network.
#[test]
#[ignore = "needs chromium"]
fn each_figure_opens_without_its_page() {
    let browser = Browser::new();
    let loads = wirecost_report::load::html(&loads::stalled()).unwrap();
    for page in [report(&common::eight_stacks()).unwrap(), loads, cells(false)] {
        let figures = wirecost_report::standalone::figures(&page);
        assert!(figures.len() > 3);
        let images: String = figures
            .iter()
            .map(|figure| {
                assert!(
                    figure.svg.contains("<title>") && !figure.svg.contains("var("),
                    "{}",
                    figure.file
                );
                let content = figure.svg.replace('&', "&amp;").replace('"', "&quot;");
                format!(
                    "<img src=\"data:image/svg+xml;utf8,{}\">",
                    content.replace('#', "%23")
                )
            })
            .collect();
        let script = "<script>onload = () => { document.title = [...document.images].filter(image => image.naturalWidth > 300).length; };</script>";
        let (dom, _) = browser.open_page(&format!("<title></title>{script}{images}"), &["--dump-dom"]);
        let title = dom
            .split("<title>")
            .nth(1)
            .and_then(|rest| rest.split("</title>").next());
        assert_eq!(title, Some(figures.len().to_string().as_str()));
    }
}

#[test]
#[ignore = "needs chromium"]
fn nothing_is_clipped_at_the_widths_of_screens() {
    let browser = Browser::new();
    let sweep = common::sweep(
        &["udp", "coap-con+dtls1.3", "amqp-unsettled+tls1.3"],
        &[16, 128, 1_000, 10_000],
        &[25, 100],
        &[0.0, 0.2],
    );
    let pages = [common::eight_stacks(), common::troubled(), sweep].map(|results| report(&results).unwrap());
    let loads =
        [loads::stalled(), loads::matrix()].map(|results| wirecost_report::load::html(&results).unwrap());
    for page in pages.into_iter().chain(loads).chain([cells(true)]) {
        assert_whole(&browser, &page);
    }
}

/// The report of NB-IoT cells.
fn cells(has_changes: bool) -> String {
    let summary = nbiot::summary(has_changes);
    wirecost_report::nbiot::page(&summary, Some(&nbiot::map()), &nbiot::sequence()).unwrap()
}

#[test]
#[ignore = "needs chromium"]
fn the_report_of_cells_draws_every_figure() {
    let browser = Browser::new();
    let html = cells(false);
    let (dom, log) = browser.open_page(&html, &["--dump-dom"]);
    assert_eq!(console(&log), Vec::<&str>::new());
    assert_eq!(browser.requests_of(&html), Vec::<String>::new());
    // Twelve quantities, delays of three choices of levels and three figures of parts at two loads, the sequence and the currents of a
    // report and a day, each in two widths; a map per curve and load, and the six marks of its legend.
    let figures = 12 + (3 + 3) * 2 + 3;
    assert_eq!(dom.matches("<svg").count(), figures * 2 + 4 * 2 + 6);
    let Some(keep) = std::env::var_os("SCREENSHOTS").map(PathBuf::from) else {
        return;
    };
    std::fs::write(keep.join("nbiot.html"), &html).unwrap();
    for (width, height) in [(1_400, 7_000), (1_180, 7_000), (420, 12_000)] {
        let file = keep.join(format!("nbiot-{width}.png"));
        let shot = format!("--screenshot={}", file.display());
        browser.open_page(&html, &[&shot, &format!("--window-size={width},{height}")]);
    }
}

/// A decision matrix of two use cases, one without an answer.
fn choices() -> Choices {
    let text = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| (*text).to_owned())
            .collect::<Vec<String>>()
    };
    let row = |stack: &str, is_met, parts| Ranked {
        texts: text(&[
            "1",
            stack,
            "persistent for 96, keep-alive 18 min, resumed",
            "2,409",
            "0.2933",
            "2.0 y (1.6 to 2.6)",
            "1.61 s",
            "wake-up 1.50 s, connect 103 ms, message 122 ms",
            "0.01731",
            "not met: within: longest 0.80 s, above 0.30 s",
        ]),
        is_met,
        is_shown: parts != [0.0; 3],
        parts,
        layers: (parts != [0.0; 3]).then_some([[20.0, 8.0, 0.0, 30.0, 64.0], [20.0, 8.0, 0.0, 12.0, 0.0]]),
        years: Some([2.0, 1.6, 2.6]),
    };
    let case = |name: &str, is_met| {
        Choice {
        day: Some(Current {
            name: "coap-con+oscore (no connection)".to_owned(),
            steps: (0..288)
                .map(|slot| Step {
                    state: "mean of 5 min",
                    seconds: 300.0,
                    milliamperes: if slot % 3 == 0 { 0.4 } else { 0.003 },
                })
                .collect(),
            packets: Vec::new(),
            summary: "This day: 11,319 mC in 1 d.".to_owned(),
        }),
        current: Some(Current {
            name: "coap-con+oscore (no connection)".to_owned(),
            steps: [
                ("wake-up", 1.5, 20.0),
                ("transmit", 0.01, 105.0),
                ("connected", 5.0, 15.0),
                ("reachable", 5.0, 2.0),
            ]
            .map(|(state, seconds, milliamperes)| Step {
                state,
                seconds,
                milliamperes,
            })
            .to_vec(),
            packets: vec![(1.5, "up: 100 B".to_owned())],
            summary: "This reading: 116 mC in 11.5 s.".to_owned(),
        }),
        intervals: Some(CostByInterval {
            unit: "MB a month".to_owned(),
            asked: 900_000_000_000,
            lines: ["coap-con+oscore", "amqp-unsettled+tls1.3 persistent"]
                .iter()
                .enumerate()
                .map(|(stack, label)| CostLine {
                    label: (*label).to_owned(),
                    stack,
                    points: [(60, 9.0), (900, 0.6), (86_400, 0.006)]
                        .map(|(seconds, value)| CostPoint {
                            at: seconds * 1_000_000_000,
                            value: value + stack as f64,
                            range: Some([value; 2]),
                            is_simulated: seconds == 900,
                        })
                        .to_vec(),
                })
                .collect(),
            note: String::new(),
        }),
        sensitivity: Sensitivity {
            caption: "Which input, changed by at most 10 %, puts amqp-unsettled+tls1.3 (persistent for 96) before it".to_owned(),
            heads: text(&["input", "asked", "changes the order"]),
            rows: vec![text(&["round trip of the link, without queueing", "57.1 ms", "at 60 ms (+5 %)"])],
            notes: text(&["each input by itself"]),
        },
        name: name.to_owned(),
        answer: "coap-con+oscore (no connection)".to_owned(),
        reasons: text(&["1 of 2 stacks and ways meet the requirements."]),
        requirements: vec![("reading", "48B every 15min".to_owned())],
        per: "month",
        heads: text(&[
            "row",
            "stack",
            "connection",
            "bytes",
            "MB/month",
            "battery*",
            "time",
            "its parts",
            "EUR/month*",
            "remarks",
        ]),
        rows: vec![
            row("coap-con+oscore", is_met, [0.0, 150.0, 0.0]),
            row("amqp-unsettled+tls1.3", false, [1_300.0, 200.0, 25_000.0]),
            row("another start", false, [0.0; 3]),
        ],
        evidence: text(&["simulated with seed 42"]),
        files: vec![("figures", "01-soil/summary.json".to_owned())],
        assumptions: text(&["modelled by devices/<a>.yaml"]),
    }
    };
    Choices {
        version: "0.1.0".to_owned(),
        title: "Which stack for which use case".to_owned(),
        matrix: vec![
            text(&["soil", "coap-con+oscore", "150 B", "of 2 rows: 1 by within", ""]),
            text(&["<b>buoy", "none", "nearest", "of 2 rows: 2 by within", ""]),
        ],
        matrix_heads: text(&["use case", "best", "its figures", "excluded", "alternative"]),
        cases: vec![case("soil", true), case("<b>buoy", false)],
        command: "wirecost choose --file cases.yaml".to_owned(),
    }
}

#[test]
#[ignore = "needs chromium"]
fn the_page_of_a_choice_is_whole_and_asks_nothing() {
    let browser = Browser::new();
    let html = wirecost_report::choice::html(&choices()).unwrap();
    let (dom, log) = browser.open_page(&html, &["--dump-dom"]);
    assert_eq!(console(&log), Vec::<&str>::new());
    assert_eq!(browser.requests_of(&html), Vec::<String>::new());
    // Of each case bytes, battery, bytes by layer, the currents of a reading and of a day, and the cost against the interval, in two widths.
    let drawn = ["<table", "<svg"].map(|element| dom.matches(element).count());
    assert_eq!(drawn, [7, 2 * 6 * 2]);
    assert!(!dom.contains("<b>buoy") && dom.contains("&lt;b&gt;buoy"));
    assert_whole(&browser, &html);
}

/// The style sheet alone shows one panel of each choice. The map begins with the stack of which fewest devices are served at the
/// highest load.
#[test]
#[ignore = "needs chromium"]
fn one_panel_of_each_choice_in_cells_is_shown() {
    const LOOK: &str = r#"<script>
        const shown = () => [...document.querySelectorAll(".pick")].map(pick => [...pick.querySelectorAll(".panel")]
            .filter(panel => getComputedStyle(panel).display !== "none").map(panel => panel.className.slice(6)).join("+")).join("; ");
        const before = shown();
        document.querySelector("input[name='study0-0'].l0v1").checked = true;
        document.querySelector("input[name='map0-0'].l0v0").checked = true;
        document.querySelector("input[name='map0-1'].l1v3").checked = true;
        document.title = before + " then " + shown();
        </script></body>"#;
    let browser = Browser::new();
    let page = cells(true).replace("</body>", LOOK);
    let (dom, log) = browser.open_page(&page, &["--dump-dom"]);
    assert_eq!(console(&log), Vec::<&str>::new());
    let title = dom
        .split("<title>")
        .nth(1)
        .and_then(|rest| rest.split("</title>").next());
    let before = "p0v0; p0v1 p1v0; p0v0; p0v0; p0v0 p1v0; p0v1 p1v0";
    let after = "p0v1; p0v1 p1v0; p0v0; p0v0; p0v0 p1v0; p0v0 p1v3";
    assert_eq!(title, Some(format!("{before} then {after}").as_str()));
}

#[test]
#[ignore = "needs chromium"]
fn a_screenshot_can_be_taken() {
    let browser = Browser::new();
    let keep = std::env::var_os("SCREENSHOTS").map(PathBuf::from);
    let runs = [
        ("eight", common::eight_stacks()),
        ("troubled", common::troubled()),
        ("matrix", common::matrix()),
        ("engines", common::both_engines()),
        (
            "intervals",
            common::intervals(&common::STACKS[3..], &[10, 60, 120, 300, 900, 3_600], &[1, 60]),
        ),
        (
            "sweep",
            common::sweep(
                &common::STACKS,
                &[16, 128, 1_000, 10_000],
                &[25, 100, 400],
                &[0.0, 0.02, 0.2],
            ),
        ),
    ];
    for (name, results) in runs.iter().take(if keep.is_some() { runs.len() } else { 1 }) {
        if let Some(keep) = &keep {
            std::fs::write(keep.join(format!("{name}.html")), report(results).unwrap()).unwrap();
        }
        for (width, height) in [(1_400, 4_300), (1_180, 4_300), (420, 9_500)] {
            let file = keep
                .as_deref()
                .unwrap_or(browser.folder.path())
                .join(format!("{name}-{width}.png"));
            let options = [
                format!("--screenshot={}", file.display()),
                format!("--window-size={width},{height}"),
            ];
            browser.open(results, &[&options[0], &options[1]]);
            assert!(
                std::fs::metadata(&file).is_ok_and(|file| file.len() > 50_000),
                "{}",
                file.display()
            );
        }
    }
}
