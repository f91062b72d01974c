use wirecost_proto::Phase;
use wirecost_proto::calendar::{MONTH_DAYS, MONTH_SECONDS};

use super::*;
use crate::usage::{PhaseTraffic, SentMessage, Usage, What};

fn packets(tunnel: u64, unit_bytes: u64, period: Period) -> TariffRule {
    TariffRule {
        name: "data".to_owned(),
        row: String::new(),
        counts: vec![What::Packets],
        with_topic: false,
        rounding: Rounding::Packets {
            tunnel_bytes: [tunnel; 2],
            unit_bytes,
            least_bytes: 0,
            period,
            cut_minutes: None,
        },
        price: Price::Tiers {
            tiers: vec![Tier {
                to: f64::INFINITY,
                price: 0.4,
            }],
            per: 1e6,
        },
        is_of_account: false,
    }
}

fn tariff(rules: Vec<TariffRule>) -> Tariff {
    Tariff {
        name: "test".to_owned(),
        title: String::new(),
        rules,
        currency: "EUR".to_owned(),
        is_sourced: false,
        is_uncompressed: false,
        money_step: None,
        takes: Vec::new(),
        other_kilobyte: None,
    }
}

fn per_byte(tunnel: u64, unit_bytes: u64, period: Period) -> Tariff {
    tariff(vec![packets(tunnel, unit_bytes, period)])
}

/// Messages, of which a thousand cost 1 EUR.
fn messages(counts: &[What], rounding: Rounding) -> TariffRule {
    TariffRule {
        counts: counts.to_vec(),
        rounding,
        price: Price::Tiers {
            tiers: vec![Tier {
                to: f64::INFINITY,
                price: 1.0,
            }],
            per: 1_000.0,
        },
        ..packets(0, 1, Period::Month)
    }
}

/// Usage of packets in one phase.
fn carried(phase: Phase, packets: [f64; 2], bytes: [f64; 2]) -> Usage {
    let mut used = Usage::default();
    used.carried[phase as usize] = PhaseTraffic { packets, bytes };
    used
}

fn with_messages(what: What, payload_bytes: u64, count: f64, mut used: Usage) -> Usage {
    used.add(
        SentMessage {
            what,
            header_bytes: 10,
            payload_bytes,
        },
        count,
    );
    used
}

fn near(got: f64, expected: f64) {
    assert!(
        (got - expected).abs() <= 1e-9 * expected.abs().max(1.0),
        "{got}, {expected}"
    );
}

/// A month of keep-alives: PINGREQ, PINGRESP, and an ACK, without TCP timestamps.
fn keep_alives(every_seconds: f64, record_bytes: f64) -> Usage {
    let (headers, ping) = (40.0, 2.0 + record_bytes);
    let bytes = [2.0 * headers + ping, headers + ping];
    let one = with_messages(
        What::KeepAlive,
        0,
        1.0,
        carried(Phase::KeepAlive, [2.0, 1.0], bytes),
    );
    one.scaled(MONTH_SECONDS / every_seconds)
}

#[test]
fn the_keep_alive_table_is_the_arithmetic_of_its_packets() {
    // Header 5, content type 1, tag 16 (RFC 8446 section 5.2).
    let record_bytes = 22.0;
    let table = [
        (60.0, [5.4, 7.3, 14.3]),
        (240.0, [1.3, 1.8, 3.6]),
        (1_740.0, [0.18, 0.25, 0.49]),
    ];
    let plain = per_byte(0, 1, Period::Month);
    let tunnelled = per_byte(54, 1, Period::Month);
    for (every, expected) in table {
        let without = keep_alives(every, 0.0);
        let tls = keep_alives(every, record_bytes);
        let bills = [
            plain.bill(&without, 1),
            plain.bill(&tls, 1),
            tunnelled.bill(&tls, 1),
        ];
        for (got, expected) in bills
            .map(|bill| bill.counted_bytes / 1e6)
            .into_iter()
            .zip(expected)
        {
            let last_digit = if expected < 1.0 { 0.01 } else { 0.1 };
            assert!(
                (got - expected).abs() <= last_digit / 2.0,
                "{every} s: {got}, {expected}"
            );
        }
    }
}

#[test]
fn bytes_are_rounded_up_once_per_period() {
    let mut month = carried(Phase::Message, [0.0; 2], [100_000.0, 27_000.0]);
    month.sessions.insert(1, 100.0);
    let charged = |unit, period| per_byte(0, unit, period).bill(&month, 1).charged_bytes;
    near(charged(100_000, Period::Month), 200_000.0);
    near(charged(1_000, Period::Session), 200_000.0);
    // 1,000 B up and 270 B down in each session.
    near(charged(1_000, Period::Direction), 200_000.0);
    near(charged(400, Period::Direction), 100.0 * (1_200.0 + 400.0));
    // 4,233.3 bytes a day.
    near(charged(1_000, Period::Day), 5_000.0 * MONTH_DAYS);
    near(per_byte(0, 100_000, Period::Month).bill(&month, 1).amount, 0.08);
}

#[test]
fn a_long_session_is_cut_and_each_piece_is_rounded() {
    let mut month = carried(Phase::Message, [0.0; 2], [3_000.0, 0.0]);
    // Two sessions of two days and one minute: three days each.
    month.sessions.insert(2 * 1_440 + 1, 2.0);
    let mut rule = packets(0, 1_000, Period::Session);
    near(tariff(vec![rule.clone()]).bill(&month, 1).charged_bytes, 4_000.0);
    let Rounding::Packets { cut_minutes, .. } = &mut rule.rounding else {
        panic!("packets")
    };
    *cut_minutes = Some(1_440);
    near(tariff(vec![rule.clone()]).bill(&month, 1).charged_bytes, 6_000.0);
    let Rounding::Packets { least_bytes, .. } = &mut rule.rounding else {
        panic!("packets")
    };
    *least_bytes = 50_000;
    near(tariff(vec![rule]).bill(&month, 1).charged_bytes, 300_000.0);
}

#[test]
fn a_day_without_traffic_is_not_charged() {
    // 166 B every 14 days, in started kilobytes of a day.
    let readings = MONTH_DAYS / 14.0;
    let one = with_messages(
        What::Publish,
        48,
        1.0,
        carried(Phase::Message, [0.0; 2], [121.0, 45.0]),
    );
    let charged = |month: &Usage| per_byte(0, 1_000, Period::Day).bill(month, 1).charged_bytes;
    near(charged(&one.clone().scaled(readings)), readings * 1_000.0);
    // A keep-alive an hour is traffic of every day.
    let kept = with_messages(What::KeepAlive, 0, 720.0, one.clone().scaled(readings));
    near(charged(&kept), MONTH_DAYS * 1_000.0);
    // What is sent more often is charged as before.
    near(charged(&one.scaled(100.0)), MONTH_DAYS * 1_000.0);
}

#[test]
fn a_bundle_is_bought_again_when_it_is_used_up_or_has_expired() {
    let months = 120.0;
    let bundle = tariff(vec![TariffRule {
        price: Price::Bundle {
            size: 500e6,
            valid_seconds: months * MONTH_SECONDS,
            price: 12.0,
        },
        ..packets(0, 1, Period::Month)
    }]);
    let amount = |bytes: f64| {
        bundle
            .bill(&carried(Phase::Message, [0.0; 2], [bytes, 0.0]), 1)
            .amount
    };
    // Nothing and little use are paid by the time; 500 MB in half of the time cost twice as much.
    near(amount(0.0), 0.1);
    // A started byte is charged in full.
    assert!((amount(500e6 / months) - 0.1).abs() < 1e-6);
    assert!((amount(1_000e6 / months) - 0.2).abs() < 1e-6);
}

#[test]
fn a_fee_is_paid_without_traffic_and_one_of_the_account_once() {
    let fee = TariffRule {
        counts: vec![What::Fee],
        rounding: Rounding::Whole,
        price: Price::Tiers {
            tiers: vec![Tier {
                to: f64::INFINITY,
                price: 0.5,
            }],
            per: 1.0,
        },
        ..packets(0, 1, Period::Month)
    };
    let each = tariff(vec![packets(0, 1, Period::Month), fee.clone()]);
    let month = carried(Phase::Message, [0.0; 2], [1e6, 0.0]);
    near(each.bill(&Usage::default(), 1).amount, 0.5);
    near(each.bill(&month, 1).amount, 0.9);
    near(each.bill(&month, 10).amount, 0.9);
    let shared = tariff(vec![TariffRule {
        is_of_account: true,
        ..fee
    }]);
    near(shared.bill(&month, 10).amount * 10.0, 0.5);
}

#[test]
fn a_service_takes_the_protocols_of_its_file() {
    let mut tariff = per_byte(0, 1, Period::Month);
    assert!(tariff.takes(None, false) && tariff.takes(Some(Protocol::Coap), false));
    tariff.takes = vec![Taken {
        protocol: Protocol::Mqtt,
        over_tls: true,
    }];
    assert!(tariff.takes(Some(Protocol::Mqtt), true));
    assert!(!tariff.takes(Some(Protocol::Mqtt), false));
    assert!(!tariff.takes(Some(Protocol::Coap), true));
    assert!(!tariff.takes(None, true));
}

#[test]
fn a_tunnel_adds_its_headers_to_each_packet() {
    let month = carried(Phase::Message, [2.0, 1.0], [82.0, 42.0]);
    near(
        per_byte(54, 1, Period::Month).bill(&month, 1).counted_bytes,
        286.0,
    );
}

#[test]
fn each_message_is_started_units_of_what_counts_of_it() {
    let of = |counts: &[What], unit, payload| {
        let month = with_messages(
            What::KeepAlive,
            0,
            3.0,
            with_messages(What::Publish, payload, 10.0, Usage::default()),
        );
        let bill = tariff(vec![messages(counts, Rounding::Units(unit))]).bill(&month, 1);
        assert_eq!(bill.charged_bytes, 0.0);
        near(bill.amount, bill.charged_messages / 1_000.0);
        bill.charged_messages
    };
    // A message below the least size is charged as one.
    for payload in [0, 1, 5_120] {
        near(of(&[What::Publish], 5_120, payload), 10.0);
    }
    near(of(&[What::Publish, What::KeepAlive], 1_024, 1_025), 23.0);
    // With its topic it is 10 B larger.
    let rule = TariffRule {
        with_topic: true,
        ..messages(&[What::Publish], Rounding::Units(1_024))
    };
    let month = with_messages(What::Publish, 1_024, 10.0, Usage::default());
    near(tariff(vec![rule]).bill(&month, 1).charged_messages, 20.0);
}

#[test]
fn a_least_size_is_no_unit() {
    let rule = messages(&[What::Publish], Rounding::AtLeast(1_024));
    let charged = |payload| {
        let month = with_messages(What::Publish, payload, 10.0, Usage::default());
        tariff(vec![rule.clone()]).bill(&month, 1).charged_bytes
    };
    near(charged(48), 10_240.0);
    near(charged(1_025), 10_250.0);
}

#[test]
fn tiers_are_marginal_and_those_of_an_account_are_of_all_devices() {
    let tiers = |is_of_account| TariffRule {
        price: Price::Tiers {
            tiers: [(1_000.0, 0.0), (3_000.0, 2.0), (f64::INFINITY, 1.0)]
                .map(|(to, price)| Tier { to, price })
                .to_vec(),
            per: 1_000.0,
        },
        is_of_account,
        ..messages(&[What::Publish], Rounding::Whole)
    };
    let amount = |rule: &TariffRule, count, devices| {
        let month = with_messages(What::Publish, 1, count, Usage::default());
        let bill = tariff(vec![rule.clone()]).bill(&month, devices);
        bill.amount * f64::from(devices)
    };
    for (count, money) in [(900.0, 0.0), (2_000.0, 2.0), (3_000.0, 4.0), (5_000.0, 6.0)] {
        near(amount(&tiers(true), count, 1), money);
        near(amount(&tiers(true), count / 10.0, 10), money);
        near(amount(&tiers(false), count, 10), 10.0 * money);
    }
    let month = with_messages(What::Publish, 1, 1_500.0, Usage::default());
    let next = tariff(vec![tiers(true)])
        .bill(&month, 1)
        .next
        .expect("a free tier below");
    near(next.less, 500.0);
    near(next.saves, 1.0);
}

#[test]
fn a_day_is_paid_in_steps() {
    let rule = TariffRule {
        price: Price::Daily {
            size: 400.0,
            price: 25.0,
        },
        is_of_account: true,
        ..messages(&[What::Publish], Rounding::Units(4_096))
    };
    let bill = |a_day: f64, devices| {
        let month = with_messages(What::Publish, 1, a_day * MONTH_DAYS, Usage::default());
        tariff(vec![rule.clone()]).bill(&month, devices)
    };
    for (a_day, devices, units) in [(0.0, 1, 1.0), (400.0, 1, 1.0), (401.0, 1, 2.0), (96.0, 10, 3.0)] {
        near(bill(a_day, devices).amount * f64::from(devices), 25.0 * units);
    }
    // 10 devices send 960 a day: one step lower are 800, 16 a day less of each.
    let next = bill(96.0, 10).next.expect("a lower step");
    near(next.less, 16.0 * MONTH_DAYS);
    near(next.saves * 10.0, 25.0);
}

#[test]
fn money_is_rounded_up_for_all_devices() {
    let minutes = TariffRule {
        counts: vec![What::Minutes],
        price: Price::Tiers {
            tiers: vec![Tier {
                to: f64::INFINITY,
                price: 2.0,
            }],
            per: 1e6,
        },
        is_of_account: true,
        ..messages(&[], Rounding::Whole)
    };
    let daily = Tariff {
        money_step: Some((0.01, Period::Day)),
        ..tariff(vec![minutes])
    };
    let mut day = Usage::default();
    day.sessions.insert(600, 1.0);
    let bill = daily.bill_of_days(&day, 140, 1.0);
    near(bill.lines[0].quantity * 140.0, 84_000.0);
    near(bill.amount * 140.0, 0.17);
    near(daily.bill(&day.scaled(30.0), 140).amount * 140.0, 0.17 * 30.0);
}

#[test]
fn causes_sum_to_the_bill_and_steps_are_below_it() {
    let mut month = keep_alives(240.0, 22.0).plus(&carried(Phase::Message, [100.0; 2], [40_000.0, 30_000.0]));
    month.sessions.insert(1_440, 30.0);
    for tariff in [
        per_byte(54, 102_400, Period::Month),
        per_byte(0, 1_000, Period::Session),
    ] {
        let bill = tariff.bill(&month, 1);
        let sum: f64 = bill.causes.iter().map(|(_, amount)| amount).sum();
        near(sum, bill.amount);
        assert_eq!(bill.causes[0].0, What::KeepAlive);
        let next = bill.next.expect("a lower step");
        let part = 1.0 - next.part - 1e-9;
        let less = tariff.bill(&month.clone().scaled(part), 1);
        assert!(tariff.tunnel_bytes() == Some([0; 2]) || less.amount < bill.amount);
        assert!(next.saves > 0.0 && next.less > 0.0, "{next:?}");
    }
}
