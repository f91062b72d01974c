//! Links with names, completions and man pages, as a user gets them.

mod common;

use common::{open_folder, said, summary_in, wirecost};
use serde_json::Value;

fn output(arguments: &str) -> String {
    let home = open_folder();
    let said = said(wirecost(home.path()).args(arguments.split(' ')));
    assert_eq!(said.code, Some(0), "{arguments}: {}", said.stderr);
    said.stdout
}

#[test]
fn links_are_listed_and_each_is_shown_with_its_sources() {
    let table = output("links");
    let names: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(
        names.starts_with(&[
            "name", "ethernet", "wifi", "lte", "lte-m", "nb-iot", "nbiot", "3g"
        ]),
        "{table}"
    );
    let all: Value = serde_json::from_str(&output("links --json -")).expect("JSON");
    let all = all.as_array().expect("a list");
    assert_eq!(all.len(), 10);
    for link in all {
        let name = link["name"].as_str().expect("a name");
        assert!(table.contains(&format!("\n{name} ")), "{name}");
        let file = output(&format!("links {name}"));
        for value in link["values"].as_array().expect("values") {
            assert!(
                value["source"].is_string() && value["date"].is_string(),
                "{name} {value}"
            );
            assert!(
                file.contains(value["value"].as_str().expect("a text")),
                "{name} {value}"
            );
        }
        let one: Value = serde_json::from_str(&output(&format!("links {name} --json -"))).expect("JSON");
        assert_eq!(&one, link);
    }
}

#[test]
fn a_shown_link_is_a_file_of_ones_own_link() {
    let home = open_folder();
    std::fs::write(home.path().join("mine.yaml"), output("links satellite-leo")).expect("a file");
    let links = ["satellite-leo", "mine.yaml"].map(|link| {
        let out = link.replace('.', "-");
        let line = format!("compare udp --engine sim -n 2 -q --link {link} --rtt 80ms --out {out}");
        let said = said(wirecost(home.path()).args(line.split(' ')));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        summary_in(&home.path().join(out)).cells[0].link.up.clone()
    });
    assert_eq!(links[0], links[1]);
    let up = &links[0];
    assert_eq!((up.delay_ns, up.delay_variation_ns), (40_000_000, 17_000_000));
    assert_eq!(up.rate_bps, Some(12_000_000));
}

#[test]
fn every_shell_has_completions_of_the_visible_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = output(&format!("completions {shell}"));
        assert!(
            script.contains("link-rate") && script.contains("compare"),
            "{shell}"
        );
        assert!(!script.contains("load-worker"), "{shell}");
        for name in [
            "nb-iot",
            "nrf9160-lte-m",
            "soracom",
            "coap-con+dtls1.2-cid",
            "fog-cloud",
        ] {
            // PowerShell's and Elvish's scripts complete commands and options alone, and fish's no arguments without an option.
            let is_of_option = !matches!(name, "coap-con+dtls1.2-cid" | "fog-cloud");
            let is_listed = match shell {
                "bash" | "zsh" => true,
                "fish" => is_of_option,
                _ => false,
            };
            assert!(!is_listed || script.contains(name), "{shell}: {name}");
        }
    }
}

#[test]
fn every_visible_command_has_a_man_page() {
    let page = output("man load");
    assert!(
        page.contains(".TH wirecost-load 1") && page.contains("link\\-rate"),
        "{page}"
    );
    let home = open_folder();
    let said = said(wirecost(home.path()).args(["man", "--out", "pages"]));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for name in [
        "wirecost",
        "wirecost-compare",
        "wirecost-links",
        "wirecost-object-seal",
    ] {
        assert!(home.path().join(format!("pages/{name}.1")).exists(), "{name}");
    }
    assert!(!home.path().join("pages/wirecost-load-worker.1").exists());
}

/// Its own help has every option; the short one names it.
#[test]
fn help_all_has_the_options_that_help_leaves_out() {
    for command in ["compare", "load", "link", "run", "probe", "serve"] {
        let short = output(&format!("{command} --help"));
        assert!(short.lines().count() < 100, "{command}");
        assert!(short.contains("--help-all"), "{command}");
        assert_eq!(output(&format!("help {command}")), short);
        let all = output(&format!("{command} --help-all"));
        let options = |text: &str| text.matches("\n      --").count() + text.matches("\n  -").count();
        assert!(options(&all) > options(&short), "{command}");
    }
}

#[test]
fn the_version_and_the_topics_are_answered_as_they_are_asked_for() {
    let version = output("--version");
    for line in ["-V", "-v", "version"] {
        assert_eq!(output(line), version, "{line}");
    }
    assert!(output("help exit-codes").contains("| 14 |"));
    assert!(output("help stacks").contains("mqtt-qos1+tls1.3"));
    // Without a command, the three doors of the README.
    let said = said(wirecost(open_folder().path()).args([""; 0]));
    let doors = said.stdout + &said.stderr;
    for door in ["I plan devices:", "I have a broker:", "I publish figures:"] {
        assert!(doors.contains(door), "{doors}");
    }
}

#[test]
fn each_figure_of_a_report_is_a_file_of_its_own() {
    let home = open_folder();
    let run = |line: &str| said(wirecost(home.path()).args(line.split_whitespace()));
    let made = run("compare udp,coap-con --engine sim -n 5 --size 16B,1kB --rtt 20ms,90ms -q --out run");
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let told = run("report run --figures figures");
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let mut files: Vec<String> = told.stdout.lines().map(str::to_owned).collect();
    assert_eq!(files.remove(0), "run/report.html");
    assert!(files.len() >= 3, "{files:?}");
    let page = std::fs::read_to_string(home.path().join("run/report.html")).expect("a page");
    for file in &files {
        let svg = std::fs::read_to_string(home.path().join(file)).expect(file);
        assert!(
            svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\""),
            "{file}"
        );
        assert!(svg.contains("<style>svg { background: #fff;"), "{file}");
        // Neither a variable of the page nor a name that XML does not know.
        assert!(!svg.contains("var(--") && !svg.contains("&nbsp;"), "{file}");
        let (_, name) = svg.split_once("aria-label=\"").expect("a name");
        let name = name.split('"').next().expect("a name");
        assert!(page.contains(&format!("aria-label=\"{name}\"")), "{file}");
    }
}

#[test]
fn the_citation_names_this_version() {
    let file = include_str!("../../../CITATION.cff");
    let version = format!("version: {}", env!("CARGO_PKG_VERSION"));
    assert!(file.lines().any(|line| line == version), "{file}");
}
