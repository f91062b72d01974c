"""A Ray cluster as an executor: `wc.run("sweep.yaml", executor=wc.ray.executor("10.0.0.1:6379"))`."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from ._errors import Refused, Unavailable, Unreachable, UsageError
from ._files import path_of, read_text

# Ray notices a lost node after some seconds, and repeats its tasks this often by itself.
RETRIES = 3
# A cluster that does not answer is given up.
ANSWER_S = 30


class RayExecutor(Executor):
    """Tasks on a Ray cluster, one CPU each. `shutdown` leaves the cluster, and ends one that this process started."""

    def __init__(self, ray: Any, folder: tempfile.TemporaryDirectory[str] | None) -> None:
        self._ray = ray
        self._folder = folder
        self._max_workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._task = ray.remote(num_cpus=1, max_retries=RETRIES)(_call)

    def submit(self, function: Callable[..., Any], /, *args: Any, **keywords: Any) -> Future[Any]:
        """Runs `function` on a node that has a free CPU."""
        future: Future[Any] = self._task.remote(function, args, keywords).future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leaves the cluster; running tasks end with it."""
        self._ray.shutdown()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def executor(
    address: str | None = None, *, token_file: str | Path | None = None, without_token: bool = False, cpus: int | None = None
) -> RayExecutor:
    """An executor of the Ray cluster at `address`, HOST:PORT of its head; without one, of a cluster on this machine.

    The token is that of `token_file`, of RAY_AUTH_TOKEN, or of ~/.ray/auth_token. A cluster that lets anybody in is
    refused, unless `without_token=True`: everybody who reaches it runs programs as its user. A cluster on this machine
    has a token of its own, no dashboard, no usage statistics and a folder that is removed with it.
    """
    if address is not None:
        _check_address(address)
    # Ray reads these when it is imported.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_AUTH_MODE"] = "disabled" if without_token else "token"
    if token_file is not None:
        os.environ["RAY_AUTH_TOKEN"] = _token_of(path_of(token_file))
    elif address is None and not without_token:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    try:
        import ray
    except ImportError:
        raise Unavailable("Ray is not installed here", "pip install 'wirecost[ray]'", code=10) from None
    if ray.is_initialized():
        raise UsageError("this process is connected to Ray already", "call ray.shutdown() before, or keep its executor", code=2)
    quiet: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        folder = tempfile.TemporaryDirectory(prefix="wc-ray-", ignore_cleanup_errors=True)
        ray.init(**quiet, _temp_dir=folder.name, num_cpus=cpus)
        return RayExecutor(ray, folder)
    _reach(address)
    if not without_token and _lets_in(address, token=False):
        raise Refused(
            f"the Ray cluster at {address} lets in everybody who reaches it",
            "start it with RAY_AUTH_MODE=token; without_token=True uses it as it is",
            code=12,
        )
    if not _lets_in(address, token=not without_token):
        raise Refused(
            f"the Ray cluster at {address} refused the token",
            "give the cluster's token: token_file=FILE, or RAY_AUTH_TOKEN",
            code=12,
        )
    del quiet["include_dashboard"]
    ray.init(address, **quiet)
    return RayExecutor(ray, None)


def _call(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return function(*args, **keywords)


def _check_address(address: str) -> None:
    host, mark, port = address.rpartition(":")
    if not mark or not host or not port.isdigit():
        raise UsageError(f"{address!r} is no address of a Ray cluster", "write HOST:PORT, such as 10.0.0.1:6379", code=2)


def _reach(address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError as error:
        text = f"no Ray cluster answers at {address}: {error.strerror or error}"
        raise Unreachable(text, "is its head running, and its port open?", code=11) from None


def _token_of(path: Path) -> str:
    try:
        token = read_text(path, "name the file of the cluster's token").strip()
    except FileNotFoundError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "name the file of the cluster's token", code=2) from None
    if not token:
        raise UsageError(f"{path} has no token", "name the file of the cluster's token", code=2)
    return token


def _lets_in(address: str, *, token: bool) -> bool:
    """Whether the cluster answers, with our token or with none; asked by another process, as Ray reads tokens once."""
    environment = {**os.environ, "RAY_AUTH_MODE": "token" if token else "disabled"}
    if not token:
        # Nor does it find one in the home folder.
        environment.pop("RAY_AUTH_TOKEN", None)
        environment["HOME"] = "/nonexistent"
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        asked = subprocess.run(command, env=environment, capture_output=True, timeout=ANSWER_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return False
    return asked.returncode == 0
