"""Addresses of schedulers: TLS anywhere; plain tcp:// only on this machine, unless somebody insists."""

from __future__ import annotations

import ipaddress
import re

from keyfluid.errors import KeyfluidError

WHY = "Dask runs whatever it is sent, so anyone who reaches the port can run programs as you"

_FORM = re.compile(r"(tls|tcp)://(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(\d{1,5})", re.ASCII)


def is_encrypted(address: str) -> bool:
    return address.startswith("tls://")


def require_address(address: str, insecure: bool) -> str | None:
    """Raise if an address is not allowed; a warning to print where it was allowed by --insecure."""
    match = _FORM.fullmatch(address)
    if match is None or int(match[3]) > 65535:
        raise KeyfluidError(
            f"--cluster {address}: is not an address of a scheduler; give one such as tls://machine:8786"
        )
    if is_encrypted(address) or _is_loopback(match[2]):
        return None
    if not insecure:
        raise KeyfluidError(f"--cluster {address}: is not encrypted; {WHY}: use tls://, or add --insecure")
    return f"--insecure: {address} is not encrypted; {WHY}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
