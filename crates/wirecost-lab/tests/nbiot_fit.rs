//! Settings of a network are found under which given points come out.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use wirecost_lab::nbiot::fit::{Fit, FitError, TriedSetting, nearest};
use wirecost_results::shard::Shard;
use wirecost_scenario::fit::{FitPoint, FitStatement, FreeParameters};
use wirecost_scenario::options::nbiot::NbiotOptions;
use wirecost_scenario::parameter;

/// One cell whose points take 30 s of reports.
fn asked() -> NbiotOptions {
    let mut asked = NbiotOptions::study("vodafone").expect("a profile");
    asked.network.scenario.n_sites = 1;
    asked.network.scenario.sectors_per_site = 1;
    asked.seeds = 1;
    asked.duration = Duration::from_secs(30);
    asked
}

fn points(texts: &[&str]) -> Vec<FitPoint> {
    texts.iter().map(|text| text.parse().expect(text)).collect()
}

fn measured(points: &[FitPoint], free: &str, settings: usize) -> Vec<TriedSetting> {
    let free = FreeParameters::read(free).expect("free parameters");
    let asked = asked();
    let fit = fit(points, &free, &asked, settings);
    fit.measure(2, &mut |_| {}, &|| false).expect("settings")
}

fn fit<'a>(
    points: &'a [FitPoint],
    free: &'a FreeParameters,
    asked: &'a NbiotOptions,
    settings: usize,
) -> Fit<'a> {
    Fit {
        points,
        free,
        asked,
        statements: &[],
        known: &[],
        settings,
        stopped: AtomicBool::new(false),
    }
}

#[test]
fn the_setting_that_made_the_points_lies_in_the_spread_of_those_that_meet_them() {
    let truth = [
        ("levels.ce0.npdcch_g", 4.0),
        ("radio.indoor_loss_db", 34.0),
        ("link.margin_db", 2.0),
    ];
    let made =
        "wirecost: 1\nfree: {levels.ce0.npdcch_g: [4], radio.indoor_loss_db: [34], link.margin_db: [2]}\n";
    let asked = points(&["served(tcp,25B,3/s)>0%", "delay_p50(coap-con,25B,1/s)>1ms"]);
    let made = measured(&asked, made, 1);
    let [Some(served), Some(delay)] = made[0].measured[..] else {
        panic!("{made:?}");
    };
    assert!(
        served < 0.97 && served > 0.5,
        "a point that nothing loses tells little: {served}"
    );
    let given = points(&[
        &format!("served(tcp,25B,3/s)={served}+-2%"),
        &format!("delay_p50(coap-con,25B,1/s)={}us+-12ms", (delay * 1e6).round()),
    ]);
    let free = "wirecost: 1\nsolved: {radio.indoor_loss_db: {from: 28, to: 40}}\n\
        free: {levels.ce0.npdcch_g: [1.5, 2, 4, 8], link.margin_db: {from: 1, to: 3}}\n";
    let settings = measured(&given, free, 12);
    let met: Vec<&TriedSetting> = settings.iter().filter(|setting| setting.is_met()).collect();
    assert!(
        !met.is_empty() && met.len() < settings.len(),
        "{} of 12",
        met.len()
    );
    for (path, value) in truth {
        let values = met
            .iter()
            .map(|setting| setting.values[path].parse::<f64>().expect("a number"));
        let [least, most] = values.fold([f64::MAX, f64::MIN], |[least, most], value| {
            [least.min(value), most.max(value)]
        });
        assert!(
            least <= value && value <= most,
            "{path}: {value} is not from {least} to {most}"
        );
    }
    for setting in met {
        for (point, measured) in given.iter().zip(&setting.measured) {
            assert!(point.miss(measured.expect("a figure")) <= 1.0, "{setting:?}");
        }
    }
}

#[test]
fn of_points_that_no_setting_reaches_the_nearest_is_known() {
    let given = points(&["served(coap-con,25B,1/s)=20%"]);
    let free = "wirecost: 1\nsolved: {radio.indoor_loss_db: {from: 0, to: 20}}\n";
    let settings = measured(&given, free, 1);
    let nearest = nearest(&settings, &given).expect("a setting");
    assert!(!nearest.is_met());
    assert_eq!(nearest.measured, [Some(1.0)]);
}

#[test]
fn ranges_that_meet_in_an_impossible_network_are_refused_with_their_line() {
    let free = "wirecost: 1\nfree:\n  coverage.mcl_ce1_db: {from: 140, to: 160}\n  coverage.mcl_ce2_db: {from: 140, to: 160}\n";
    let free = FreeParameters::read(free).expect("free parameters");
    let given = points(&["served(coap-con,25B,1/s)=20%"]);
    let asked = asked();
    let fit = fit(&given, &free, &asked, 20);
    let Err(FitError::Free(error)) = fit.sample() else {
        panic!("levels in the wrong order");
    };
    assert_eq!(error.line(), Some(3));
    assert!(
        error
            .message()
            .contains("coverage.mcl_ce2_db must be above coverage.mcl_ce1_db"),
        "{error}"
    );
}

#[test]
fn every_parameter_has_one_value_in_each_part_of_its_range() {
    let free = FreeParameters::read(
        "wirecost: 1\nfree: {scenario.isd_m: {from: 1000, to: 2000}, rlc.max_retransmissions: [1, 2]}\n",
    );
    let free = free.expect("free parameters");
    let given = points(&["served(coap-con,25B,1/s)=20%"]);
    let asked = asked();
    let fit = fit(&given, &free, &asked, 10);
    let sample = fit.sample().expect("settings");
    let mut parts: Vec<u32> = sample
        .iter()
        .map(|values| ((values["scenario.isd_m"].parse::<f64>().expect("a number") - 1_000.0) / 100.0) as u32)
        .collect();
    parts.sort_unstable();
    assert!(parts.into_iter().eq(0..10));
    let ones = sample
        .iter()
        .filter(|values| values["rlc.max_retransmissions"] == "1");
    assert_eq!(ones.count(), 5);
}

#[test]
fn statements_are_judged_where_the_points_are_met() {
    let asked = asked();
    let given = points(&["served(coap-con,25B,1/s)>90%", "served(coap-con,25B,2/s)>90%"]);
    let statements = [
        "served(coap-con,25B,2/s)>90%",
        "delay_p95(coap-con,25B,2/s)<delay_p50(coap-con,25B,2/s)",
    ];
    let statements = statements.map(|text| text.parse::<FitStatement>().expect(text));
    let free = "wirecost: 1\nfree: {levels.ce0.npdcch_g: [2, 64]}";
    let free = FreeParameters::read(free).expect("free parameters");
    let fit = Fit {
        statements: &statements,
        ..fit(&given, &free, &asked, 2)
    };
    for setting in fit.measure(1, &mut |_| {}, &|| false).expect("settings") {
        match setting.values["levels.ce0.npdcch_g"].as_str() {
            "2" => assert_eq!(setting.holds, [Some(true), Some(false)], "{setting:#?}"),
            // About seven DCIs a second do not fit into two search spaces a second.
            _ => assert_eq!(
                (setting.measured[1], &setting.holds[..]),
                (None, &[None, None][..])
            ),
        }
    }
}

#[test]
fn a_stopped_fit_has_whole_settings_and_no_other() {
    let asked = asked();
    let given = points(&["served(coap-con,25B,2/s)>90%"]);
    let free =
        FreeParameters::read("wirecost: 1\nfree: {levels.ce0.npdcch_g: [2, 4]}").expect("free parameters");
    let stopped = fit(&given, &free, &asked, 8).measure(1, &mut |_| {}, &|| true);
    let stopped = stopped.expect("what was measured");
    assert!(stopped.len() < 8, "{}", stopped.len());
    let whole = fit(&given, &free, &asked, 8).measure(1, &mut |_| {}, &|| false);
    assert_eq!(stopped[..], whole.expect("settings")[..stopped.len()]);
}

#[test]
fn shards_of_a_fit_and_those_that_are_known_are_the_whole_fit() {
    let mut asked = asked();
    let given = points(&["served(coap-con,25B,2/s)>90%"]);
    let read =
        |free: &str| FreeParameters::read(&format!("wirecost: 1\nfree: {free}")).expect("free parameters");
    let free = read("{levels.ce0.npdcch_g: [2, 4, 8], scenario.isd_m: {from: 1000, to: 9000}}");
    let others = read("{levels.ce0.npdcch_g: [2, 4]}");
    let measure = |asked: &NbiotOptions, known: &[TriedSetting]| {
        let fit = Fit {
            known,
            ..fit(&given, &free, asked, 6)
        };
        fit.measure(1, &mut |_| {}, &|| false)
    };
    let whole = measure(&asked, &[]).expect("settings");
    let mut known = Vec::new();
    for index in 1..=3 {
        asked.shard = Shard::new(index, 3);
        let part = measure(&asked, &[]).expect("settings");
        assert!(part.iter().all(|setting| whole.contains(setting)));
        // As a file keeps them, the last shard first.
        let fit = fit(&given, &free, &asked, 6);
        let kept = part
            .iter()
            .map(|setting| serde_json::to_value(setting).expect("JSON"));
        let kept = kept.map(|setting| fit.read_setting(&setting).expect("a setting"));
        known.splice(0..0, kept);
    }
    assert_eq!(known.len(), whole.len(), "each setting is in one shard");
    asked.shard = None;
    let stopped = fit(&given, &free, &asked, 6);
    let stopped = Fit {
        known: &known,
        ..stopped
    };
    // Nothing is left to measure.
    assert_eq!(
        stopped.measure(1, &mut |_| {}, &|| true).expect("settings"),
        whole
    );
    let other = Fit {
        known: &known,
        ..fit(&given, &others, &asked, 6)
    };
    let error = other.measure(1, &mut |_| {}, &|| false).expect_err("another fit");
    assert!(matches!(error, FitError::OtherFit(_)), "{error}");
}

#[test]
fn what_cannot_be_fitted_is_refused_before_a_run() {
    let mut asked = asked();
    let refused = |given: &[FitPoint], free: &str, asked: &NbiotOptions| {
        let free = FreeParameters::read(free).expect("free parameters");
        let fit = fit(given, &free, asked, 2);
        fit.measure(1, &mut |_| {}, &|| false).expect_err("a refusal")
    };
    // An end of the solved parameter's range that no network can have.
    let solved = "wirecost: 1\nsolved: {coverage.mcl_ce1_db: {from: 140, to: 160}}";
    let FitError::Free(error) = refused(&points(&["served(tcp,25B,2/s)=90%"]), solved, &asked) else {
        panic!("levels in the wrong order");
    };
    assert_eq!(error.line(), Some(2));
    let above = points(&["served(tcp,25B,2/s)>90%"]);
    let nothing = refused(&above, solved, &asked);
    assert!(
        matches!(nothing, FitError::NothingToSolve("coverage.mcl_ce1_db")),
        "{nothing}"
    );
    asked.network = parameter::set(&asked.network, "bearer.pdn_type", "non-ip").expect("a value");
    let error = refused(&above, "wirecost: 1\nfree: {npdcch.failure: [0.1]}", &asked);
    let expected = "no run can decide served(tcp,25B,2/s)>90%: tcp: ";
    assert!(error.to_string().starts_with(expected), "{error}");
}
