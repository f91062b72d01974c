//! MongoDB's protocol against a server on the BSON codec of PyMongo.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use serde_json::Value;

use crate::common::eventually;
use crate::port::own_port;
use crate::{load, published};

/// The server. Dropping it ends it.
struct Server {
    child: Child,
    port: u16,
    lines: Option<JoinHandle<Vec<Value>>>,
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
        let read = move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .map(|line| serde_json::from_str(&line).expect("JSON"))
                .collect()
        };
        eventually("the server listens", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Self {
            child,
            port,
            lines: Some(std::thread::spawn(read)),
        }
    }

    /// The documents that it got.
    fn documents(&mut self) -> Vec<Value> {
        drop(self.child.kill());
        self.lines.take().expect("the lines").join().expect("JSON")
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

/// The environment names a server as `mongodb://HOST:PORT`. The database is this test's own.
#[test]
#[ignore = "needs a server in WIRECOST_MONGODB_URL and the Python packages"]
fn every_message_that_the_mongodb_of_the_environment_acknowledged_is_a_document() {
    const COUNT: &str = "import pymongo, sys; database = pymongo.MongoClient(sys.argv[1])[sys.argv[2]]; \
        print(database.readings.count_documents({})); database.client.drop_database(sys.argv[2])";
    let server = std::env::var("WIRECOST_MONGODB_URL").expect("WIRECOST_MONGODB_URL names a server");
    let server = server.trim_end_matches('/');
    let database = format!("wirecost_test_{}", std::process::id());
    let arguments = format!("{server}/{database} -c 4 -r 200/s -n 100 --size 20B --inflight 8");
    let publish = published(&load(&arguments));
    assert_eq!(publish["outcomes"]["acknowledged"], 100, "{publish}");
    let counted = python().args(["-c", COUNT, server, &database]).output();
    let counted = counted.expect("the Python packages");
    assert_eq!(
        String::from_utf8_lossy(&counted.stdout).trim(),
        "100",
        "{counted:?}"
    );
}
