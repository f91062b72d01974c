//! A few threads on which answers are made, however many connections wait for one.
//!
//! An answer takes megabytes while it is made. What the allocator keeps for a thread is as much as the most that the thread has had,
//! so that it is these threads that make answers, and not those of the connections. They keep what others wait for within the CPUs as well.
//! At most [`MOST_WAITING`] tasks wait for these threads. A task whose browser goes while it waits is not run.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The most tasks that wait for a thread.
pub(super) const MOST_WAITING: usize = 32;
/// How often the thread of a connection checks whether its browser has gone while its task waits.
const LOOK: Duration = Duration::from_millis(50);

/// What a thread is to do.
type Task = Box<dyn FnOnce() + Send>;

/// Why nothing was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unmade {
    /// The browser that asked has gone.
    Gone,
    /// As many wait as may.
    Full,
    /// The task failed, which is a defect.
    Defect,
}

/// The threads.
pub(super) struct Drawing {
    waiting: Arc<Waiting>,
}

/// The tasks that wait for a thread.
#[derive(Default)]
struct Waiting {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    /// The number of the next task.
    next: u64,
    tasks: VecDeque<(u64, Task)>,
    /// Whether no further task can come.
    is_over: bool,
}

impl Drawing {
    /// Starts this many threads.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(super) fn start(threads: usize) -> io::Result<Self> {
        let drawing = Self {
            waiting: Arc::default(),
        };
        for _ in 0..threads.max(1) {
            let waiting = Arc::clone(&drawing.waiting);
            thread::Builder::new()
                .name("answers".to_owned())
                .spawn(move || waiting.work())?;
        }
        Ok(drawing)
    }

    /// Waits until a thread has run the task, and returns what the task made. `is_gone` says whether the browser that asked has gone.
    ///
    /// # Errors
    /// The browser has gone, [`MOST_WAITING`] other tasks wait already, or the task fails by a defect.
    pub(super) fn make<T: Send + 'static>(
        &self,
        is_gone: impl Fn() -> bool,
        task: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unmade> {
        if is_gone() {
            return Err(Unmade::Gone);
        }
        let (done, made) = mpsc::sync_channel(1);
        let task = move || drop(done.send(task()));
        let number = self.waiting.add(Box::new(task)).ok_or(Unmade::Full)?;
        loop {
            match made.recv_timeout(LOOK) {
                Ok(made) => return Ok(made),
                Err(RecvTimeoutError::Disconnected) => return Err(Unmade::Defect),
                Err(RecvTimeoutError::Timeout) if is_gone() => {
                    self.waiting.remove(number);
                    return Err(Unmade::Gone);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl Drop for Drawing {
    fn drop(&mut self) {
        self.waiting.queue().is_over = true;
        self.waiting.changed.notify_all();
    }
}

impl Waiting {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a task that waits from now on; `None` where as many wait as may.
    fn add(&self, task: Task) -> Option<u64> {
        let mut queue = self.queue();
        if queue.tasks.len() >= MOST_WAITING {
            return None;
        }
        let number = queue.next;
        queue.next += 1;
        queue.tasks.push_back((number, task));
        drop(queue);
        self.changed.notify_one();
        Some(number)
    }

    /// Takes a task away, unless it has begun.
    fn remove(&self, number: u64) {
        self.queue().tasks.retain(|(other, _)| *other != number);
    }

    /// Does one task after the other, until no further one can come.
    fn work(&self) {
        loop {
            let is_idle = |queue: &mut Queue| queue.tasks.is_empty() && !queue.is_over;
            let next = self.changed.wait_while(self.queue(), is_idle);
            let next = next.unwrap_or_else(PoisonError::into_inner).tasks.pop_front();
            let Some((_, task)) = next else { return };
            // A defect of one answer must not end the thread of all others. Who waits for it sees that nothing comes.
            drop(catch_unwind(AssertUnwindSafe(task)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn is_there() -> bool {
        false
    }

    #[test]
    fn a_task_that_fails_ends_no_thread() {
        let drawing = Drawing::start(1).expect("a thread");
        let fails = || -> u8 { std::panic::resume_unwind(Box::new("a defect")) };
        assert_eq!(drawing.make(is_there, fails), Err(Unmade::Defect));
        assert_eq!(drawing.make(is_there, || 7), Ok(7));
    }

    #[test]
    fn tasks_run_on_the_threads_alone() {
        let drawing = Drawing::start(2).expect("threads");
        let drawing = &drawing;
        let names = thread::scope(|scope| {
            let asked: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| drawing.make(is_there, || thread::current().name().map(str::to_owned)))
                })
                .collect();
            let made = asked
                .into_iter()
                .map(|thread| thread.join().ok().and_then(Result::ok).flatten());
            made.collect::<Vec<_>>()
        });
        assert!(names.iter().all(|name| name.as_deref() == Some("answers")));
    }

    /// Waits until so many tasks wait.
    fn until_waiting(drawing: &Drawing, count: usize) {
        while drawing.waiting.queue().tasks.len() != count {
            thread::yield_now();
        }
    }

    #[test]
    fn tasks_of_who_has_gone_are_not_made_and_too_many_are_refused() {
        let drawing = Drawing::start(1).expect("a thread");
        let (have_gone, were_made) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
        let (end, held) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let first = scope.spawn(|| drawing.make(is_there, move || held.recv().is_err()));
            // Its thread has begun it.
            while drawing.waiting.queue().next == 0 {
                thread::yield_now();
            }
            until_waiting(&drawing, 0);
            let others: Vec<_> = (0..MOST_WAITING)
                .map(|_| {
                    let were_made = Arc::clone(&were_made);
                    let task = move || were_made.store(true, Ordering::Relaxed);
                    scope.spawn(|| drawing.make(|| have_gone.load(Ordering::Relaxed), task))
                })
                .collect();
            until_waiting(&drawing, MOST_WAITING);
            assert_eq!(drawing.make(is_there, || ()), Err(Unmade::Full));
            assert_eq!(drawing.make(|| true, || ()), Err(Unmade::Gone));
            have_gone.store(true, Ordering::Relaxed);
            for other in others {
                assert_eq!(other.join().ok(), Some(Err(Unmade::Gone)));
            }
            until_waiting(&drawing, 0);
            drop(end);
            assert_eq!(first.join().ok(), Some(Ok(true)));
        });
        assert_eq!(drawing.make(is_there, || 7), Ok(7));
        assert!(!were_made.load(Ordering::Relaxed));
    }
}
