"""aiocoap with OSCORE and without: aiocoap_oscore.py PORT CLIENT_ID SERVER_ID SECRET SALT, all but the port in hex."""

import asyncio
import json
import pathlib
import sys
import tempfile

from aiocoap import GET, PUT, Context, Message

PATIENCE = 20
PORT, CLIENT_ID, SERVER_ID, SECRET, SALT = sys.argv[1:]
HOST = f"coap://127.0.0.1:{PORT}"


async def protected(secret):
    """A client whose messages to the server are all protected."""
    folder = pathlib.Path(tempfile.mkdtemp())
    settings = {"secret_hex": secret, "salt_hex": SALT, "sender-id_hex": CLIENT_ID, "recipient-id_hex": SERVER_ID}
    (folder / "settings.json").write_text(json.dumps(settings))
    context = await Context.create_client_context()
    context.client_credentials.load_from_dict({HOST + "/*": {"oscore": {"basedir": str(folder)}}})
    return context


async def ask(context, code, payload=b""):
    request = Message(code=code, uri=HOST + "/test", payload=payload)
    return await asyncio.wait_for(context.request(request).response, PATIENCE)


async def observe(context):
    """Counts the first response and a notification."""
    request = context.request(Message(code=GET, uri=HOST + "/obs", observe=0))
    await asyncio.wait_for(request.response, PATIENCE)
    async for _ in request.observation:
        request.observation.cancel()
        return 2


async def main():
    context = await protected(SECRET)
    print((await ask(context, PUT, b"protected")).code)
    got = await ask(context, GET)
    print(got.code, got.payload.decode())
    print("observed", await asyncio.wait_for(observe(context), PATIENCE))
    plain = await Context.create_client_context()
    print((await ask(plain, GET)).code)
    stranger = await protected("ff" * 16)
    try:
        print((await ask(stranger, GET)).code)
    except Exception:  # what an unprotected refusal is to aiocoap depends on its version
        print("refused")
    for each in (context, plain, stranger):
        await each.shutdown()


asyncio.run(main())
