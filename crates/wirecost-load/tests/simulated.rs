//! Loads in virtual time: against closed forms, repeated, and at their limits.

use std::path::Path;
use std::time::Duration;

use wirecost_link::LinkConfig;
use wirecost_load::context::RunContext;
use wirecost_load::run::run;
use wirecost_load::watch::{Announcement, Tick, Watcher};
use wirecost_results::LoadFile;
use wirecost_results::load::PhaseFigures;
use wirecost_scenario::options::load::{Arrivals, LoadEngine, LoadOptions, LoadTarget, Offer, Phase, Who};
use wirecost_scenario::options::sending::Connection;
use wirecost_stack::target::Target;

/// A load of 1,000 devices that connect at once and send `count` messages at `rate`.
fn load(stack: &str, rate: f64, count: u64) -> LoadOptions {
    let offer = Offer {
        arrivals: Arrivals::Open {
            rate,
            per_client: false,
            poisson: true,
        },
        duration: None,
        count: Some(count),
        warm_up: Duration::ZERO,
        ramp: Duration::ZERO,
        spread: None,
    };
    let connect = Phase::Connect {
        who: Who::All,
        rate: None,
    };
    let stack = stack.parse().expect("a stack");
    LoadOptions {
        engine: LoadEngine::Sim,
        clients: 1_000,
        phases: vec![connect, Phase::Publish(offer), Phase::Close { rate: None }],
        ..LoadOptions::new(stack, LoadTarget::Started(Target::Builtin))
    }
}

fn served(service_time: &str, load: LoadOptions) -> LoadOptions {
    LoadOptions {
        service_time: Some(service_time.parse().expect("a service time")),
        workers: 4,
        ..load
    }
}

fn play(options: &LoadOptions) -> LoadFile {
    play_for(options, &mut ())
}

fn play_for(options: &LoadOptions, watcher: &mut (dyn Watcher + Send)) -> LoadFile {
    options.validate().expect("a load that can be run");
    let nowhere = Path::new("");
    let played = run(
        options,
        RunContext {
            program: nowhere,
            folder: nowhere,
            watcher,
            interrupted: &|| false,
            position: [1, 1],
            agents: None,
            demands: None,
        },
    );
    played.expect("figures").expect("an end")
}

fn publish(file: &LoadFile) -> &PhaseFigures {
    let mut phases = file.load.phases.iter();
    phases.find(|phase| phase.name == "publish").expect("messages")
}

/// The mean response time in seconds.
fn response_s(options: &LoadOptions) -> f64 {
    let file = play(options);
    let times = publish(&file).response_time_ns.clone().expect("times");
    times.mean / 1e9
}

/// The mean over several seeds, and half the width of its 99 % interval (Student's t with nine degrees of freedom).
fn over_seeds(of: impl Fn(u64) -> f64) -> (f64, f64) {
    let values: Vec<f64> = (0..10).map(of).collect();
    let mean = values.iter().sum::<f64>() / 10.0;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 9.0;
    (mean, 3.25 * (variance / 10.0).sqrt())
}

/// The mean wait in an M/M/c queue with `load` Erlang, in service times (Erlang C; Kleinrock, Queueing Systems 1, 3.5).
fn wait_of_mmc(workers: u32, load: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 0.0;
    for k in 0..workers {
        sum += term;
        term *= load / f64::from(k + 1);
    }
    let free = f64::from(workers) - load;
    let queued = term * f64::from(workers) / free;
    queued / (sum + queued) / free
}

#[test]
fn exponential_service_times_give_the_response_of_mm4() {
    for (utilisation, messages) in [(0.5, 6_000), (0.9, 20_000)] {
        let rate = 4_000.0 * utilisation;
        let (mean, half) = over_seeds(|seed| {
            let load = served("exponential:1ms", load("coap-con", rate, messages));
            response_s(&LoadOptions { seed, ..load })
        });
        let expected = 1e-3 * (1.0 + wait_of_mmc(4, 4.0 * utilisation));
        assert!(
            (mean - expected).abs() < half && half < expected / 10.0,
            "{utilisation}: {mean} ± {half}, expected {expected}"
        );
    }
}

/// The mean wait in an M/D/c queue with `load` Erlang, in service times. The customers present after a service time are
/// those that could not begin before it and those that arrived in it (Crommelin 1932): the stationary distribution of
/// that chain gives the mean length of the queue, and Little's law the wait.
fn wait_of_mdc(workers: usize, load: f64) -> f64 {
    const STATES: usize = 300;
    let mut arrivals = vec![(-load).exp()];
    for k in 1..60 {
        arrivals.push(arrivals[k - 1] * load / k as f64);
    }
    let mut there = vec![0.0; STATES];
    there[0] = 1.0;
    for _ in 0..2_000 {
        let mut next = vec![0.0; STATES];
        for (number, share) in there.iter().enumerate() {
            let left = number.saturating_sub(workers);
            let states = next[left..].iter_mut().zip(&arrivals);
            states.for_each(|(state, arrival)| *state += share * arrival);
        }
        there = next;
    }
    let queue: f64 = there
        .iter()
        .enumerate()
        .skip(workers)
        .map(|(number, share)| (number - workers) as f64 * share)
        .sum();
    queue / load
}

#[test]
fn constant_service_times_give_the_response_of_md4() {
    for (utilisation, messages) in [(0.5, 6_000), (0.9, 20_000)] {
        let (mean, half) = over_seeds(|seed| {
            let load = served("1ms", load("coap-con", 4_000.0 * utilisation, messages));
            response_s(&LoadOptions { seed, ..load })
        });
        let expected = 1e-3 * (1.0 + wait_of_mdc(4, 4.0 * utilisation));
        assert!(
            (mean - expected).abs() < half && half < expected / 10.0,
            "{utilisation}: {mean} ± {half}, expected {expected}"
        );
    }
}

#[test]
fn a_rate_above_the_workers_capacity_is_the_targets_limit() {
    for (rate, who) in [(3_600.0, "none"), (4_200.0, "target")] {
        let file = play(&served("1ms", load("mqtt-qos1", rate, 12_000)));
        assert_eq!(file.load.bottleneck.expect("a verdict").who, who, "{rate}/s");
    }
}

#[test]
fn a_repeated_load_has_the_same_result() {
    let link = wirecost_link::LinkConfig::symmetric(Duration::from_millis(40));
    for stack in [
        "tcp",
        "mqtt-qos2+tls1.3",
        "coap-con+dtls1.3",
        "coap-con+oscore",
        "http3",
    ] {
        let options = LoadOptions {
            clients: 20,
            link: Some(link),
            ..load(stack, 100.0, 200)
        };
        let again = || {
            let mut file = play(&options);
            file.load.started_at.clear();
            let intervals: Vec<String> = file.intervals.iter().map(|one| format!("{one:?}")).collect();
            (file.load, intervals)
        };
        assert_eq!(again(), again(), "{stack}");
    }
}

#[test]
fn devices_that_report_together_wait_for_one_another() {
    let mut link = wirecost_link::LinkConfig::symmetric(Duration::from_millis(40));
    link.up.rate = "1Mbit".parse().ok();
    let median = |spread: Option<Duration>| {
        let mut options = LoadOptions {
            link: Some(link),
            ..load("coap-con", 100.0, 2_000)
        };
        if let Phase::Publish(offer) = &mut options.phases[1] {
            offer.spread = spread;
            offer.arrivals = Arrivals::Open {
                rate: 100.0,
                per_client: false,
                poisson: false,
            };
        }
        let file = play(&options);
        let figures = publish(&file);
        assert_eq!(figures.outcomes.offered, 2_000);
        figures
            .response_time_ns
            .clone()
            .expect("times")
            .p50
            .expect("a median")
    };
    let (even, together) = (median(None), median(Some(Duration::from_millis(100))));
    assert!(together > even * 5, "{together} {even}");
}

#[test]
fn subscribers_receive_messages_in_virtual_time() {
    let mut options = load("mqtt-qos1", 100.0, 200);
    options.clients = 5;
    options.subscribers = Some(wirecost_scenario::options::load::Subscribers {
        devices: 7,
        filter: "#".into(),
        poll: None,
        shared: None,
        qos: 1,
    });
    let file = play(&options);
    let deliveries = publish(&file).deliveries.expect("deliveries");
    assert_eq!((deliveries.expected, deliveries.arrived), (1_400, 1_400));
}

/// A reading waits for the next poll, which takes a round trip: its delay is half of one to one and a half and the interval.
#[test]
fn subscribers_over_http_ask_at_their_interval() {
    let (poll, rtt) = (Duration::from_millis(500), Duration::from_millis(66));
    for stack in ["http1", "http1+tls1.3", "http3"] {
        let mut options = load(stack, 10.0, 200);
        options.clients = 5;
        let mut link = LinkConfig::default();
        (link.up.delay, link.down.delay) = (rtt / 2, rtt / 2);
        options.link = Some(link);
        options.subscribers = Some(wirecost_scenario::options::load::Subscribers {
            devices: 2,
            filter: wirecost_scenario::load::MESSAGES.into(),
            poll: Some(poll),
            shared: None,
            qos: 0,
        });
        options
            .phases
            .insert(2, Phase::AwaitReplay { timeout: poll * 100 });
        let file = play(&options);
        let phases = &file.load.phases;
        let figures = publish(&file);
        let deliveries = figures.deliveries.expect("deliveries");
        assert_eq!(
            (deliveries.expected, deliveries.arrived, deliveries.duplicates),
            (400, 400, 0),
            "{stack}"
        );
        assert_eq!(figures.missing, Some(0), "{stack}");
        let polls = deliveries.polls as f64;
        let expected = 2.0 * figures.duration_s / poll.as_secs_f64();
        assert!(
            (polls - expected).abs() <= 2.0,
            "{stack}: {polls} polls, not {expected}"
        );
        assert!(
            0 < deliveries.empty_polls && deliveries.empty_polls < deliveries.polls,
            "{deliveries:?}"
        );
        let delays = figures.one_way_delay_ns.clone().expect("delays");
        let (least, most) = (rtt / 2, poll + rtt + rtt / 2);
        assert!(delays.min >= least.as_nanos() as u64, "{stack}: {}", delays.min);
        assert!(
            delays.max <= (most + rtt / 10).as_nanos() as u64,
            "{stack}: {}",
            delays.max
        );
        let idle = phases[2].deliveries.expect("deliveries");
        assert!(idle.polls > 0, "{stack}: it asks in every phase");
        let link = figures.link.expect("a link");
        assert!(link.up.subscriber_bytes > Some(0) && link.down.subscriber_bytes > Some(0));
    }
}

#[test]
fn further_header_fields_and_bodies_of_answers_cost_their_bytes() {
    use wirecost_proto::ByteSize;
    let bytes = |stack: &str, headers: Option<u64>, body: Option<u64>| {
        let mut options = load(stack, 100.0, 50);
        options.clients = 1;
        options.link = Some(LinkConfig::default());
        options.http.request_headers = headers.map(ByteSize::from_bytes);
        options.http.response_body = body.map(ByteSize::from_bytes);
        let file = play(&options);
        let figures = publish(&file);
        assert_eq!(figures.outcomes.acknowledged, 50, "{stack}");
        [figures.socket_bytes_up, figures.socket_bytes_down]
    };
    let plain = bytes("http1", None, None);
    let both = bytes("http1", Some(60), Some(400));
    assert_eq!(both[0] - plain[0], 50 * 60);
    // 204 becomes 200, and the body has its type and its length.
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 400\r\n\r\n".len();
    let empty = "HTTP/1.1 204 No Content\r\n\r\n".len();
    assert_eq!(both[1] - plain[1], 50 * (400 + head - empty) as u64);
    let [up, down] = bytes("http3", None, None);
    let [more_up, more_down] = bytes("http3", Some(1_000), Some(1_000));
    assert!(
        more_up > up + 50 * 800 && more_down > down + 50 * 1_000,
        "{up} {more_up} {down} {more_down}"
    );
}

/// The acknowledged messages of each whole second of the second phase, as a watcher sees them.
#[derive(Default)]
struct Console {
    seconds: Vec<u64>,
}

impl Watcher for Console {
    fn begin(&mut self, _: &Announcement) {}

    fn note(&mut self, _: &str) {}

    fn second(&mut self, tick: &Tick<'_>) {
        if tick.phase == 1 && tick.span == Duration::from_secs(1) {
            self.seconds.push(tick.counted.outcomes.acknowledged);
        }
    }

    fn end(&mut self) {}
}

/// Ten devices of one message each over 40 ms: console, seconds and phase have the same rate, and the devices are named.
#[test]
fn the_acknowledged_rate_is_the_same_everywhere() {
    let mut options = load("coap-con", 1_000.0, 5_000);
    (options.clients, options.link) = (10, Some(LinkConfig::symmetric(Duration::from_millis(40))));
    let Phase::Publish(offer) = &mut options.phases[1] else {
        panic!("messages");
    };
    offer.arrivals = Arrivals::Open {
        rate: 1_000.0,
        per_client: false,
        poisson: false,
    };
    let mut console = Console::default();
    let file = play_for(&options, &mut console);
    let seconds: Vec<u64> = file
        .phase(1)
        .map(|interval| interval.acknowledged_then.unwrap_or_default())
        .collect();
    assert!(console.seconds.len() > 15, "{:?}", console.seconds);
    // An acknowledgement at the very end of a second may be told with it.
    let differ = seconds
        .iter()
        .zip(&console.seconds)
        .filter(|(one, other)| one.abs_diff(**other) > 1);
    assert_eq!(differ.count(), 0, "{seconds:?} {:?}", console.seconds);
    assert!(
        seconds[1..15].iter().all(|count| (245..=250).contains(count)),
        "{seconds:?}"
    );
    assert_eq!(seconds.iter().sum::<u64>(), publish(&file).outcomes.acknowledged);
    let rate = publish(&file).carried_rate.expect("a rate");
    assert!((rate - 250.0).abs() < 1.0, "{rate}");
    let found = file.load.bottleneck.expect("a bottleneck");
    assert_eq!(found.who, "devices", "{}", found.why);
    let said = "one message in flight each, and an answer takes a round trip of 40 ms: 10 x 1 / 40 ms = 250/s at most, of \
                1000/s offered";
    assert!(found.why.starts_with(said), "{}", found.why);
}

#[test]
fn with_a_connection_per_message_each_message_connects() {
    let link = LinkConfig::symmetric(Duration::from_millis(20));
    let closed = |stack: &str, connection| {
        let mut options = load(stack, 1.0, 40);
        options.clients = 4;
        options.link = Some(link);
        options.connection = connection;
        if let Phase::Publish(offer) = &mut options.phases[1] {
            offer.arrivals = Arrivals::Closed;
        }
        play(&options)
    };
    for (stack, kept_ms, own_ms) in [("http1", 20.0, 40.0), ("mqtt-qos1", 20.0, 60.0)] {
        let (kept, own) = (
            closed(stack, Connection::Kept),
            closed(stack, Connection::PerMessage),
        );
        let figures = |file: &LoadFile| {
            let phase = publish(file);
            let times = phase.response_time_ns.clone().expect("times");
            let lag = phase.schedule_lag_ns.clone().expect("lags");
            assert!(lag.max < 1_000_000, "a connect is no lag of the generator");
            (
                phase.outcomes.acknowledged,
                phase.connects.attempted,
                (times.mean / 1e6).round(),
            )
        };
        assert_eq!(figures(&kept), (40, 0, kept_ms), "{stack}");
        assert_eq!(figures(&own), (40, 40, own_ms), "{stack}");
    }
}

#[test]
fn a_connection_per_message_serves_an_open_loop_and_no_answers() {
    for stack in [
        "mqtt-qos1+tls1.3",
        "tcp",
        "mqtt-qos0",
        "http3",
        "coap-con+dtls1.3",
    ] {
        let mut options = load(stack, 100.0, 50);
        options.clients = 10;
        options.link = Some(LinkConfig::symmetric(Duration::from_millis(10)));
        options.connection = Connection::PerMessage;
        let file = play(&options);
        let phase = publish(&file);
        assert_eq!(
            (phase.outcomes.offered, phase.outcomes.failed),
            (50, 0),
            "{stack}"
        );
        assert_eq!(phase.connects.attempted, 50, "{stack}");
        let arrived = phase.outcomes.acknowledged + phase.outcomes.delivered;
        assert_eq!(arrived, 50, "{stack}: {:?}", phase.outcomes);
    }
}
