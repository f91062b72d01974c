//! What the page says beyond the ranking is what its command line says; and the page on paper.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Ui;
use crate::common::browser::Browser;
use crate::common::eventually;
use crate::states::{file, of_figures, printed};

const ASKED: &str = "v=1&size=64B&every=1h&keep-alive=18min&link=lte-m&by=energy&device=nrf9160-lte-m&count=1&sensitivity=true&\
                     stacks=coap-con+oscore,mqtt-qos1&start=cold";

#[test]
fn the_sensitivity_of_the_page_is_that_of_its_command_line() {
    let ui = Ui::start();
    let answer = ui.answer(ASKED, "files=1&");
    assert_eq!(answer["failed"], json!([]));
    let part = answer["known"]["part"].as_str().expect("a part");
    assert!(
        part.contains("Cost against the interval")
            && part.contains("Sensitivity")
            && !part.contains("not simulated yet")
    );
    let command = answer["command"].as_str().expect("a command");
    assert!(command.contains(" --sensitivity"), "{command}");
    let home = TempDir::new().expect("a folder");
    let printed = printed(&home, command, "-q --json - --out run");
    let json: Value = serde_json::from_str(&printed).expect("JSON");
    let shown: Value = serde_json::from_str(file(&answer, "choice.json")).expect("JSON");
    assert_eq!(shown, json);
    let inputs = json["sensitivity"]["inputs"].as_array().expect("inputs");
    assert!(
        inputs.len() >= 8 && inputs.iter().all(|line| line["changes_order_at"].is_array()),
        "{inputs:?}"
    );
    let page = std::fs::read_to_string(home.path().join("run/choice.md")).expect("choice.md");
    assert_eq!(of_figures(file(&answer, "choice.md")), of_figures(&page));
    // The picture, too, to the digit of its data.
    let html = std::fs::read_to_string(home.path().join("run/choice.html")).expect("choice.html");
    let data = |page: &str| {
        let (_, data) = page
            .split_once(">row,interval_s,")
            .expect("the data of the picture");
        data.split_once("</pre>").expect("an end").0.to_owned()
    };
    assert_eq!(data(part), data(&html));
    let names = answer["known"]["files"].as_array().expect("files").iter();
    let names: Vec<&str> = names.filter_map(|file| file["name"].as_str()).collect();
    assert!(names.iter().any(|name| name.contains("interval")), "{names:?}");
}

/// What is asked beyond the ranking is asked again where a price alone has changed, and then nothing is simulated.
#[test]
fn another_price_needs_no_simulation_of_the_sensitivity() {
    let ui = Ui::start();
    let asked = ASKED.replace("by=energy", "by=bytes");
    ui.answer(&asked, "");
    let (_, priced) = ui.json(&format!("/api/choose?client=other&done=0&tariff=1nce&{asked}"));
    assert_eq!(priced["done"], priced["of"]);
    assert_eq!(priced["is_ranked"], true);
}

/// The pages of a PDF: its objects of this type.
fn pages(pdf: &[u8]) -> usize {
    let text = String::from_utf8_lossy(pdf);
    let pages = text.split("/Type").skip(1).filter(|rest| {
        let rest = rest.trim_start();
        rest.starts_with("/Page") && !rest.starts_with("/Pages")
    });
    pages.count()
}

#[test]
#[ignore = "needs chromium"]
fn the_page_is_printed_on_two_pages() {
    let ui = Ui::start();
    let mut browser = Browser::start();
    let (_, begin) = ui.json("/api/controls");
    let first = begin["first"].as_str().expect("a state");
    for asked in [ASKED.to_owned(), format!("{first}&count=1")] {
        ui.answer(&asked, "");
        browser.open(&format!("{}?{asked}", ui.url), 1200);
        eventually("the question is answered", || {
            let state = browser.value("document.getElementById('state').textContent");
            state
                .as_str()
                .is_some_and(|text| text.ends_with("ways simulated."))
        });
        // A4; a question of few rows on Letter, too, which is shorter.
        let papers = [(8.27, 11.69), (8.5, 11.0)];
        for (width, height) in papers.into_iter().take(1 + usize::from(asked == ASKED)) {
            let paper = json!({"paperWidth": width, "paperHeight": height, "preferCSSPageSize": false});
            let printed = browser.call("Page.printToPDF", paper);
            let data = STANDARD
                .decode(printed["data"].as_str().expect("data"))
                .expect("a file");
            if let Some(folder) = std::env::var_os("WIRECOST_UI_PRINTED") {
                let name = format!("{}-{width}.pdf", if asked == ASKED { "small" } else { "first" });
                std::fs::write(std::path::Path::new(&folder).join(name), &data).expect("written");
            }
            assert_eq!(pages(&data), 2, "{asked} on {width} by {height} inches");
        }
    }
}

#[test]
#[ignore = "needs chromium"]
fn a_link_of_another_version_is_answered_by_a_sentence_on_the_page() {
    let ui = Ui::start();
    let mut browser = Browser::start();
    for (link, sentence) in [
        (
            "v=0&every=1h",
            "this link is of version 0 of the page, and this wirecost reads version 1",
        ),
        (
            "v=1&every=1h&colour=red",
            "\"colour\" in this link is no option of the page",
        ),
        ("v=1&every=1h&by=money", "--by money needs --tariff NAME"),
    ] {
        browser.open(&format!("{}?{link}", ui.url), 1200);
        eventually(link, || {
            browser.value("document.getElementById('error').textContent") == sentence
        });
    }
}
