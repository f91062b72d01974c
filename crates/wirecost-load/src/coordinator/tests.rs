use std::cell::Cell;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use wirecost_live::Clock;
use wirecost_live::emulation::Meter;
use wirecost_scenario::options::load::LoadTarget;
use wirecost_stack::target::Target;

use super::*;
use crate::parts::running::Tell;
use crate::parts::usage::Arrived;

/// A target on another machine.
struct Unobservable;

impl Watched for Unobservable {
    fn used(&mut self) -> Option<Used> {
        None
    }

    fn meter(&self) -> Option<&Meter> {
        None
    }

    fn begin(&mut self, _: &Measured) {}

    fn arrived(&mut self, _: &dyn Fn() -> bool) -> Option<Arrived> {
        None
    }
}

#[test]
fn an_interrupt_before_all_parts_are_ready_ends_the_load_at_once() {
    let stack = "mqtt-qos1".parse().expect("a stack");
    let options = LoadOptions::new(stack, LoadTarget::Started(Target::Builtin));
    let (outbox, heard) = channel();
    let told = Arc::<Mutex<Vec<ToPart>>>::default();
    let tell = |told: &Arc<Mutex<Vec<ToPart>>>| -> Tell {
        let told = Arc::clone(told);
        Box::new(move |message| told.lock().expect("a list").push(message))
    };
    let parts = Parts::new(vec![tell(&told), tell(&told)], heard, Vec::new(), || {
        panic!("the coordinator does not wait for parts that are not there")
    });
    // One part is ready. The other never is.
    outbox.send((0, FromPart::Ready)).expect("someone listens");
    let looks = Cell::new(0);
    let outcome = Coordinator::new(
        &options,
        parts,
        CoordinatorContext {
            clock: LoadClock::Live(Clock::start()),
            target: &mut Unobservable,
            watcher: &mut (),
            interrupted: &|| looks.replace(looks.get() + 1) == 2,
            used: &mut Used::default,
            cpus: 2,
            demands: None,
        },
    )
    .run();
    assert!(outcome.interrupted && outcome.phases.is_empty());
    assert_eq!((outcome.failure, looks.get()), (None, 3));
    assert_eq!(*told.lock().expect("a list"), [ToPart::Quit, ToPart::Quit]);
}
