//! A client and a server, with a script that changes the bytes between them.

use std::fmt::Debug;
use std::time::Duration;

use wirecost_proto::Endpoint;

use crate::rig::Rig;
use crate::script::{Fate, Script};

/// More turns than a handshake with retransmissions takes.
const MOST_TURNS: usize = 60;

/// An end that waits for longer only waits for the loss of the other end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Two ends of one flow.
pub(crate) struct Conversation<C: Endpoint, S: Endpoint> {
    pub(crate) client: Rig<C>,
    pub(crate) server: Rig<S>,
}

impl<C: Endpoint<Error: Debug>, S: Endpoint<Error: Debug>> Conversation<C, S> {
    /// Opens a flow between both, on slot 0 of either rig.
    pub(crate) fn open(mut client: Rig<C>, mut server: Rig<S>) -> Self {
        drop((client.take_sent(), server.take_sent()));
        server.open(0);
        client.open(0);
        Self { client, server }
    }

    /// Plays to the end of the handshake, then gives the client each command and plays on.
    pub(crate) fn converse(
        &mut self,
        script: &mut Script<'_>,
        commands: impl IntoIterator<Item = C::Command>,
    ) {
        self.play(script);
        for command in commands {
            self.client.command(Some(command));
            self.play(script);
        }
    }

    /// Carries bytes until none are in transit and no end waits for a near time, or for many turns.
    fn play(&mut self, script: &mut Script<'_>) {
        for _ in 0..MOST_TURNS {
            let sent = carry(&mut self.client, &mut self.server, script);
            let answered = carry(&mut self.server, &mut self.client, script);
            if !sent && !answered && !self.wait() {
                return;
            }
        }
    }

    /// Advances the time to the next time-out; returns false if that is far.
    fn wait(&mut self) -> bool {
        let wakes = [self.client.wakes(), self.server.wakes()];
        let Some(at) = wakes.into_iter().flatten().min() else {
            return false;
        };
        if at.saturating_since(self.client.now()) > PATIENCE {
            return false;
        }
        self.client.wait_until(at);
        self.server.wait_until(at);
        true
    }
}

/// Gives what one end sent to the other; returns whether there was anything.
fn carry<F, T>(from: &mut Rig<F>, to: &mut Rig<T>, script: &mut Script<'_>) -> bool
where
    F: Endpoint<Error: Debug>,
    T: Endpoint<Error: Debug>,
{
    let sent = from.take_sent();
    for bytes in &sent {
        arrive(bytes, to, script.fate());
    }
    if from.has_closed(0) {
        to.peer_closed(0);
    }
    !sent.is_empty()
}

fn arrive<T: Endpoint<Error: Debug>>(bytes: &[u8], to: &mut Rig<T>, fate: Fate) {
    let place = |at: u16| usize::from(at) % bytes.len().max(1);
    match fate {
        Fate::Arrive => to.receive(0, bytes),
        Fate::Change(at, bits) => {
            let mut changed = bytes.to_vec();
            changed
                .iter_mut()
                .skip(place(at))
                .take(1)
                .for_each(|byte| *byte ^= bits);
            to.receive(0, &changed);
        }
        Fate::Split(at) => {
            to.receive(0, &bytes[..place(at)]);
            to.receive(0, &bytes[place(at)..]);
        }
        Fate::Cut(at) => to.receive(0, &bytes[..place(at)]),
        Fate::Lost => {}
        Fate::Twice => (0..2).for_each(|_| to.receive(0, bytes)),
    }
}
