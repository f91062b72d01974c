use super::*;

fn per_byte(tunnel: u64, unit_bytes: u64, period: Period) -> Tariff {
    Tariff {
        name: "test".to_owned(),
        title: String::new(),
        charge: Charge::Bytes {
            tunnel_bytes: [tunnel; 2],
            unit_bytes,
            period,
            price_bytes: 1_000_000,
            included_bytes: 0,
        },
        price: 0.4,
        currency: "EUR".to_owned(),
        is_sourced: false,
        base_fee: 0.0,
        valid_seconds: None,
        takes: Vec::new(),
    }
}

/// A month of keep-alives: PINGREQ, PINGRESP, and an ACK, without TCP timestamps.
fn keep_alives(every_seconds: f64, record_bytes: f64) -> Usage {
    let (headers, ping) = (40.0, 2.0 + record_bytes);
    let one = Usage {
        packets: [2.0, 1.0],
        bytes: [2.0 * headers + ping, headers + ping],
        keep_alives: 1.0,
        ..Usage::default()
    };
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
        let megabytes = [plain.bill(&without), plain.bill(&tls), tunnelled.bill(&tls)]
            .map(|bill| bill.counted_bytes / 1e6);
        for (got, expected) in megabytes.into_iter().zip(expected) {
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
    let month = Usage {
        bytes: [100_000.0, 27_000.0],
        sessions: 100.0,
        ..Usage::default()
    };
    let charged = |unit, period| per_byte(0, unit, period).bill(&month).charged_bytes;
    assert!((charged(100_000, Period::Month) - 200_000.0).abs() < 1e-6);
    assert!((charged(1_000, Period::Session) - 200_000.0).abs() < 1e-6);
    // 4,233.3 bytes a day.
    assert!((charged(1_000, Period::Day) - 5_000.0 * MONTH_DAYS).abs() < 1e-6);
    let amount = per_byte(0, 100_000, Period::Month).bill(&month).amount;
    assert!((amount - 0.08).abs() < 1e-12);
}

#[test]
fn a_day_without_traffic_is_not_charged() {
    // 166 B every 14 days, in started kilobytes of a day.
    let readings = MONTH_DAYS / 14.0;
    let one = Usage {
        bytes: [121.0, 45.0],
        messages: 1.0,
        ..Usage::default()
    };
    let charged = |month: &Usage| per_byte(0, 1_000, Period::Day).bill(month).charged_bytes;
    assert!((charged(&one.scaled(readings)) - readings * 1_000.0).abs() < 1e-6);
    // A keep-alive an hour is traffic of every day.
    let kept = Usage {
        keep_alives: 720.0,
        ..one.scaled(readings)
    };
    assert!((charged(&kept) - MONTH_DAYS * 1_000.0).abs() < 1e-6);
    // What is sent more often is charged as before.
    assert!((charged(&one.scaled(100.0)) - MONTH_DAYS * 1_000.0).abs() < 1e-6);
}

#[test]
fn a_bundle_is_bought_again_when_it_is_used_up_or_has_expired() {
    let months = 120.0;
    let bundle = Tariff {
        price: 12.0,
        valid_seconds: Some(months * MONTH_SECONDS),
        charge: Charge::Bytes {
            tunnel_bytes: [0; 2],
            unit_bytes: 1,
            period: Period::Month,
            price_bytes: 500_000_000,
            included_bytes: 0,
        },
        ..per_byte(0, 1, Period::Month)
    };
    let amount = |bytes: f64| {
        let month = Usage {
            bytes: [bytes, 0.0],
            ..Usage::default()
        };
        bundle.bill(&month).amount
    };
    // Nothing and little use are paid by the time; 500 MB in half of the time cost twice as much.
    assert!((amount(0.0) - 0.1).abs() < 1e-9);
    // A started byte is charged in full.
    assert!((amount(500e6 / months) - 0.1).abs() < 1e-6);
    assert!((amount(1_000e6 / months) - 0.2).abs() < 1e-6);
}

#[test]
fn a_base_fee_is_paid_without_traffic() {
    let tariff = Tariff {
        base_fee: 0.5,
        ..per_byte(0, 1, Period::Month)
    };
    let month = Usage {
        bytes: [1e6, 0.0],
        ..Usage::default()
    };
    assert!((tariff.bill(&Usage::default()).amount - 0.5).abs() < 1e-12);
    assert!((tariff.bill(&month).amount - 0.9).abs() < 1e-12);
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
    let month = Usage {
        packets: [2.0, 1.0],
        bytes: [82.0, 42.0],
        ..Usage::default()
    };
    let bill = per_byte(54, 1, Period::Month).bill(&month);
    assert!((bill.counted_bytes - 286.0).abs() < 1e-9);
}

#[test]
fn a_message_below_the_least_size_is_charged_as_one() {
    let tariff = Tariff {
        charge: Charge::Messages {
            unit_bytes: 5_120,
            keep_alives: false,
            sessions: true,
            price_messages: 1_000_000,
        },
        ..per_byte(0, 1, Period::Month)
    };
    for payload_bytes in [0.0, 1.0, 5_120.0] {
        let month = Usage {
            messages: 10.0,
            payload_bytes,
            keep_alives: 3.0,
            sessions: 5.0,
            ..Usage::default()
        };
        assert!(
            (tariff.bill(&month).charged_messages - 15.0).abs() < 1e-9,
            "{payload_bytes}"
        );
    }
}

#[test]
fn a_message_is_charged_by_started_units() {
    let charge = Charge::Messages {
        unit_bytes: 1_024,
        keep_alives: true,
        sessions: false,
        price_messages: 1_000_000,
    };
    let tariff = Tariff {
        charge,
        ..per_byte(0, 1, Period::Month)
    };
    let month = Usage {
        messages: 10.0,
        payload_bytes: 1_025.0,
        keep_alives: 3.0,
        sessions: 5.0,
        ..Usage::default()
    };
    let bill = tariff.bill(&month);
    assert!((bill.charged_messages - 23.0).abs() < 1e-9);
    assert_eq!(bill.charged_bytes, 0.0);
}
