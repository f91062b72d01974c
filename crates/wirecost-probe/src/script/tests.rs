use super::*;
use crate::client::Client;
use crate::event::{Refusal, RefusalKind};
use crate::monitor::Monitor;

/// The script as the driver sees it.
struct Rig(ProbeScript);

impl Rig {
    fn new(url: &str, set: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::new(url.parse().expect("a URL"));
        set(&mut options);
        Self(ProbeScript::new(&options))
    }

    fn next(&mut self, millis: u64, transmitted: u64) -> Action<Command> {
        let context = Context {
            now: Instant::from_millis(millis),
            link_busy_until: Instant::START,
            cpu: Duration::ZERO,
            transmitted,
            congested: false,
        };
        Script::<Monitor<Client>>::next(&mut self.0, context)
    }

    fn handle(&mut self, kind: ProbeEvent, position: [u64; 2]) {
        let event = Event {
            kind,
            position: StreamPosition(position.into()),
            first_bytes: Vec::new(),
        };
        self.0.handle(event, Instant::from_millis(1));
    }

    fn steps(self) -> Vec<(Step, [u64; 2])> {
        let marks = self.0.into_notes().marks;
        marks
            .iter()
            .map(|mark| (mark.step, [mark.position.0.up, mark.position.0.down]))
            .collect()
    }
}

#[test]
fn steps_begin_where_the_ones_before_them_ended() {
    let mut rig = Rig::new("mqtts://host", |_| {});
    assert_eq!(rig.next(0, 0), Action::Connect);
    rig.handle(ProbeEvent::Opened, [0, 0]);
    let negotiated = None;
    rig.handle(
        ProbeEvent::Established {
            start: Start::Cold,
            negotiated,
        },
        [200, 900],
    );
    rig.handle(ProbeEvent::Ready(Vec::new()), [300, 1_000]);
    assert_eq!(rig.next(1, 300), Action::Command(SEND));
    rig.handle(ProbeEvent::Answered(Vec::new()), [500, 1_100]);
    assert_eq!(rig.next(1, 500), Action::Command(Command::Close));
    rig.handle(ProbeEvent::PeerClosed, [550, 1_150]);
    assert_eq!(rig.next(1, 550), Action::Finished);
    let expected = [
        (Step::Connect, [0, 0]),
        (Step::Security, [0, 0]),
        (Step::Open, [200, 900]),
        (Step::Message, [300, 1_000]),
        (Step::Close, [500, 1_100]),
    ];
    assert_eq!(rig.steps(), expected);
}

#[test]
fn what_nothing_answers_is_over_when_it_has_left() {
    let mut rig = Rig::new("mqtt://host", |options| options.qos = 0);
    assert_eq!(rig.next(0, 0), Action::Connect);
    rig.handle(ProbeEvent::Opened, [0, 0]);
    rig.handle(ProbeEvent::Ready(Vec::new()), [19, 8]);
    assert_eq!(rig.next(1, 19), Action::Command(SEND));
    rig.handle(ProbeEvent::Sent, [19, 8]);
    assert_eq!(rig.next(1, 158), Action::Command(Command::Close));
    assert_eq!(rig.steps().last(), Some(&(Step::Close, [158, 8])));
}

#[test]
fn a_ticket_is_fetched_by_a_connection_of_its_own() {
    let mut rig = Rig::new("h3://host", |options| options.start = Start::ZeroRtt);
    assert_eq!(rig.next(0, 0), Action::Connect);
    rig.handle(ProbeEvent::Ready(Vec::new()), [2, 2]);
    assert!(
        matches!(rig.next(2, 2), Action::Wait(Some(_))),
        "the ticket may be on its way"
    );
    assert_eq!(rig.next(1_000, 2), Action::Command(Command::Close));
    rig.handle(ProbeEvent::Closing, [3, 2]);
    assert_eq!(rig.next(1_001, 3), Action::Connect);
    rig.handle(ProbeEvent::Ready(Vec::new()), [0, 0]);
    assert_eq!(rig.next(1_001, 0), Action::Command(SEND));
    let names: Vec<Step> = rig.steps().into_iter().map(|(step, _)| step).collect();
    assert_eq!(names, [Step::Ticket, Step::Security, Step::Message]);
}

#[test]
fn the_first_trouble_is_noted_with_its_step() {
    let mut rig = Rig::new("mqtt://host", |_| {});
    assert_eq!(rig.next(0, 0), Action::Connect);
    rig.handle(ProbeEvent::Opened, [0, 0]);
    let refusal = Refusal::new(RefusalKind::Authentication, "CONNACK 0x87");
    rig.handle(ProbeEvent::Trouble(Trouble::Rejected(refusal.clone())), [19, 4]);
    rig.handle(ProbeEvent::PeerClosed, [19, 4]);
    assert_eq!(rig.next(1, 19), Action::Finished);
    let trouble = rig
        .0
        .into_notes()
        .trouble
        .map(|(step, trouble, _)| (step, trouble));
    assert_eq!(trouble, Some((Step::Open, Trouble::Rejected(refusal))));
}

#[test]
fn a_step_has_its_time_and_no_more() {
    let mut rig = Rig::new("amqp://host", |options| {
        options.timeout = Duration::from_millis(5)
    });
    assert_eq!(rig.next(0, 0), Action::Connect);
    assert_eq!(rig.next(4, 0), Action::Wait(Some(Instant::from_millis(5))));
    assert_eq!(rig.next(5, 0), Action::Finished);
    let trouble = rig.0.into_notes().trouble;
    assert_eq!(
        trouble,
        Some((Step::Connect, Trouble::TimedOut, Duration::from_millis(5)))
    );
}
