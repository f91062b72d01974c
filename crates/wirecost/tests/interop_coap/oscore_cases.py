"""The OSCORE interoperability cases with aiocoap: oscore_cases.py PORT CASE. Prints a line for each."""

import asyncio
import json
import pathlib
import socket
import sys
import tempfile

import cbor2
from aiocoap import CHANGED, CON, CONTENT, DELETE, GET, POST, PUT, Context, Message, oscore

PATIENCE = 20
PORT = int(sys.argv[1])
HOST = f"coap://127.0.0.1:{PORT}"
SECRET, SALT = bytes(range(1, 17)), bytes.fromhex("9e7ca92223786340")
ID_CONTEXT = "37cbf3210017a2d3"


def credentials(sender, recipient, id_context=None):
    """The context of a client, in files of its own."""
    folder = pathlib.Path(tempfile.mkdtemp())
    settings = {"secret_hex": SECRET.hex(), "salt_hex": SALT.hex()}
    settings |= {"sender-id_hex": sender, "recipient-id_hex": recipient}
    if id_context is not None:
        settings["id-context_hex"] = id_context
    (folder / "settings.json").write_text(json.dumps(settings))
    return {HOST + "/*": {"oscore": {"basedir": str(folder)}}}


class Client:
    def __init__(self, context):
        self.context = context

    @classmethod
    async def create(cls, *ids):
        context = await Context.create_client_context()
        if ids:
            context.client_credentials.load_from_dict(credentials(*ids))
        return cls(context)

    @property
    def security(self):
        return self.context.client_credentials[HOST + "/*"]

    def request(self, code, path, payload=b"", **options):
        message = Message(code=code, uri=HOST + path, payload=payload)
        for name, value in options.items():
            setattr(message.opt, name, value)
        return self.context.request(message)

    async def ask(self, *what, **options):
        """The code, the options that the response has, and its payload."""
        try:
            response = await asyncio.wait_for(self.request(*what, **options).response, PATIENCE)
        except oscore.NotAProtectedMessage as error:
            return "unprotected", error.plain_message.code.dotted
        except oscore.ProtectionInvalid:
            return ("invalid",)
        shown = [(option.number.name, option.encode().hex()) for option in response.opt.option_list()]
        return response.code.dotted, shown, response.payload


async def hello():
    """TEST_0 to 4: in the clear, with and without an ID context, entity-tag, Max-Age."""
    plain, ab = await Client.create(), await Client.create("", "01")
    cd = await Client.create("", "01", ID_CONTEXT)
    yield await plain.ask(GET, "/oscore/hello/coap")
    yield await ab.ask(GET, "/oscore/hello/1")
    yield await cd.ask(GET, "/oscore/hello/1")
    yield await ab.ask(GET, "/oscore/hello/2?first=1")
    yield await ab.ask(GET, "/oscore/hello/3", accept=0)
    yield await ab.ask(GET, "/oscore/hello/1", observe=0)


async def observe():
    """TEST_6 and 7: an observation that the server ends, and its steps."""
    client = await Client.create("", "01")
    request = client.request(GET, "/oscore/observe1", observe=0)
    first = await asyncio.wait_for(request.response, PATIENCE)
    yield first.payload, first.opt.observe is not None
    async for notification in request.observation:
        yield notification.code.dotted, notification.payload
        if not notification.code.is_successful():
            return


async def methods():
    """TEST_8 to 11: POST, PUT with conditions, DELETE."""
    client = await Client.create("", "01")
    yield await client.ask(POST, "/oscore/hello/6", b"\x4a", content_format=0)
    yield await client.ask(PUT, "/oscore/hello/7", b"\x7a", content_format=0, if_match=[b"\x7b"])
    yield await client.ask(PUT, "/oscore/hello/7", b"\x8a", content_format=0, if_none_match=True)
    yield await client.ask(DELETE, "/oscore/test")


async def errors():
    """TEST_12 to 15 and 17: what is not of the context, not authentic, not fresh, not protected."""
    client = await Client.create("", "01")
    for field in ("sender_id", "sender_key", "recipient_key"):
        right = getattr(client.security, field)
        setattr(client.security, field, bytes(255 - byte for byte in right) or b"spam")
        yield await client.ask(GET, "/oscore/hello/1")
        setattr(client.security, field, right)
    yield (await client.ask(GET, "/oscore/hello/1"))[0]
    client.security.sender_sequence_number -= 1
    yield await client.ask(GET, "/oscore/hello/1")
    plain = await Client.create()
    yield (await plain.ask(GET, "/oscore/hello/1"))[0]


async def without():
    """TEST_16: a server that has no OSCORE."""
    yield await (await Client.create("", "01")).ask(GET, "/oscore/hello/coap")


class Derived(oscore.CanProtect, oscore.CanUnprotect, oscore.SecurityContextUtils):
    """The context of a client for an ID context (RFC 8613 appendix B.2)."""

    alg_aead = oscore.algorithms[oscore.DEFAULT_ALGORITHM]
    hashfun = oscore.hashfunctions[oscore.DEFAULT_HASHFUNCTION]
    sender_id, recipient_id = b"\x01", b"\x02"
    echo_recovery = None

    def __init__(self, id_context):
        self.id_context = id_context
        self.sender_sequence_number = 0
        self.recipient_replay_window = oscore.ReplayWindow(32, lambda: None)
        self.recipient_replay_window.initialize_empty()
        self.derive_keys(SALT, SECRET)

    def post_seqnoincrease(self):
        pass

    def context_of_response(self, r2):
        """What opens response 1: other keys, and the nonce of the request."""
        opens = Derived(r2 + self.id_context)
        opens._construct_nonce = self._construct_nonce
        return opens


class Wire:
    """A socket with message ids."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", PORT))
        self.mid = 0

    def exchange(self, context, code, payload=b"", kid_context=False):
        """Sends a protected request; returns its outer response and what ties that to it."""
        inner = Message(code=code, uri_path=["oscore"], payload=payload)
        outer, binding = context.protect(inner, kid_context=kid_context)
        self.mid += 1
        outer.mtype, outer.mid, outer.token = CON, self.mid, b"t"
        self.sent = outer.encode()
        return self.again(), binding

    def again(self):
        self.socket.send(self.sent)
        return Message.decode(self.socket.recv(2000))


def rederive(wire, id1, first_code):
    """Request 1 and its response; returns R2 and what the response says."""
    context = Derived(id1)
    outer, binding = wire.exchange(context, first_code, kid_context=cbor2.dumps(id1))
    _, _, unprotected, _ = context._extract_encrypted0(outer)
    r2 = cbor2.loads(unprotected[oscore.COSE_KID_CONTEXT])
    opens = context.context_of_response(r2)
    opens.id_context = unprotected[oscore.COSE_KID_CONTEXT]
    inner, _ = opens.unprotect(outer, binding)
    return r2, inner


async def derived_again():
    """OC01 to 03, with contexts that are derived again (appendix B.2)."""
    wire = Wire()
    r2, inner = rederive(wire, b"firsttry", GET)
    yield "OC01", inner.code == CONTENT, bool(inner.payload), len(r2) >= 8
    context = Derived(r2 + b"thirdone")
    outer, binding = wire.exchange(context, DELETE, kid_context=cbor2.dumps(context.id_context))
    yield "OC02", context.unprotect(outer, binding)[0].code.dotted
    recorded = wire.sent
    outer, binding = wire.exchange(context, PUT, b"Hello, OSCORE!")
    yield "OC03", context.unprotect(outer, binding)[0].code == CHANGED
    # What may be an old request is not carried out where it changes something.
    _, inner = rederive(wire, b"second__", DELETE)
    yield "request 1 that changes something", inner.code.dotted
    # Request 2, with another message id, may be an old one by now.
    wire.sent = recorded[:2] + b"\xff\xff" + recorded[4:]
    wire.again()
    outer, binding = wire.exchange(context, GET)
    yield "after a repeated request 2", context.unprotect(outer, binding)[0].payload
    wire.sent = wire.sent[:2] + b"\xff\xfe" + wire.sent[4:]
    yield "a repeated request", wire.again().code.dotted


async def main():
    async for outcome in globals()[sys.argv[2]]():
        print(repr(outcome), flush=True)


asyncio.run(main())
