//! Connections are answered on threads, of which there is a bounded number.

use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use wirecost_live::entrance::Entrance;

use super::Response;

/// How long to wait where no connection can be accepted, for example without a descriptor.
const NO_CONNECTION: Duration = Duration::from_millis(100);
/// How long to wait for the threads of connections whose places were taken: they see it at once, unless they work.
const NO_THREAD: Duration = Duration::from_millis(100);

/// Answers the request of every connection, each on a thread of its own, `most` at once. A further connection takes the place
/// of one that stalls. Returns never.
pub fn answer_all<F>(listener: &TcpListener, most: usize, answer: F)
where
    F: Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static,
{
    let (entrance, answer) = (Entrance::new(most), Arc::new(answer));
    // The thread of a connection whose place was taken works on for a moment.
    let threads = Threads::new(2 * most);
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            thread::sleep(NO_CONNECTION);
            continue;
        };
        // The peer has gone already.
        let Ok(place) = entrance.enter(&stream) else {
            continue;
        };
        let Some(thread) = threads.enter() else {
            refuse(&stream);
            continue;
        };
        let answer = Arc::clone(&answer);
        let body = move || {
            // A peer that leaves early does no harm.
            drop(answer(stream));
            // Only now another connection may take it: the answer is written.
            drop(place);
            drop(thread);
        };
        // Without a thread, the end of the connection is the answer.
        drop(thread::Builder::new().spawn(body));
    }
}

/// Answers a connection for which there is no thread. Its request is not read.
fn refuse(stream: &TcpStream) {
    let words = "this server answers as many as it can: ask again in some seconds\n";
    let response = Response::plain("503 Service Unavailable", words);
    let text = response.head() + response.content;
    // So little fits in the buffer of a socket that has sent nothing; it must not keep others waiting.
    if stream.set_nonblocking(true).is_ok() {
        drop((&*stream).write_all(text.as_bytes()));
    }
}

/// Threads of which there are at most so many.
struct Threads {
    most: usize,
    running: Mutex<usize>,
    ended: Condvar,
}

/// A thread that may run. It has ended when this is dropped.
struct Running(Arc<Threads>);

impl Threads {
    fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            running: Mutex::default(),
            ended: Condvar::new(),
        })
    }

    /// A further thread; `None` where as many run, and go on for a moment.
    fn enter(self: &Arc<Self>) -> Option<Running> {
        let running = self.running();
        let waited = self
            .ended
            .wait_timeout_while(running, NO_THREAD, |running| *running >= self.most);
        let (mut running, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *running >= self.most {
            return None;
        }
        *running += 1;
        Some(Running(Arc::clone(self)))
    }

    fn running(&self) -> MutexGuard<'_, usize> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        *self.0.running() -= 1;
        self.0.ended.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_threads_as_were_asked_for() {
        let threads = Threads::new(2);
        let (first, second) = (threads.enter().unwrap(), threads.enter().unwrap());
        assert!(threads.enter().is_none());
        drop(first);
        let third = threads.enter();
        assert!(third.is_some() && threads.enter().is_none());
        drop((second, third));
        assert_eq!(*threads.running(), 0);
    }
}
