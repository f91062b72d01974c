//! MongoDB's protocol against a server on the BSON codec of PyMongo.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::mqtt::connected;
use crate::common::{eventually, mqtt, wirecost};
use crate::keep::{Storing, broker, publish};
use crate::port::own_port;
use crate::{load, published};

/// The server. Dropping it ends it.
struct Server {
    child: Child,
    port: u16,
    lines: Arc<Mutex<Vec<Value>>>,
    reader: Option<JoinHandle<()>>,
}

/// The Python with the packages of the tests.
fn python() -> Command {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv");
    let python = std::env::var_os("WIRECOST_VENV").map_or_else(beside, PathBuf::from);
    Command::new(python.join("bin/python"))
}

impl Server {
    fn start() -> Self {
        let port = own_port();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = python();
        command
            .arg(folder.join("tests/stores/mongo_server.py"))
            .arg(port.to_string());
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("the Python packages");
        let stdout = BufReader::new(child.stdout.take().expect("stdout"));
        let lines = Arc::new(Mutex::new(Vec::new()));
        let read = {
            let lines = Arc::clone(&lines);
            move || {
                for line in stdout.lines().map_while(Result::ok) {
                    let document = serde_json::from_str(&line).expect("JSON");
                    lines.lock().expect("the lines").push(document);
                }
            }
        };
        eventually("the server listens", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Self {
            child,
            port,
            lines,
            reader: Some(std::thread::spawn(read)),
        }
    }

    /// How many documents it has got so far.
    fn count(&self) -> usize {
        self.lines.lock().expect("the lines").len()
    }

    /// The documents that it got.
    fn documents(&mut self) -> Vec<Value> {
        drop(self.child.kill());
        self.reader.take().expect("the reader").join().expect("JSON");
        std::mem::take(&mut self.lines.lock().expect("the lines"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
#[ignore = "needs the Python packages"]
fn another_codec_of_bson_reads_every_document_and_its_answers_are_read() {
    let mut server = Server::start();
    let url = format!("mongodb://127.0.0.1:{}/readings", server.port);
    let arguments = format!("{url} -c 4 -r 200/s -n 100 --size 20B --inflight 8");
    let publish = published(&load(&arguments));
    assert_eq!(publish["outcomes"]["acknowledged"], 100, "{publish}");
    let documents = server.documents();
    assert_eq!(documents.len(), 100);
    let mut numbers: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for document in &documents {
        let [sender, number] = ["sender", "number"].map(|name| document[name].as_str().expect("a text"));
        numbers.entry(sender).or_default().push(number.to_owned());
    }
    let expected: Vec<String> = (0..25).map(|number: u32| number.to_string()).collect();
    assert_eq!(numbers.len(), 4, "{:?}", numbers.keys());
    assert!(numbers.values().all(|own| *own == expected), "{numbers:?}");
    assert!(documents.iter().all(|document| {
        document["payload"]
            .as_str()
            .is_some_and(|payload| payload.len() == 40)
    }));
}

#[test]
#[ignore = "needs the Python packages"]
fn a_reading_that_only_some_members_of_a_mongodb_have_is_inserted_again() {
    let mut server = Server::start();
    let home = TempDir::new().expect("a folder");
    let (_broker, port) = broker(&home);
    let mut command = wirecost(home.path());
    command.args([
        "store",
        &format!("mqtt://127.0.0.1:{port}/sensors/%23"),
        &format!("mongodb://127.0.0.1:{}/readings", server.port),
    ]);
    let storing = Storing::from_command(command);
    let mut device = connected(SocketAddr::from(([127, 0, 0, 1], port)), 1);
    mqtt::publish(&mut device, "sensors/a", br#"{"step": "down"}"#);
    storing.hears("it takes nothing now, readings are held: the primary steps down (189)");
    eventually("it is inserted again", || server.count() == 2);
    // Its answer is there before that of the next one is.
    mqtt::publish(&mut device, "sensors/b", b"2");
    eventually("the next one is inserted", || server.count() == 3);
    assert_eq!(storing.counts()[..5], [2, 2, 0, 0, 0]);
    let documents = server.documents();
    let sender = |document: &Value| document["sender"].as_str().expect("a text").to_owned();
    let senders: Vec<String> = documents.iter().map(sender).collect();
    assert_eq!(senders, ["sensors/a", "sensors/a", "sensors/b"]);
}

/// A server that the environment names as `mongodb://HOST:PORT`, with databases that are this test's own.
struct Named {
    server: String,
    databases: Vec<String>,
}

impl Named {
    const RUN: &str =
        "import pymongo, sys; client = pymongo.MongoClient(sys.argv[1]); database = client[sys.argv[2]]; ";

    fn of_the_environment() -> Self {
        let server = std::env::var("WIRECOST_MONGODB_URL").expect("WIRECOST_MONGODB_URL names a server");
        Self {
            server: server.trim_end_matches('/').to_owned(),
            databases: Vec::new(),
        }
    }

    /// The URL of a new database.
    fn database(&mut self, name: &str) -> String {
        let database = format!("wirecost_test_{}_{name}", std::process::id());
        let url = format!("{}/{database}", self.server);
        self.databases.push(database);
        url
    }

    fn documents(&self, url: &str) -> u64 {
        let (_, database) = url.rsplit_once('/').expect("a database");
        let done = self.python(database, "print(database.readings.count_documents({}))");
        let done = done.expect("the Python packages");
        assert!(done.status.success(), "{done:?}");
        let count = String::from_utf8(done.stdout).expect("text");
        count.trim().parse().expect("a count")
    }

    fn python(&self, database: &str, what: &str) -> std::io::Result<Output> {
        let program = format!("{}{what}", Self::RUN);
        python().args(["-c", &program, &self.server, database]).output()
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        for database in &self.databases {
            drop(self.python(database, "client.drop_database(sys.argv[2])"));
        }
    }
}

#[test]
#[ignore = "needs a server in WIRECOST_MONGODB_URL and the Python packages"]
fn every_message_that_the_mongodb_of_the_environment_acknowledged_is_a_document() {
    let mut named = Named::of_the_environment();
    let url = named.database("sent");
    let arguments = format!("{url} -c 4 -r 200/s -n 100 --size 20B --inflight 8");
    let publish = published(&load(&arguments));
    assert_eq!(publish["outcomes"]["acknowledged"], 100, "{publish}");
    assert_eq!(named.documents(&url), 100);
}

#[test]
#[ignore = "needs a server in WIRECOST_MONGODB_URL and the Python packages"]
fn readings_expire_in_the_mongodb_of_the_environment_and_stay_in_one_beside_it() {
    let mut named = Named::of_the_environment();
    let (expiring, permanent) = (named.database("expiring"), named.database("permanent"));
    let home = TempDir::new().expect("a folder");
    let (_broker, port) = broker(&home);
    let storing = |url: &str, more: &[&str]| {
        let mut command = wirecost(home.path());
        let broker = format!("mqtt://127.0.0.1:{port}/sensors/%23");
        command.args(["store", &broker, url]).args(more);
        Storing::from_command(command)
    };
    let stores = [storing(&expiring, &["--ttl", "20s"]), storing(&permanent, &[])];
    publish(&home, port, 20);
    eventually("every reading is in both", || {
        [&expiring, &permanent].map(|url| named.documents(url)) == [20, 20]
    });
    // The server looks once a minute.
    let end = Instant::now() + Duration::from_secs(180);
    while named.documents(&expiring) > 0 {
        assert!(Instant::now() < end, "{} are left", named.documents(&expiring));
        std::thread::sleep(Duration::from_secs(2));
    }
    assert_eq!(named.documents(&permanent), 20);
    for store in stores {
        assert_eq!(store.counts()[..2], [20, 20]);
    }
}
