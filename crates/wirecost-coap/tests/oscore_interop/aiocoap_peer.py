"""aiocoap with OSCORE: aiocoap_peer.py PORT serve|ask SECRET DEVICE, the last two in hex."""

import asyncio
import json
import pathlib
import sys
import tempfile

from aiocoap import GET, PUT, Context, Message, resource
from aiocoap.credentials import CredentialsMap
from aiocoap.oscore_sitewrapper import OscoreSiteWrapper

PATIENCE = 20
PORT, ROLE, SECRET, DEVICE = sys.argv[1:]
HOST = f"coap://127.0.0.1:{PORT}"
SERVER_ID = "01"


def credentials(name, sender, recipient):
    """The security context of one end, under the name that it is used for."""
    folder = pathlib.Path(tempfile.mkdtemp())
    settings = {"secret_hex": SECRET, "sender-id_hex": sender, "recipient-id_hex": recipient}
    (folder / "settings.json").write_text(json.dumps(settings))
    return {name: {"oscore": {"basedir": str(folder)}}}


class Test(resource.ObservableResource):
    """A resource that keeps what was put."""

    def __init__(self):
        super().__init__()
        self.content = b""

    async def render_get(self, request):
        return Message(payload=self.content)

    async def render_put(self, request):
        self.content = request.payload
        self.updated_state()
        return Message()


async def serve():
    site = resource.Site()
    site.add_resource(["test"], Test())
    known = CredentialsMap()
    known.load_from_dict(credentials(":device", SERVER_ID, DEVICE))
    await Context.create_server_context(
        OscoreSiteWrapper(site, known), bind=("127.0.0.1", int(PORT)), server_credentials=known
    )
    print("ready", flush=True)
    await asyncio.sleep(60)


async def answer(context, code, path, payload=b""):
    request = Message(code=code, uri=HOST + path, payload=payload)
    return await asyncio.wait_for(context.request(request).response, PATIENCE)


async def observe(context):
    """Counts the first response and three notifications."""
    request = context.request(Message(code=GET, uri=HOST + "/obs", observe=0))
    await asyncio.wait_for(request.response, PATIENCE)
    count = 1
    async for _ in request.observation:
        count += 1
        if count == 4:
            request.observation.cancel()
            return count


async def ask():
    context = await Context.create_client_context()
    context.client_credentials.load_from_dict(credentials(HOST + "/*", DEVICE, SERVER_ID))
    for size in (0, 20, 1024, 5000):
        content = bytes(at % 251 for at in range(size))
        put = await answer(context, PUT, "/test", content)
        got = await answer(context, GET, "/test")
        print(put.code, got.code, len(got.payload), got.payload == content)
    print((await answer(context, GET, "/nowhere")).code)
    plain = await Context.create_client_context()
    print((await answer(plain, GET, "/test")).code)
    await plain.shutdown()
    print("observed", await asyncio.wait_for(observe(context), PATIENCE))
    await context.shutdown()


asyncio.run({"serve": serve, "ask": ask}[ROLE]())
