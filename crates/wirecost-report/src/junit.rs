//! JUnit XML that continuous integration reads: `testsuites`, `testsuite`, `testcase` with at most one of `skipped`, `error` and
//! `failure`.

use std::fmt::Write as _;

use crate::number;

/// A test case.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it belongs to, with full stops between its parts.
    pub class: String,
    /// Its name.
    pub name: String,
    /// How long it took.
    pub seconds: f64,
    /// How it ended.
    pub verdict: CaseVerdict,
}

/// How a test case ended.
#[derive(Clone, Debug)]
pub enum CaseVerdict {
    /// It passed.
    Pass,
    /// It was not judged, with the reason.
    Skipped(String),
    /// Kind and reason.
    Error(&'static str, String),
    /// It failed, with the reason.
    Failure(String),
}

/// Suites of test cases as one document. Each suite has the name of the document before its own.
pub fn document(name: &str, suites: &[(&str, Vec<Case>)]) -> String {
    let name = attribute(name);
    let all: Vec<&Case> = suites.iter().flat_map(|(_, cases)| cases).collect();
    let count = |verdict: fn(&CaseVerdict) -> bool| all.iter().filter(|case| verdict(&case.verdict)).count();
    let texts: String = suites
        .iter()
        .map(|(own, cases)| suite(&format!("{name}: {}", attribute(own)), cases))
        .collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{name}\" tests=\"{}\" failures=\"{}\" \
         errors=\"{}\" time=\"{}\">\n{texts}</testsuites>\n",
        all.len(),
        count(|verdict| matches!(verdict, CaseVerdict::Failure(_))),
        count(|verdict| matches!(verdict, CaseVerdict::Error(..))),
        seconds(all.iter().map(|case| case.seconds).sum()),
    )
}

/// `name` is escaped already.
fn suite(name: &str, cases: &[Case]) -> String {
    if cases.is_empty() {
        return String::new();
    }
    let count =
        |verdict: fn(&CaseVerdict) -> bool| cases.iter().filter(|case| verdict(&case.verdict)).count();
    let mut text = format!(
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{}\">\n",
        cases.len(),
        count(|verdict| matches!(verdict, CaseVerdict::Failure(_))),
        count(|verdict| matches!(verdict, CaseVerdict::Error(..))),
        count(|verdict| matches!(verdict, CaseVerdict::Skipped(_))),
        seconds(cases.iter().map(|case| case.seconds).sum())
    );
    for case in cases {
        let _ = write!(
            text,
            "    <testcase classname=\"{}\" name=\"{}\" time=\"{}\"",
            attribute(&case.class),
            attribute(&case.name),
            seconds(case.seconds)
        );
        text += &match &case.verdict {
            CaseVerdict::Pass => "/>\n".to_owned(),
            CaseVerdict::Skipped(reason) => ended("skipped", "", reason),
            CaseVerdict::Error(kind, reason) => ended("error", &format!(" type=\"{kind}\""), reason),
            CaseVerdict::Failure(reason) => ended("failure", " type=\"threshold\"", reason),
        };
    }
    text + "  </testsuite>\n"
}

fn ended(element: &str, kind: &str, reason: &str) -> String {
    format!(
        ">\n      <{element} message=\"{}\"{kind}/>\n    </testcase>\n",
        attribute(reason)
    )
}

fn seconds(value: f64) -> String {
    // The sum of no numbers is -0. Its sign must not be printed.
    format!("{:.3}", value + 0.0)
}

/// Escapes a text for an attribute (XML 1.0 section 3.3.1). Control characters, which XML does not allow, are replaced.
fn attribute(text: &str) -> String {
    let mut out = String::new();
    for c in number::plain(text).chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
