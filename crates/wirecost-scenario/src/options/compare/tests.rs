use super::*;
use crate::options::content::Contents;

/// A comparison of `stacks` that can be run.
pub(crate) fn options(stacks: &[&str]) -> Options {
    let stacks = stacks.iter().map(|stack| stack.parse().expect("a stack"));
    Options {
        engine: Engine::Live,
        samples: 10,
        ..Options::new(stacks.collect())
    }
}

/// What is wrong with a comparison of MQTT that `change` has changed.
fn refusal(change: impl FnOnce(&mut Options)) -> String {
    let mut options = options(&["mqtt-qos1"]);
    change(&mut options);
    options.validate().expect_err("absurd").to_string()
}

fn size_of(bytes: u64) -> Contents {
    Contents::Sizes(vec![ByteSize::from_bytes(bytes)])
}

#[test]
fn what_can_be_run_is_valid() {
    assert_eq!(options(&["tcp", "mqtt-qos1", "coap-con"]).validate(), Ok(()));
}

#[test]
fn more_than_memory_or_a_day_holds_is_refused_by_the_keys_name() {
    let size = refusal(|options| options.contents = size_of(100_000_000_000));
    assert!(size.contains("size must be at most 1GB"), "{size}");
    let messages = refusal(|options| options.schedules[0].messages = u64::MAX);
    assert!(messages.contains("messages_per_connection must be"), "{messages}");
    let payload = refusal(|options| {
        options.contents = size_of(1_000_000_000);
        options.samples = 1_000;
    });
    assert!(payload.contains("2000 GB"), "{payload}");
    let devices = refusal(|options| options.samples = u32::MAX);
    assert!(devices.contains("take fewer"), "{devices}");
}

#[test]
fn a_keep_alive_must_let_the_link_settle() {
    let short = refusal(|options| options.keep_alive = 1);
    assert!(short.contains("keep_alive: 1s leaves"), "{short}");
    let mut never = options(&["mqtt-qos1"]);
    never.keep_alive = 0;
    assert_eq!(never.validate(), Ok(()));
    let mut without_mqtt = options(&["coap-con"]);
    without_mqtt.keep_alive = 1;
    assert_eq!(without_mqtt.validate(), Ok(()));
}

#[test]
fn virtual_time_knows_no_foreign_servers() {
    let text = refusal(|options| {
        options.engine = Engine::Sim;
        options.target = Target::Mosquitto;
    });
    assert!(
        text.contains("leave out mosquitto, or take the engine live"),
        "{text}"
    );
}

#[test]
fn devices_share_a_link_in_virtual_time_only() {
    let shared = Some(SharedLink { spread: None });
    let text = refusal(|options| options.shared_link = shared);
    assert!(text.contains("take the engine sim"), "{text}");
    let mut simulated = options(&["coap-con"]);
    (simulated.engine, simulated.shared_link, simulated.samples) = (Engine::Sim, shared, 100_000);
    let text = simulated.validate().expect_err("no interval").to_string();
    assert!(text.contains("at an interval: give them one"), "{text}");
    simulated.schedules[0].interval = Some(Duration::from_secs(60));
    assert_eq!(simulated.validate(), Ok(()));
}

#[test]
fn many_cells_are_no_reason_to_refuse() {
    let mut many = options(&["coap-con", "tcp"]);
    many.contents = Contents::Sizes((1..=1_000).map(ByteSize::from_bytes).collect());
    many.samples = 150;
    assert_eq!(many.validate(), Ok(()));
}

#[test]
fn differences_are_said_field_by_field() {
    let earlier = options(&["tcp", "coap-con"]);
    let mut now = options(&["tcp", "udp"]);
    now.seed = 1;
    now.links[0].up.loss = wirecost_link::Loss::Bernoulli("5%".parse().expect("a probability"));
    let text = |options: &Options| serde_saphyr::to_string(options).expect("YAML");
    let (earlier, now) = (text(&earlier), text(&now));
    assert_eq!(
        wirecost_results::resume::scenario_differences(&earlier, &earlier),
        Vec::<String>::new()
    );
    assert_eq!(
        wirecost_results::resume::scenario_differences(&earlier, &now),
        [
            "links now has delay 12500us, loss 5% up 0% down and no longer delay 12500us",
            "seed was 42, is 1",
            "stacks now has udp and no longer coap-con",
        ]
    );
}
