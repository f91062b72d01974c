//! fe2o3-amqp: unsettled transfers, up to a hundred of each connection waiting for their disposition.

use std::collections::VecDeque;

use fe2o3_amqp::types::messaging::{Data, Message};
use fe2o3_amqp::types::primitives::Binary;
use fe2o3_amqp::{Connection, Sender, Session};
use load_peers::{Arguments, Meter};

const WINDOW: usize = 100;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments = Arguments::read();
    let url = format!("amqp://{}", arguments.address);
    let mut senders = Vec::new();
    for number in 0..arguments.connections {
        let mut connection = Connection::open(format!("peer-{number}"), url.as_str())
            .await
            .expect("a connection");
        let mut session = Session::begin(&mut connection).await.expect("a session");
        let sender = Sender::attach(&mut session, format!("sender-{number}"), "test")
            .await
            .expect("a link");
        senders.push((connection, session, sender));
    }
    let meter = Meter::start();
    let tasks: Vec<_> = senders
        .into_iter()
        .map(|sender| tokio::spawn(transfer(sender, arguments)))
        .collect();
    for task in tasks {
        task.await.expect("every message is settled");
    }
    meter.finish(arguments.each() * arguments.connections);
}

async fn transfer(
    (_connection, _session, mut sender): (
        fe2o3_amqp::connection::ConnectionHandle<()>,
        fe2o3_amqp::session::SessionHandle<()>,
        Sender,
    ),
    arguments: Arguments,
) {
    let mut waiting = VecDeque::new();
    let message = Message::builder()
        .data(Data(Binary::from(vec![7; arguments.payload])))
        .build();
    for _ in 0..arguments.each() {
        if waiting.len() == WINDOW
            && let Some(oldest) = waiting.pop_front()
        {
            settled(oldest).await;
        }
        waiting.push_back(sender.send_batchable(message.clone()).await.expect("a transfer"));
    }
    for delivery in waiting {
        settled(delivery).await;
    }
}

async fn settled(
    delivery: impl Future<Output = Result<fe2o3_amqp::types::messaging::Outcome, fe2o3_amqp::link::SendError>>,
) {
    delivery
        .await
        .expect("a disposition")
        .accepted_or("not accepted")
        .expect("accepted");
}
