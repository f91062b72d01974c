//! Ways from the broker into a store: of one store, or of two, of which the second keeps what expires in the first.

use std::time::Duration;

use wirecost_live::Clock;
use wirecost_live::driver::client::{ClientLoop, LoadDevice};
use wirecost_live::driver::sources::Sources;
use wirecost_live::signals::Interrupt;
use wirecost_proto::bare::Transport;
use wirecost_security::tls;
use wirecost_stack::url::Url;
use wirecost_store::keeper::Keeper;

use super::aside::AsideFile;
use super::asking::Asking;
use super::director::{BROKER, STORE, StoreDirector, Voice};
use super::part::Part;
use super::{address, client, kind_of, shown, subscribe, subscriber, tls_of};
use crate::arguments::StoreArguments;
use crate::exit::Failure;
use crate::output;

/// The variables with the passwords of the users of the store and of the store behind it.
const STORE_PASSWORD: &str = "WIRECOST_STORE_PASSWORD";
const BEHIND_PASSWORD: &str = "WIRECOST_BEHIND_PASSWORD";
/// How often the main thread looks for Ctrl-C.
const PAUSE: Duration = Duration::from_millis(50);

/// The place of a store: it has a way from the broker of its own, with a subscription, a password and words of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// STORE.
    First,
    /// The one of `--behind`.
    Behind,
}

impl Place {
    /// The variable with the password of the store's user.
    pub(super) const fn password_variable(self) -> &'static str {
        match self {
            Self::First => STORE_PASSWORD,
            Self::Behind => BEHIND_PASSWORD,
        }
    }

    /// What comes before its words.
    const fn prefix(self) -> &'static str {
        match self {
            Self::First => "",
            Self::Behind => "behind: ",
        }
    }
}

/// A way from the broker into a store: its two devices, and what they do.
pub(super) struct Way {
    place: Place,
    devices: [LoadDevice<Part>; 2],
    pub(super) director: StoreDirector,
}

/// The arguments of the way into the store behind: its readings stay, and its session and its file are its own. Refuses the first store.
pub(super) fn behind(arguments: &StoreArguments, store: &Url) -> Result<StoreArguments, Failure> {
    if shown(store) == shown(&arguments.store) {
        let message = format!(
            "--behind must be another database than STORE, got {}",
            shown(store)
        );
        return Err(Failure::usage(message).with_hint("name another database, or leave out --behind"));
    }
    let mut set_aside = arguments.set_aside.clone().into_os_string();
    set_aside.push(".behind");
    Ok(StoreArguments {
        store: store.clone(),
        behind: None,
        // The store in front deletes after a while; the one behind is there to have all.
        ttl: None,
        // One page shows one way, and its port can be bound once.
        dashboard: None,
        // Two clients of one name would end each other's connection in turn [MQTT-3.1.4-3].
        client_id: arguments.client_id.as_ref().map(|id| format!("{id}-behind")),
        // The first store's password is not sent to another server.
        store_password_file: None,
        set_aside: set_aside.into(),
        ..arguments.clone()
    })
}

impl Way {
    /// A way that does not run yet.
    pub(super) fn from_place(
        place: Place,
        arguments: &StoreArguments,
        clock: Clock,
    ) -> Result<Self, Failure> {
        let kind = kind_of(arguments)?;
        let subscriber = subscriber(arguments, clock)?;
        let subscribe = subscribe(arguments)?;
        let (client, settings) = client(arguments, kind, place)?;
        let client = match arguments.store_tls {
            false => Part::Store(Box::new(client)),
            true => {
                let config = tls_of(arguments, clock, &arguments.store.host)?;
                Part::SecureStore(Box::new(Asking::new(tls::Client::new(config, client))))
            }
        };
        let parts = [
            (subscriber, address(&arguments.broker, "broker")?),
            (client, address(&arguments.store, "store")?),
        ];
        debug_assert_eq!((BROKER, STORE), (0, 1), "the order of the parts");
        let devices = parts.map(|(endpoint, remote)| LoadDevice {
            endpoint,
            transport: Transport::Stream,
            remote,
        });
        let aside = AsideFile::new(arguments.set_aside.clone());
        let voice = Voice::new(arguments.quiet, place.prefix());
        Ok(Self {
            place,
            devices,
            director: StoreDirector::new(Keeper::new(settings), aside, subscribe, voice),
        })
    }
}

/// Runs the ways until all have ended. An interrupt ends all of them, and so does one that could not begin.
pub(super) fn follow(
    ways: impl Iterator<Item = Way>,
    clock: Clock,
    interrupt: &Interrupt,
) -> Result<Vec<(Place, StoreDirector)>, Failure> {
    let mut threads = Vec::new();
    for way in ways {
        let running = ClientLoop::for_load(way.devices, way.director, clock, Sources::any());
        let running = running.map_err(Failure::internal)?;
        threads.push((
            way.place,
            running.waker(),
            std::thread::spawn(move || running.run()),
        ));
    }
    let mut is_told = false;
    while !threads.iter().all(|(_, _, thread)| thread.is_finished()) {
        let has_ended = threads.iter().any(|(_, _, thread)| thread.is_finished());
        // One that has ended could not begin. The other alone would look as if both stores were filled.
        if (interrupt.is_set() || has_ended) && !std::mem::replace(&mut is_told, true) {
            for (_, waker, _) in &threads {
                waker.wake().map_err(Failure::internal)?;
            }
        }
        std::thread::sleep(PAUSE);
    }
    let ended = threads.into_iter().map(|(place, _, thread)| {
        let ended = thread
            .join()
            .map_err(|_| Failure::internal("the store's thread panicked; please report this"))?;
        Ok((place, ended.map_err(Failure::internal)?.director))
    });
    ended.collect()
}

/// Prints how the readings of a way ended.
pub(super) fn print_counts(place: Place, director: &StoreDirector) {
    let counts = director.keeper.counts();
    output::data(format_args!(
        "{}received {}  stored {}  refused {}  lost {}  held {}  sent again {}  set aside {}  delivered again {}\n",
        place.prefix(),
        counts.received,
        counts.stored,
        counts.refused,
        counts.lost,
        director.keeper.held(),
        counts.resent,
        counts.set_aside,
        counts.redelivered
    ));
}
