use super::rules::outcome;
use super::*;
use crate::amount::{Amount, Published};
use crate::bound::{Bound, Flight};
use crate::claims::Claims;

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
        question: Question::Unmeasured,
        bound: Some(Bound::time(&[Flight::read("GET")], Amount::seconds(0.1), None)),
        beside: Vec::new(),
    };
    let outcome = outcome(&point, &point.question, None, &Evidence::default()).expect("no figure is needed");
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
