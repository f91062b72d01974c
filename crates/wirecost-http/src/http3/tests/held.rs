//! What a server holds for a client.

use std::time::Duration;

use wirecost_proto::pair::FIRST_FLOW;
use wirecost_proto::{Endpoint, Held};
use wirecost_security::Start;

use super::rig::{DELAY, get, post, responses, rig};

const MANY: Duration = Duration::from_secs(5);

#[test]
fn an_answer_is_held_until_the_client_has_acknowledged_it() {
    const BYTES: usize = 20_000;
    let mut rig = rig(Start::Cold);
    rig.open();
    rig.command(post(0, BYTES));
    rig.drive_for(MANY);
    assert_eq!(
        rig.server.held(FIRST_FLOW),
        Held::default(),
        "all is acknowledged"
    );
    rig.command(get(1, "/test"));
    // The request has arrived, and no acknowledgement yet.
    rig.drive_for(DELAY * 3 / 2);
    let held = rig.server.held(FIRST_FLOW).bytes;
    assert!(held > BYTES / 2, "{held} B");
    rig.drive_for(MANY);
    assert_eq!(responses(&rig).len(), 2);
    assert_eq!(rig.server.held(FIRST_FLOW), Held::default());
}
