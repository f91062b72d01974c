use super::rules::outcome;
use super::*;
use crate::amount::{Amount, Published};
use crate::bound::{Bound, Flight};
use crate::claims::{Claims, TextReading};

fn judged(claims: &str) -> Vec<Judged> {
    let head = "wirecost: 1\nstudy: test\nsource: a paper\nruns: {publish: publish.yaml}\nclaims:\n";
    let claims = Claims::read(&format!("{head}{claims}")).expect(claims);
    let mut evidence = Evidence::default();
    evidence.absent("publish", "not measured here");
    let absent = BTreeMap::from([(
        "server:rabbitmq".to_owned(),
        "rabbitmq is not installed".to_owned(),
    )]);
    claims.judge(&evidence, &absent).expect("references that fit")
}

#[test]
fn the_bound_comes_before_any_measurement() {
    let claims = "- id: L\n  says: resumed\n  published: 101.2ms\n  value: publish/connect_time p(50)\n  \
                  bound: {flights: [SYN, ClientHello, CONNECT, PUBLISH], rtt: 100ms}\n  needs: [server:rabbitmq]\n";
    let judged = judged(claims);
    assert_eq!(judged[0].verdict, Verdict::Impossible);
    assert_eq!(judged[0].why, "SYN, ClientHello, CONNECT, PUBLISH: 4 x 100 ms");
    assert_eq!(judged[0].points[0].ours, None);
}

#[test]
fn what_is_missing_has_its_reason() {
    let judged = judged(
        "- {id: A, says: a, published: 1s, value: publish/connect_time mean, needs: [server:rabbitmq]}\n\
         - {id: B, says: b, published: 1s, value: publish/connect_time mean, lacks: [RTT]}\n",
    );
    let texts: Vec<_> = judged
        .iter()
        .map(|claim| (claim.verdict, claim.why.as_str()))
        .collect();
    assert_eq!(
        texts,
        [
            (Verdict::NotRun, "rabbitmq is not installed"),
            (Verdict::NotRun, "not measured here")
        ]
    );
}

#[test]
fn published_numbers_are_held_against_one_another() {
    let judged = judged(
        "- {id: A, says: a, published: 0.2164 mAh, arithmetic: 2000 mAh / 9243}\n\
         - {id: B, says: b, published: 23 d, arithmetic: 825000000 / 1/s}\n\
         - {id: C, says: c, published: 84uJ, bound: {power: 495mW, airtime: 170us}}\n\
         - {id: D, says: d, published: 1.8uJ, bound: {power: 495mW, airtime: 170us}}\n",
    );
    let verdicts: Vec<Verdict> = judged.iter().map(|claim| claim.verdict).collect();
    let expected = [
        Verdict::Reproduced,
        Verdict::Differs,
        Verdict::Undecidable,
        Verdict::Impossible,
    ];
    assert_eq!(verdicts, expected);

    assert_eq!(
        judged[1].points[0].ours.as_deref(),
        Some("9,549 d = 825000000 / 1/s")
    );
}

#[test]
fn the_gravest_verdict_of_the_points_counts() {
    let judged = judged(
        "- id: L\n  says: connects\n  for: {link.rtt: [1ms, 100ms]}\n  published: [5ms, 95.1ms]\n  \
         value: publish/connect_time p(50)\n  bound: {flights: [GET], rtt: $link.rtt}\n",
    );
    let verdicts: Vec<Verdict> = judged[0].points.iter().map(|point| point.verdict).collect();
    assert_eq!(verdicts, [Verdict::NotRun, Verdict::Impossible]);
    assert_eq!(judged[0].verdict, Verdict::Impossible);
}

#[test]
fn a_bound_that_allows_the_number_decides_nothing() {
    let point = Point {
        at: Vec::new(),
        published: Some(Published::read("120ms").expect("a time")),
        readings: vec![TextReading {
            name: String::new(),
            question: Question::Unmeasured,
            bound: Some(Bound::time(&[Flight::read("GET")], Amount::seconds(0.1), None)),
        }],
        beside: Vec::new(),
    };
    let margins = Margins {
        within: None,
        apart: 0.05,
    };
    let outcome = outcome(&point, &point.first().question, margins, &Evidence::default());
    let outcome = outcome.expect("no figure is needed");
    assert_eq!(outcome.verdict, Verdict::Undecidable);
}

#[test]
fn a_suspect_says_what_it_changes() {
    let change = suspects::Change {
        reference: "lan/header_bytes mean".to_owned(),
        without: "33,352 B".to_owned(),
        with: "3,088 B".to_owned(),
        times: Some(10.8),
    };
    let point = suspects::SuspectPoint {
        ours: Some("10.6".to_owned()),
        missing: None,
        comes_out: true,
        changes: vec![change],
    };
    let mut suspect = JudgedSuspect {
        name: "segmentation offload".to_owned(),
        set: vec!["offload=true".to_owned()],
        comes_out: 1,
        points: vec![point],
    };
    assert_eq!(
        suspect.sentence(),
        "comes out under: segmentation offload (ours 10.6); 10.8 times less: 33,352 B without it, 3,088 B with it"
    );
    suspect.comes_out = 0;
    suspect.points[0].comes_out = false;
    assert!(
        suspect
            .sentence()
            .starts_with("does not come out under: segmentation offload (ours 10.6)")
    );
    suspect.points[0].ours = None;
    suspect.points[0].missing = Some("it was not run".to_owned());
    assert_eq!(
        suspect.sentence(),
        "not run under: segmentation offload (it was not run)"
    );
}

#[test]
fn a_claim_with_an_open_reading_is_not_impossible() {
    let excluded = "{name: each waits for the one before, bound: {flights: [PUBLISH x 1000], rtt: 59.2ms}}";
    let with = |readings: &str| {
        let judged = judged(&format!(
            "- {{id: A, says: a thousand messages, published: 5.911s, readings: [{readings}]}}\n"
        ));
        (judged[0].verdict, judged[0].why.clone())
    };
    let (verdict, why) = with(excluded);
    assert_eq!(verdict, Verdict::Impossible);
    assert!(
        why.starts_with("under every reading; at best, each waits"),
        "{why}"
    );
    // In flight as many as the client likes: no bound, and nothing measures it.
    let (verdict, why) = with(&format!("{excluded}, {{name: all in flight}}"));
    assert_eq!(verdict, Verdict::Undecidable);
    assert!(why.starts_with("open under this reading, all in flight"), "{why}");
    // A bound that allows the number leaves the reading as open.
    let allowed = "{name: all in flight, bound: {flights: [PUBLISH], rtt: 59.2ms}}";
    assert_eq!(with(&format!("{excluded}, {allowed}")).0, Verdict::Undecidable);
    // A reading that could be measured is open for as long as it is not.
    let unmeasured = "{name: twenty in flight, value: publish/response_time mean}";
    let (verdict, why) = with(&format!("{excluded}, {unmeasured}"));
    assert_eq!(verdict, Verdict::NotRun);
    assert!(
        !why.contains("reading"),
        "a figure is missing, the text is not judged: {why}"
    );
}

#[test]
fn a_claim_that_lacks_something_is_not_impossible() {
    let judged = judged(
        "- {id: A, says: a, published: 1ms, lacks: [the messages in flight], bound: {flights: [GET], rtt: 5ms}}\n",
    );
    assert_eq!(judged[0].verdict, Verdict::Undecidable);
}

#[test]
fn of_impossible_readings_the_nearest_bound_is_shown() {
    let judged = judged(
        "- id: A\n  says: connects\n  published: 1ms\n  readings:\n  \
         - {name: four exchanges, bound: {flights: [SYN, ClientHello, CONNECT, PUBLISH], rtt: 5ms}}\n  \
         - {name: early data, bound: {flights: [SYN, ClientHello], rtt: 5ms}}\n",
    );
    assert_eq!(judged[0].verdict, Verdict::Impossible);
    assert_eq!(judged[0].points[0].bound.as_deref(), Some("10 ms"));
    let sentences = judged[0].points[0].readings.iter().map(JudgedReading::sentence);
    assert_eq!(
        sentences.collect::<Vec<_>>(),
        [
            "four exchanges: bound 20 ms, SYN, ClientHello, CONNECT, PUBLISH: 4 x 5 ms",
            "early data: bound 10 ms, SYN, ClientHello: 2 x 5 ms"
        ]
    );
}

#[test]
fn a_bound_of_other_published_numbers_contradicts_and_makes_nothing_impossible() {
    let judged = judged("- {id: A, says: a, published: 3/s, bound: {most: \"1 / 1 s\"}}\n");
    assert_eq!(judged[0].verdict, Verdict::Contradicted);
    assert_eq!(
        judged[0].why,
        "other numbers of the source allow no more than 1/s: 1 / 1 s"
    );
}

#[test]
fn a_number_is_counted_once_and_what_nobody_claims_never() {
    let head = "wirecost: 1\nstudy: test\nsource: a paper\nclaims:\n";
    let claims = format!(
        "{head}- {{id: L3, says: latency, for: {{rtt: [5ms, 25ms]}}, published: [4ms, 28ms], bound: {{flights: [POST], rtt: $rtt}}}}\n\
         - {{id: L3-other, says: by another server, again: [L3], for: {{rtt: [5ms, 25ms]}}, published: [4ms, 28ms], \
         arithmetic: \"$rtt + 3 ms\"}}\n\
         recomputed:\n- {{id: R1, says: a sum, published: 3, arithmetic: 1 + 2}}\n\
         further:\n- {{id: S, says: a sum, published: 4, arithmetic: 2 + 2}}\n"
    );
    let claims = Claims::read(&claims).expect("claims");
    assert_eq!((claims.numbers(), claims.figures()), (2, 6));
    let judged = claims
        .judge(&Evidence::default(), &BTreeMap::new())
        .expect("verdicts");
    let all: Vec<_> = count::numbers(&judged)
        .map(|(claim, _, verdict)| (claim.id.as_str(), verdict))
        .collect();
    // At 5 ms the bound excludes it and the other row differs; at 25 ms no bound excludes it, and the other row gives it.
    assert_eq!(all, [("L3", Verdict::Differs), ("L3", Verdict::Reproduced)]);
    assert_eq!(
        crate::text::tally(&judged),
        "1 differs, 1 reproduced: published numbers and statements, each once\n\
         2 reproduced: listed apart (recomputed, or not claimed by the publication)"
    );
}

#[test]
fn a_row_of_a_claim_that_was_not_asked_for_gives_no_other_number_its_verdict() {
    let claims = "wirecost: 1\nstudy: test\nsource: a paper\nclaims:\n\
         - {id: A, says: a sum, published: 3, arithmetic: 1 + 2}\n\
         - {id: B, says: a sum, published: 9, arithmetic: 2 + 2}\n\
         - {id: other, says: both, again: [A, B], for: {sum: [1 + 2, 2 + 2]}, published: [3, 9], arithmetic: $sum}\n";
    let claims = Claims::read(claims).expect("claims");
    let judged = claims.judge(&Evidence::default(), &BTreeMap::new());
    let mut judged = judged.expect("verdicts");
    judged.remove(0);
    let points = judged.iter_mut().flat_map(|claim| &mut claim.points);
    points.for_each(|point| point.number = None);
    count::count(&mut judged);
    let all: Vec<_> = count::numbers(&judged)
        .map(|(claim, _, verdict)| (claim.id.as_str(), verdict))
        .collect();
    let own = [
        ("B", Verdict::Differs),
        ("other", Verdict::Reproduced),
        ("other", Verdict::Differs),
    ];
    assert_eq!(all, own);
}

#[test]
fn of_readings_that_all_differ_the_nearest_decides() {
    let judged = judged(
        "- {id: A, says: a, published: 10, readings: [{name: far, arithmetic: 2 + 2}, {name: near, arithmetic: 4 + 4}]}\n",
    );
    assert_eq!(judged[0].verdict, Verdict::Differs);
    let why = "it holds under no reading; at best, near: ";
    assert!(judged[0].why.starts_with(why), "{}", judged[0].why);
}

#[test]
fn rows_of_a_claim_that_hold_under_different_readings_say_so() {
    let row = |id: &str, published: u32| {
        format!(
            "- {{id: {id}, says: a, published: {published}, \
             readings: [{{name: short, arithmetic: 1 + 1}}, {{name: long, arithmetic: 4 + 4}}]}}\n"
        )
    };
    let rows =
        judged(&(row("H2-wifi", 8) + &row("H2-ethernet", 2) + &row("H2-other", 5) + &row("H3-wifi", 8)));
    let told: Vec<_> = rows
        .iter()
        .map(|claim| claim.under_different.as_deref())
        .collect();
    let text =
        "H2-wifi and H2-ethernet hold under different readings: no one reading of the text gives all of them";
    assert_eq!(told, [Some(text), Some(text), None, None]);
}

#[test]
fn points_that_hold_under_different_readings_say_so() {
    let claim = |second: &str| {
        format!(
            "- {{id: A, says: a, for: {{sum: [1 + 1, {second}]}}, published: [2, 8], \
             readings: [{{name: once, arithmetic: $sum}}, {{name: twice, arithmetic: 2 * ($sum)}}]}}\n"
        )
    };
    let differ = judged(&claim("2 + 2"));
    assert_eq!(differ[0].verdict, Verdict::Reproduced);
    let text = "its points hold under different readings: no one reading of the text gives all of them";
    assert_eq!(differ[0].under_different.as_deref(), Some(text));
    assert!(
        crate::text::table(&differ, 200).contains(text),
        "a reader sees it"
    );
    let alike = judged(&claim("4 + 4"));
    assert_eq!(alike[0].under_different, None);
    assert!(
        alike[0].why.starts_with("it holds under this reading, once: "),
        "{}",
        alike[0].why
    );
}
