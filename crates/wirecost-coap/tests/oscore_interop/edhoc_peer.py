"""aiocoap with EDHOC: edhoc_peer.py PORT serve|ask by-key-id|by-value KEY CREDENTIAL PEER_CREDENTIAL, the last three in hex."""

import asyncio
import sys

import cbor2
from aiocoap import GET, PUT, Context, Message, resource
from aiocoap.credentials import CredentialsMap
from aiocoap.oscore_sitewrapper import OscoreSiteWrapper

PATIENCE = 20
PORT, ROLE, STYLE = sys.argv[1:4]
KEY, OWN, PEER = map(bytes.fromhex, sys.argv[4:])
HOST = f"coap://127.0.0.1:{PORT}"


def claims(encoded):
    """A credential in the form of aiocoap, which writes the same bytes again."""
    decoded = cbor2.loads(encoded)
    assert cbor2.dumps(decoded, canonical=True) == encoded
    return {14: decoded}


def credentials(key=KEY):
    """Both ends, under the name that they are used for: elliptic curve 2, P-256, private key."""
    return {
        HOST + "/*": {
            "edhoc-oscore": {
                "suite": 2,
                "method": 3,
                "own_cred_style": STYLE,
                "own_cred": claims(OWN),
                "private_key": {1: 2, -1: 1, -4: key},
                "peer_cred": claims(PEER),
            }
        }
    }


class Test(resource.Resource):
    """A resource that keeps what was put."""

    content = b""

    async def render_get(self, request):
        return Message(payload=self.content)

    async def render_put(self, request):
        self.content = request.payload
        return Message()


async def serve():
    site = resource.Site()
    site.add_resource(["test"], Test())
    known = CredentialsMap()
    known.load_from_dict(credentials())
    await Context.create_server_context(
        OscoreSiteWrapper(site, known), bind=("127.0.0.1", int(PORT)), server_credentials=known
    )
    print("ready", flush=True)
    await asyncio.sleep(60)


async def answer(context, code, payload=b""):
    request = Message(code=code, uri=HOST + "/test", payload=payload)
    return await asyncio.wait_for(context.request(request).response, PATIENCE)


async def ask():
    context = await Context.create_client_context()
    context.client_credentials.load_from_dict(credentials())
    content = bytes(range(20))
    print((await answer(context, PUT, content)).code)
    got = await answer(context, GET)
    print(got.code, len(got.payload), got.payload == content)
    await context.shutdown()
    stranger = await Context.create_client_context()
    stranger.client_credentials.load_from_dict(credentials(bytes([9] * 32)))
    try:
        print((await answer(stranger, GET)).code)
    except Exception:  # what a refusal without protection is to aiocoap depends on its version
        print("refused")
    await stranger.shutdown()


asyncio.run({"serve": serve, "ask": ask}[ROLE]())
