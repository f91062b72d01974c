use proptest::prelude::*;

use super::*;

fn read(lines: &str, volts: Option<f64>) -> Result<Trace, TraceError> {
    let mut reader = Reader::new(volts);
    lines.lines().try_for_each(|line| reader.line(line))?;
    reader.finish()
}

fn trace(lines: &str, volts: Option<f64>) -> Trace {
    read(lines, volts).unwrap_or_else(|error| panic!("{error}"))
}

fn assert_near(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-12, "{got}, {expected}");
}

#[test]
fn ten_milliamperes_at_3_3_volts_for_2_seconds_are_66_millijoules() {
    let files = [
        (
            "Timestamp(ms),Current(uA),D0-D7\n0,10000,00\n1000,10000,00\r\n2000,10000,00\n\n",
            Some(3.3),
        ),
        (
            "Timestamp,Main current (A),Main voltage (V)\n0,0.01,3.3\n1,0.01,3.3\n2,0.01,3.3\n",
            None,
        ),
        (
            "Timestamp,Main current (A),Main voltage\n0,0.01,3.3\n1,0.01,3.3\n2,0.01,3.3\n",
            None,
        ),
        (
            "#time,current,voltage,power,charge,energy\n0,0.01,3.3,0,0,0\n2,1e-2,3.3,0,0,0\n",
            None,
        ),
        (
            "\"Keysight N6705B\"\n\"Date: Fri Nov 06 2020\"\n\"Sample interval: 0.5\"\n\n\
             Sample,Volt avg 1,Curr avg 1\n0,3.3,0.01\n1,3.3,0.01\n2,3.3,0.01\n3,3.3,0.01\n4,3.3,0.01\n",
            None,
        ),
        (
            "\u{feff}\"Time (s)\",\"Voltage (mV)\",\"Current (mA)\"\n5,3300,10\n7,3300,10\n",
            None,
        ),
    ];
    for (file, volts) in files {
        let trace = trace(file, volts);
        assert_near(trace.joules(trace.start(), trace.end()).expect("covered"), 0.066);
    }
}

#[test]
fn power_between_two_samples_is_a_straight_line() {
    // From 0 A to 2 A at 1 V: a triangle of 1 J, its first half has a quarter of it.
    let ramp = trace("time (s),current (A)\n10,0\n11,2\n", Some(1.0));
    assert_eq!(ramp.joules(10.0, 11.0), Some(1.0));
    assert_eq!(ramp.joules(10.0, 10.5), Some(0.25));
    assert_eq!(ramp.joules(10.25, 10.25), Some(0.0));
    assert_eq!(ramp.joules(9.9, 11.0), None);
    assert_eq!(ramp.joules(10.0, 11.1), None);
    assert_eq!(ramp.joules(10.5, 10.0), None);
}

#[test]
fn the_marker_is_the_first_rise_above_the_rest() {
    let pulse = "time (s),current (mA)\n0,1\n1,1\n2,1\n3,101\n4,101\n5,1\n6,1\n";
    let trace = trace(pulse, Some(3.0));
    assert_near(trace.rest_amperes(), 0.001);
    assert_near(trace.rise_above(0.051).expect("a rise"), 2.5);
    assert_eq!(trace.rise_above(0.2), None);
    // It begins above the rest: its rise was not recorded.
    assert_eq!(trace.rise_above(0.000_5), None);
}

#[test]
fn a_wrong_file_is_refused_with_its_line() {
    const HEAD: &str = "time (s),current (A)\n";
    let gap: String = HEAD.to_owned() + "0,1\n1,1\n2,1\n3,1\n4,1\n15,1\n";
    let cases = [
        ("", 0, "no samples"),
        ("\n", 1, "no samples"),
        (HEAD, 0, "no samples"),
        (
            "time (s),current (A)\n1,1\n1,1",
            0,
            "all samples have the same time",
        ),
        ("current (A)\n1", 1, "no column of time"),
        ("time (s),power (W)\n", 1, "no column of current"),
        (
            "time (s),main current (A),ADC current (A)\n",
            1,
            "two columns of current: \"main current (A)\" and \"ADC current (A)\"",
        ),
        ("time (s),current\n", 1, "column \"current\" has no unit"),
        ("time,current (A)\n", 1, "column \"time\" has no unit"),
        (
            "timestamp,main current (mA)\n",
            1,
            "column \"timestamp\" has no unit",
        ),
        (
            "time (s),current (V)\n",
            1,
            "column \"current (V)\" has no unit of current",
        ),
        (
            "time (s),current (A)\n0,1\n\n1,1\n",
            3,
            "an empty line between samples",
        ),
        ("time (s),current (A)\n0\n", 2, "no current"),
        (
            "time (s),current (A)\n0,NaN\n",
            2,
            "current \"NaN\" is not a number",
        ),
        (
            "time (s),current (A)\n0,1e5\n",
            2,
            "current \"1e5\" is out of range",
        ),
        (
            "time (s),current (A)\n0,1\n2,1\n1.5,1\n",
            4,
            "the time goes back from 2 s to 1.5 s",
        ),
        (
            &gap,
            7,
            "a gap of 11.000000 s before this sample: 11 sample intervals",
        ),
    ];
    for (file, line, message) in cases {
        let error = read(file, Some(3.3)).expect_err(file);
        assert_eq!(
            (error.line, error.fault.to_string().as_str()),
            (line, message),
            "{file:?}"
        );
    }
}

#[test]
fn the_voltage_is_given_once() {
    let none = read("time (s),current (A)\n0,1\n1,1\n", None).expect_err("no voltage");
    assert_eq!((none.line, none.fault), (1, Fault::NoVoltage));
    let two = read("time (s),current (A),voltage (V)\n", Some(3.3)).expect_err("two voltages");
    assert_eq!(two.fault, Fault::TwoVoltages("voltage (V)".to_owned()));
}

#[test]
fn a_gap_of_ten_sample_intervals_is_read_and_reported() {
    let trace = trace("time (s),current (A)\n0,1\n1,1\n2,1\n12,1\n", Some(1.0));
    assert_eq!((trace.interval(), trace.longest_step()), (1.0, 10.0));
}

proptest! {
    #[test]
    fn energy_of_a_window_and_its_rest_sum_to_the_whole(
        milliamperes in prop::collection::vec(0_u32..500, 2..60),
        cut in 0.0_f64..1.0,
    ) {
        let mut file = "time (ms),current (mA)\n".to_owned();
        for (index, value) in milliamperes.iter().enumerate() {
            file += &format!("{},{value}\n", index * 7);
        }
        let trace = trace(&file, Some(3.3));
        let at = trace.start() + (trace.end() - trace.start()) * cut;
        let parts = trace.joules(trace.start(), at).expect("inside")
            + trace.joules(at, trace.end()).expect("inside");
        let whole = trace.joules(trace.start(), trace.end()).expect("the whole");
        prop_assert!((parts - whole).abs() <= 1e-9 * whole.max(1e-9), "{parts}, {whole}");
    }
}

/// Seconds at which a channel rises.
fn rises(file: &str, channel: &str) -> Result<Vec<f64>, TraceError> {
    let mut reader = SampleReader::new(Some(3.0), Some(channel.to_owned()));
    for line in file.lines() {
        reader.line(line)?;
    }
    Ok(reader.rises().to_vec())
}

#[test]
fn a_marker_is_a_column_or_a_character_of_the_column_of_all_channels() {
    let shared = "Timestamp(ms),Current(uA),D0-D7\n0,1,00000000\n1,1,10000000\n2,1,01000000\n3,1,-X000000\n4,1,0000000-\n5,1,10000001\n";
    assert_eq!(rises(shared, "D0").as_deref(), Ok(&[0.001, 0.005][..]));
    assert_eq!(rises(shared, "d1").as_deref(), Ok(&[0.002][..]));
    // What is not known is as before.
    assert_eq!(rises(shared, "D7").as_deref(), Ok(&[0.005][..]));
    let both = "Timestamp(ms),Current(uA),D0-D7,D0,D1\n0,1,00000000,0,0\n1,1,10000000,1,0\n";
    assert_eq!(rises(both, "D0").as_deref(), Ok(&[0.001][..]));
    for (channel, why) in [
        ("D8", "line 1: no column \"D8\" for the marker"),
        ("GPIO", "line 1: no column \"GPIO\" for the marker"),
    ] {
        let refused = rises(shared, channel).expect_err("no such channel");
        assert_eq!(refused.to_string(), why);
    }
    let short = rises("Timestamp(ms),Current(uA),D0-D7\n0,1,00\n", "D5").expect_err("no D5");
    assert_eq!(
        short.to_string(),
        "line 2: the marker is 0, 1, X or -, not \"00\""
    );
}

#[test]
fn numbered_samples_need_their_interval_and_one_output() {
    let refused = |file: &str| read(file, None).expect_err("refused").to_string();
    assert_eq!(
        refused("\"Keysight\"\nSample,Volt avg 1,Curr avg 1\n0,3.3,0.01\n1,3.3,0.01\n"),
        "line 2: the samples are numbered, and no line above has their interval (Sample interval: 0.0001)"
    );
    let two = "Sample interval: 0.1\nSample,Volt avg 1,Curr avg 1,Curr avg 2\n0,3.3,0.01,0\n";
    assert_eq!(
        refused(two),
        "line 2: two columns of current: \"Curr avg 1\" and \"Curr avg 2\""
    );
}
