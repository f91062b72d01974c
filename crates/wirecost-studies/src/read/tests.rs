use super::*;
use crate::claims::{Question, Shape};

const HEAD: &str = "wirecost: 1\nstudy: test\nsource: a paper\nruns: {publish: publish.yaml}\nclaims:\n";

fn read(claims: &str) -> Claims {
    Claims::read(&format!("{HEAD}{claims}")).expect(claims)
}

fn refused(claims: &str) -> (String, String) {
    let error = Claims::read(&format!("{HEAD}{claims}")).expect_err(claims);
    (error.to_string(), error.hint().unwrap_or_default().to_owned())
}

#[test]
fn a_claim_has_a_point_for_each_value() {
    let claims = read(
        "- id: L3\n  says: CoAP with blocks\n  for: {link.rtt: [5ms, 25ms]}\n  published: [14.2ms, 34.1ms]\n  \
         value: \"publish/response_time{link.rtt=$link.rtt} p(50)\"\n  \
         bound: {flights: [block x 10], rtt: $link.rtt}\n",
    );
    let points = &claims.claims[0].points;
    assert_eq!(points.len(), 2);
    let texts: Vec<String> = points
        .iter()
        .map(|point| {
            let bound = point.first().bound.as_ref().expect("a bound");
            let published = point.published.as_ref().expect("a number");
            format!("{published} {} {}", bound.amount, bound.excludes(published))
        })
        .collect();
    assert_eq!(texts, ["14.2ms 50 ms true", "34.1ms 250 ms true"]);
    let Question::Value(reference) = &points[1].first().question else {
        panic!("a value");
    };
    assert_eq!(reference.selector.to_string(), "{link.rtt=25ms}");
}

#[test]
fn every_kind_of_claim_is_read() {
    let claims = read(
        "- {id: A, says: a, published: 2, ratio: [publish/response_time mean, publish/connect_time mean], within: 5%}\n\
         - {id: B, says: b, order: [publish/response_time mean, publish/connect_time mean]}\n\
         - {id: C, says: c, trend: {of: publish/response_time mean, over: link.rtt, is: linear, slope: 1}}\n\
         - {id: D, says: d, limit: {of: publish/valid rate, above: 99%}}\n\
         - {id: E, says: e, published: 0.2164 mAh, arithmetic: 2000 mAh / 9243}\n\
         - {id: F, says: f, published: 1.8uJ, bound: {power: 495mW, airtime: 170us}, expect: impossible}\n",
    );
    let kinds: Vec<&str> = claims
        .claims
        .iter()
        .map(|claim| claim.points[0].first().question.kind())
        .collect();
    assert_eq!(
        kinds,
        ["ratio", "ordering", "trend", "bound", "absolute", "bound"]
    );
    assert_eq!(claims.claims[0].within, Some(0.05));
    assert_eq!(claims.claims[5].expect, Some(Verdict::Impossible));
    let Question::Trend(trend) = &claims.claims[2].points[0].first().question else {
        panic!("a trend");
    };
    assert_eq!(
        (trend.over.as_str(), trend.shape),
        ("link.rtt", Shape::Linear { slope: 1.0 })
    );
}

#[test]
fn errors_have_their_line_and_a_hint() {
    let value = "value: publish/response_time mean";
    for (claims, expected, hint) in [
        (
            "- {id: A, say: x}",
            "line 6: unknown key \"say\"",
            "did you mean \"says\"?",
        ),
        (
            "- {id: A, says: x, published: 1s, value: publish/respons_time mean}",
            "line 6: unknown metric",
            "",
        ),
        (
            "- {id: A, says: x, published: 1s, value: other/response_time mean}",
            "line 6: A: \"other\" is none of the runs",
            "runs has publish",
        ),
        (
            &format!("- {{id: A, says: x, published: 1 furlong, {value}}}"),
            "line 6: published: \"furlong\" is not a unit",
            "",
        ),
        (
            &format!("- {{id: A, says: x, published: 1s, {value}, bound: {{flights: [SYN]}}}}"),
            "line 6: bound.rtt: flights need a round-trip time",
            "for example",
        ),
        (
            "- {id: A, says: x, order: []}",
            "line 6: order: at least two figures",
            "",
        ),
        (
            &format!("- {{id: A, says: x, published: 1s, {value}, within: -5%}}"),
            "line 6: within: \"-5%\" is not a tolerance",
            "",
        ),
        (
            &format!(
                "- {{id: A, says: x, published: 1s, {value}}}\n- {{id: A, says: y, published: 1s, {value}}}"
            ),
            "line 7: the id \"A\" is there twice",
            "",
        ),
        (
            &format!("- {{id: A, says: x, {value}}}"),
            "line 6: published: the published number",
            "",
        ),
        (
            &format!("- {{id: A, says: x, for: {{size: [1B]}}, published: [1s, 2s], {value}}}"),
            "line 6: published: 2 numbers for 1 points",
            "for has",
        ),
        (
            "- {id: A, says: x}",
            "line 6: the claim measures nothing",
            "give one of value",
        ),
        (
            "- {id: A, says: x, published: 2, ratio: [publish/response_time mean, publish/session_bytes mean]}",
            "line 6: ratio: publish/response_time mean and publish/session_bytes mean have different units",
            "",
        ),
        (
            "- {id: A, says: x, published: 2ms, ratio: [publish/response_time mean, publish/response_time p(50)]}",
            "line 6: ratio: it has another unit than the published 2ms",
            "",
        ),
        (
            "- {id: A, says: x, order: [publish/response_time mean, publish/session_bytes mean]}",
            "line 6: order: publish/response_time mean and publish/session_bytes mean have",
            "",
        ),
        (
            "- {id: A, says: x, for: {a: [1, 2]}, published: [1 B, 2 ms], arithmetic: $a * 1 B}",
            "line 6: arithmetic: it has another unit than the published 2 ms",
            "",
        ),
        (
            "- {id: A, says: x, for: {a: [1, 2]}, published: [1 mAh, 2 ms], model: \"[idle of esp32s3-wifi] * 1 s / 1 V\"}",
            "line 6: model: it has another unit than the published 2 ms",
            "[energy] / V",
        ),
        (
            "- {id: A, says: x, curves: {of: [publish/response_time mean, publish/response_time p(50)], over: size, at: 95%}}",
            "line 6: curves.at: 95% has another unit",
            "",
        ),
    ] {
        let (error, told) = refused(claims);
        assert!(error.starts_with(expected), "{error}\n{expected}");
        assert!(told.contains(hint), "{told}");
    }
    let error = Claims::read("study: x\n").expect_err("no version");
    assert!(error.to_string().contains("the version of the format is missing"));
}

#[test]
fn a_claim_has_a_bound_or_readings_that_each_have_one() {
    let read = |claim: &str| {
        Claims::read(&format!(
            "wirecost: 1\nstudy: own\nsource: us\nclaims:\n- {{id: A, says: x, published: 1ms, {claim}}}\n"
        ))
    };
    for (claim, error) in [
        (
            "bound: {flights: [SYN], rtt: 1s}, readings: [{name: a}]",
            "bound: the claim has readings, and each reading has its own",
        ),
        (
            "readings: []",
            "readings: a list of what the text can mean is expected",
        ),
        ("readings: [{bound: {flights: [SYN], rtt: 1s}}]", "name"),
        ("readings: [{name: a, lacks: [b]}]", "lacks"),
    ] {
        let refused = read(claim).expect_err(claim).to_string();
        assert!(refused.contains(error), "{claim}: {refused}");
    }
    let claims = read("readings: [{name: a}, {name: b, bound: {flights: [SYN], rtt: 1s}}]").expect("claims");
    let readings = &claims.claims[0].points[0].readings;
    assert_eq!((readings.len(), readings[0].bound.is_none()), (2, true));
}

#[test]
fn a_row_judges_again_what_another_claim_says() {
    let read = |row: &str| {
        Claims::read(&format!(
            "wirecost: 1\nstudy: own\nsource: us\nclaims:\n\
             - {{id: A, says: x, published: 3, lacks: [the RTT], arithmetic: 1 + 2}}\n- {{id: B, says: x, {row}}}\n"
        ))
    };
    for (row, error) in [
        (
            "again: [C], published: 3, arithmetic: 1 + 2",
            "\"C\" is no claim that has numbers of its own",
        ),
        (
            "again: [A], published: 3, arithmetic: 1 + 2",
            "A lacks \"the RTT\", and so does whoever judges it again",
        ),
        (
            "again: [A], published: 4, lacks: [the RTT], arithmetic: 1 + 2",
            "[Some(\"4\")] are not [Some(\"3\")]",
        ),
    ] {
        let refused = read(row).expect_err(row).to_string();
        assert!(refused.contains(error), "{row}: {refused}");
    }
    read("again: [A], published: 3, lacks: [the RTT], arithmetic: 2 + 1")
        .expect("the same number, and the same unknown");
}
