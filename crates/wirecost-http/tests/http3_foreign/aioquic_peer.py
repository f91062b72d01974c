"""A client and a server of HTTP/3 on aioquic, for the tests against ours.

aioquic_peer.py client PORT CA BYTES     posts that many bytes twice, the second time with 0-RTT; prints the statuses
aioquic_peer.py server PORT CERT KEY     answers every request with 204, or with 200 and what was sent
"""

import asyncio
import sys

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.answers = {}
        self.statuses = {}

    def quic_event_received(self, event):
        for got in self.http.handle_event(event):
            if isinstance(got, HeadersReceived):
                self.statuses[got.stream_id] = dict(got.headers)[b":status"].decode()
            if isinstance(got, (HeadersReceived, DataReceived)) and got.stream_ended:
                self.answers[got.stream_id].set_result(self.statuses[got.stream_id])

    async def post(self, body):
        stream = self._quic.get_next_available_stream_id()
        self.answers[stream] = self._loop.create_future()
        head = [(b":method", b"POST"), (b":scheme", b"https"), (b":authority", b"localhost"), (b":path", b"/test")]
        head.append((b"content-length", str(len(body)).encode()))
        self.http.send_headers(stream, head)
        self.http.send_data(stream, body, end_stream=True)
        self.transmit()
        return await asyncio.wait_for(self.answers[stream], 10)


async def client(port, authority, size):
    tickets = []
    for early in (False, True):
        configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name="localhost")
        configuration.load_verify_locations(authority)
        if early:
            configuration.session_ticket = tickets[-1]
        connection = connect(
            "127.0.0.1",
            port,
            configuration=configuration,
            create_protocol=Client,
            session_ticket_handler=tickets.append,
            wait_connected=not early,
        )
        async with connection as peer:
            status = await peer.post(bytes(size))
            peer.request_key_update()
            again = await peer.post(b"after the update")
            accepted = peer._quic.tls.early_data_accepted
            print(status, again, "early" if accepted else "late", flush=True)


class Server(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.bodies = {}

    def quic_event_received(self, event):
        for got in self.http.handle_event(event):
            body = self.bodies.setdefault(got.stream_id, bytearray())
            if isinstance(got, DataReceived):
                body += got.data
            if got.stream_ended:
                self.http.send_headers(got.stream_id, [(b":status", b"200"), (b"x-padding", b"\x80~" * 40)])
                self.http.send_data(got.stream_id, bytes(body), end_stream=True)
                self.transmit()


async def server(port, certificate, key):
    kept = {}
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"])
    configuration.load_cert_chain(certificate, key)
    await serve(
        "127.0.0.1",
        port,
        configuration=configuration,
        create_protocol=Server,
        session_ticket_fetcher=kept.get,
        session_ticket_handler=lambda ticket: kept.__setitem__(ticket.ticket, ticket),
    )
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    role, port, *rest = sys.argv[1:]
    if role == "client":
        asyncio.run(client(int(port), rest[0], int(rest[1])))
    else:
        asyncio.run(server(int(port), *rest))
