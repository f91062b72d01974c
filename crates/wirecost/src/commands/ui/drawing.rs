//! A few threads on which answers are made, however many connections wait for one.
//!
//! An answer takes megabytes while it is made. What the allocator keeps for a thread is as much as the most that the thread has had,
//! so that it is these threads that make answers, and not those of the connections. They keep what others wait for within the CPUs as well.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// What a thread is to do.
type Task = Box<dyn FnOnce() + Send>;

/// The threads.
pub(super) struct Drawing {
    tasks: Sender<Task>,
}

impl Drawing {
    /// Starts this many threads.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(super) fn start(threads: usize) -> io::Result<Self> {
        let (tasks, waiting) = mpsc::channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..threads.max(1) {
            let waiting = Arc::clone(&waiting);
            thread::Builder::new()
                .name("answers".to_owned())
                .spawn(move || work(&waiting))?;
        }
        Ok(Self { tasks })
    }

    /// What a task makes, once it is its turn; `None` where it fails by a defect.
    pub(super) fn make<T: Send + 'static>(&self, task: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (done, made) = mpsc::sync_channel(1);
        let task = move || drop(done.send(task()));
        self.tasks.send(Box::new(task)).ok()?;
        made.recv().ok()
    }
}

/// Does one task after the other, until no further one can come.
fn work(waiting: &Mutex<Receiver<Task>>) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(task) = next else { return };
        // A defect of one answer must not end the thread of all others. Who waits for it sees that nothing comes.
        drop(catch_unwind(AssertUnwindSafe(task)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_fails_ends_no_thread() {
        let drawing = Drawing::start(1).expect("a thread");
        let fails = || -> u8 { std::panic::resume_unwind(Box::new("a defect")) };
        assert_eq!(drawing.make(fails), None);
        assert_eq!(drawing.make(|| 7), Some(7));
    }

    #[test]
    fn tasks_run_on_the_threads_alone() {
        let drawing = Drawing::start(2).expect("threads");
        let drawing = &drawing;
        let names = thread::scope(|scope| {
            let asked: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| drawing.make(|| thread::current().name().map(str::to_owned))))
                .collect();
            let made = asked
                .into_iter()
                .map(|thread| thread.join().ok().flatten().flatten());
            made.collect::<Vec<_>>()
        });
        assert!(names.iter().all(|name| name.as_deref() == Some("answers")));
    }
}
