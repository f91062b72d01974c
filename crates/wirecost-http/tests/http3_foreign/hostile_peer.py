"""Peers that break rules of HTTP/3, on aioquic's QUIC, for the tests against our endpoints.

hostile_peer.py client PORT CA              a connection for each line of stdin
hostile_peer.py server PORT CERT KEY CASE.. a connection for each case

A case is a list of `uni HEX`, `bidi HEX` (a client's request stream) or `answer HEX` (a server's, on the first request), separated
by semicolons; `-fin` behind the word ends the stream. What came of it is a line, of a server behind the case: the code that the
other side closed the connection or reset the stream with, or `answer`.
"""

import asyncio
import sys

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, StreamDataReceived, StreamReset


class Peer(QuicConnectionProtocol):
    case = ""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.outcome = asyncio.get_running_loop().create_future()

    def act(self, words, stream=None):
        for action in self.case.split(";"):
            word, _, text = action.strip().partition(" ")
            word, _, fin = word.partition("-")
            if word not in words:
                continue
            at = stream if word == "answer" else None
            if at is None:
                at = self._quic.get_next_available_stream_id(is_unidirectional=word == "uni")
            self._quic.send_stream_data(at, bytes.fromhex(text), bool(fin))
        self.transmit()

    def end(self, outcome):
        if not self.outcome.done():
            self.outcome.set_result(outcome)

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            self.end(f"connection {event.error_code:#x}")
        elif isinstance(event, StreamReset):
            self.end(f"stream {event.error_code:#x}")
        elif isinstance(event, StreamDataReceived) and event.stream_id % 4 == 0:
            self.end("answer")


async def client(port, authority):
    for line in sys.stdin:
        Peer.case = line.strip()
        configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name="localhost")
        configuration.load_verify_locations(authority)
        async with connect("127.0.0.1", port, configuration=configuration, create_protocol=Peer) as peer:
            peer.act(("uni", "bidi"))
            try:
                print(await asyncio.wait_for(peer.outcome, 5), flush=True)
            except asyncio.TimeoutError:
                print("nothing", flush=True)


class Server(Peer):
    cases = []

    def end(self, outcome):
        # A packet behind the end of a connection begins one that comes to no handshake, and has no case.
        if self.case and outcome != "answer":
            print(f"{self.case}: {outcome}", flush=True)

    def quic_event_received(self, event):
        # Not before the request: what waits for a stream would go out on another connection.
        if isinstance(event, StreamDataReceived) and event.stream_id == 0 and event.end_stream:
            self.case = Server.cases.pop(0) if Server.cases else ""
            self.act(("uni", "answer"), 0)
        super().quic_event_received(event)


async def server(port, certificate, key, *cases):
    Server.cases = list(cases)
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"])
    configuration.load_cert_chain(certificate, key)
    await serve("127.0.0.1", port, configuration=configuration, create_protocol=Server)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    role, port, *rest = sys.argv[1:]
    asyncio.run(client(int(port), *rest) if role == "client" else server(int(port), *rest))
