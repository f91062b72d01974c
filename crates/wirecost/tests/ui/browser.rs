//! The page in a headless Chromium.

use serde_json::json;

use crate::Ui;
use crate::common::browser::Browser;
use crate::common::eventually;

const SMALL: &str = "v=1&size=64B&every=15min&link=lte-m&device=nrf9160-lte-m&battery=2400mAh@3.6V&tariff=1nce&count=2&\
                     stacks=coap-con%2Boscore,mqtt-qos1";

/// What is wider than the window, outside of what scrolls by itself.
const WIDE: &str = "[...document.querySelectorAll('body *')].filter(node => !node.closest('.scroll, svg') && \
    node.getBoundingClientRect().right > document.documentElement.clientWidth).slice(0, 5).map(node => node.outerHTML.slice(0, 80)).join()";

fn is_done(browser: &mut Browser) -> bool {
    let value = browser.value("document.getElementById('state').textContent");
    value
        .as_str()
        .is_some_and(|text| text.ends_with("ways simulated."))
}

pub(crate) fn text(browser: &mut Browser, id: &str) -> String {
    let value = browser.value(&format!("document.getElementById('{id}').textContent"));
    value.as_str().unwrap_or_default().to_owned()
}

fn press(browser: &mut Browser, key: &str) {
    for kind in ["keyDown", "keyUp"] {
        let code = if key == "ArrowRight" { 39 } else { 13 };
        let text = if key == "Enter" && kind == "keyDown" {
            "\r"
        } else {
            ""
        };
        let event =
            json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
        browser.call("Input.dispatchKeyEvent", event);
    }
}

#[test]
#[ignore = "needs chromium"]
fn a_question_is_asked_with_the_keyboard_and_answered_in_place() {
    let ui = Ui::start();
    let mut browser = Browser::start();
    browser.open(&format!("{}?{SMALL}", ui.url), 1200);
    eventually("the first question is answered", || is_done(&mut browser));
    assert_eq!(
        text(&mut browser, "title"),
        "Which stack for 64 B every 15 min over lte-m?"
    );
    assert_eq!(
        browser.value("document.querySelector('#answer .answer').textContent"),
        "coap-con+oscore (no connection)"
    );
    assert!(text(&mut browser, "command").starts_with("wirecost choose --size 64B --every 15min "));
    assert_eq!(
        browser.value("document.querySelectorAll('#answer figure').length > 3"),
        true
    );

    browser.value("document.querySelector('#c-every + datalist, #c-every ~ input[type=range]').focus()");
    press(&mut browser, "ArrowRight");
    eventually("the address says the next step", || {
        browser.value("location.search.includes('every=30min')") == true && is_done(&mut browser)
    });
    assert_eq!(
        text(&mut browser, "title"),
        "Which stack for 64 B every 30 min over lte-m?"
    );

    browser.value("document.querySelector('.ranking [data-row=\"1\"]').focus()");
    press(&mut browser, "Enter");
    eventually("the account is unfolded", || {
        text(&mut browser, "account-heading").starts_with("Row 1, coap-con+oscore")
    });
    eventually("it has the focus", || {
        browser.value("document.activeElement.id") == "account-title"
    });

    browser.value("document.getElementById('make-files').click()");
    eventually("there are files", || {
        browser.value("document.querySelectorAll('#files a').length >= 4") == true
    });

    browser.value("const within = document.getElementById('c-within'); within.value = '1ms'; within.dispatchEvent(new Event('input', {bubbles: true}))");
    eventually("what cannot be is said", || {
        text(&mut browser, "error").starts_with("--within 1 ms contradicts the link")
    });
    // The browser logs the status of the refusal itself.
    let logged = browser.console();
    assert!(
        logged.iter().all(|line| line.contains("400 (Bad Request)")),
        "{logged:?}"
    );
    let own = ui.url.clone();
    let requests = browser.requests();
    assert!(
        requests
            .iter()
            .all(|url| url.starts_with(&own) || url.starts_with("blob:")),
        "{requests:?}"
    );
}

#[test]
#[ignore = "needs chromium"]
fn the_page_fits_the_window_and_has_a_name_for_each_control() {
    let ui = Ui::start();
    let mut browser = Browser::start();
    for width in [420, 800, 1200, 1600] {
        browser.open(&format!("{}?{SMALL}", ui.url), width);
        eventually("the question is answered", || is_done(&mut browser));
        let wide = browser.value(WIDE);
        let beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(browser.value(beyond), 0, "at {width} px: {wide}");
    }
    let nameless = "[...document.querySelectorAll('input, select, button, summary')].filter(node => \
        !(node.labels?.length || node.ariaLabel || node.textContent.trim())).map(node => node.outerHTML).join()";
    assert_eq!(browser.value(nameless), "");
}
