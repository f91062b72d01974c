//! Our client with RabbitMQ and its AMQP 1.0 plugin. The test starts and stops the broker.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use wirecost_amqp::client::{Client, Command as Ask, Config, Event, Failure, MessageTemplate, SaslConfig};
use wirecost_proto::{Input, Layer, Phase};

use crate::driver::Driver;
use crate::port::own_port;

const PROGRAM: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
const PATIENCE: Duration = Duration::from_secs(120);

/// A broker in its own PID namespace, so that its child processes end with it.
struct Broker {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl Broker {
    fn start() -> Self {
        assert!(
            Path::new(PROGRAM).is_file(),
            "RabbitMQ is missing (sudo apt-get install rabbitmq-server)"
        );
        let folder = tempfile::tempdir().expect("a folder");
        let [port, registrar, distribution] = [(); 3].map(|()| own_port());
        let configuration = format!(
            "listeners.tcp.1 = 127.0.0.1:{port}\nloopback_users = none\namqp1_0.default_user = guest\n\
             log.file = false\n"
        );
        let path = |name: &str| folder.path().join(name);
        fs::write(path("rabbitmq.conf"), configuration).expect("a file");
        fs::write(path("plugins"), "[rabbitmq_amqp1_0].\n").expect("a file");
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]);
        unshare.args(["--kill-child", PROGRAM]);
        unshare.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        for (name, file) in [
            ("HOME", "."),
            ("RABBITMQ_MNESIA_BASE", "mnesia"),
            ("RABBITMQ_LOG_BASE", "log"),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", "plugins"),
            ("RABBITMQ_CONFIG_FILE", "rabbitmq.conf"),
            ("RABBITMQ_CONF_ENV_FILE", "none"),
        ] {
            unshare.env(name, path(file));
        }
        unshare
            .env("RABBITMQ_NODENAME", format!("test{port}@localhost"))
            .env("RABBITMQ_DIST_PORT", distribution.to_string())
            .env("ERL_EPMD_PORT", registrar.to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .stdout(File::create(path("log.txt")).expect("a file"))
            .stderr(Stdio::null());
        let child = unshare.spawn().expect("unshare");
        let mut broker = Self {
            child,
            port,
            _folder: folder,
        };
        broker.wait_until_ready();
        broker
    }

    fn wait_until_ready(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while !is_ready(self.port) {
            let ended = self.child.try_wait().expect("a child");
            assert_eq!(ended, None, "the broker ended");
            assert!(Instant::now() < deadline, "the broker is not ready");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A client whose connection is open or has failed.
    fn connect(&self, config: Config) -> Driver<Client> {
        let mut driver = Driver::new(Client::new(config));
        driver.connect(self.port);
        driver.run_until(|driver| !driver.events.is_empty());
        driver
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_ready(port: u16) -> bool {
    let mut answer = [0; 8];
    let asked = TcpStream::connect(("127.0.0.1", port)).and_then(|mut stream| {
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(b"AMQP\x03\x01\x00\x00")?;
        stream.read_exact(&mut answer)
    });
    asked.is_ok() && answer == *b"AMQP\x03\x01\x00\x00"
}

#[test]
#[ignore = "needs root and rabbitmq-server"]
fn rabbitmq_accepts_our_messages() {
    let broker = Broker::start();
    sends_settled_and_unsettled(&broker);
    logs_in_with_name_and_password(&broker);
    refuses_unknown_addresses(&broker);
}

fn sends_settled_and_unsettled(broker: &Broker) {
    for settled in [false, true] {
        let mut driver = broker.connect(Config {
            settled,
            ..Config::default()
        });
        assert_eq!(driver.events, [Event::Opened]);
        for (message, bytes) in (0..).zip([0, 128, 300_000]) {
            let template = Arc::new(MessageTemplate::new(vec![7; bytes]));
            driver.input(Input::Command(Ask::Send { message, template }));
        }
        let expected = if settled { 4 } else { 7 };
        driver.run_until(|driver| driver.events.len() >= expected);
        let of = |wanted: fn(u64) -> Event| [0, 1, 2].map(wanted);
        let is_sent = |event: &Event| matches!(event, Event::Sent { .. });
        let (sent, others): (Vec<Event>, Vec<Event>) = driver.events.drain(1..).partition(is_sent);
        assert_eq!(sent, of(|message| Event::Sent { message }));
        match settled {
            true => assert_eq!(others, []),
            false => assert_eq!(others, of(|message| Event::Acknowledged { message })),
        }
        driver.input(Input::Command(Ask::Close));
        driver.run_until(|driver| driver.closed == 1);
        assert_eq!(driver.events.last(), Some(&Event::Closed { error: None }));
        let kind = |phase| driver.consumed.get(&(Layer::Application, phase)).copied();
        assert_eq!(kind(Phase::Message).is_some(), !settled);
        assert_eq!(kind(Phase::Close), Some(15));
        assert_eq!(driver.consumed.values().sum::<u64>(), driver.received);
    }
}

fn logs_in_with_name_and_password(broker: &Broker) {
    let plain = |password: &str| Config {
        sasl: SaslConfig::Plain {
            user: "guest".into(),
            password: password.into(),
        },
        ..Config::default()
    };
    assert_eq!(broker.connect(plain("guest")).events, [Event::Opened]);
    let refused = broker.connect(plain("wrong"));
    assert_eq!(refused.events, [Event::Failed(Failure::Authentication(1))]);
}

fn refuses_unknown_addresses(broker: &Broker) {
    let driver = broker.connect(Config {
        target: "/exchange/none/test".into(),
        ..Config::default()
    });
    assert!(
        matches!(
            driver.events.first(),
            Some(Event::Failed(Failure::Ended(Some(_))) | Event::Closed { error: Some(_) })
        ),
        "{:?}",
        driver.events
    );
}
