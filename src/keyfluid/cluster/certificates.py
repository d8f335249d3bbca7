"""The certificate and the key that the processes of a cluster know each other by.

    DIR/cluster.pem   a certificate that vouches for itself; schedulers, workers and clients accept this one only
    DIR/cluster.key   its key, for the owner's eyes; who has it may use the cluster

The folder is that of --certificates, else of the variable KEYFLUID_CERTIFICATES, else keyfluid/cluster in the user's
folder of settings.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from keyfluid.errors import KeyfluidError

CERTIFICATE, KEY = "cluster.pem", "cluster.key"
VARIABLE = "KEYFLUID_CERTIFICATES"
_DAYS = 3650
INSTALL = 'pip install "keyfluid[cluster]"'


def certificates_folder(given: Path | None) -> Path:
    if given is not None:
        return given
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "keyfluid" / "cluster"


def make_certificates(folder: Path) -> None:
    """Write both files; raises where one of them is there already."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise KeyfluidError(f"cluster certificates: requires cryptography; install it: {INSTALL}") from None
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "keyfluid cluster")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    for path in (folder / KEY, folder / CERTIFICATE):
        if os.path.lexists(path):
            raise KeyfluidError(f"{path}: already exists; choose another folder, or remove it")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(folder / KEY, secret, 0o600)
        _write(folder / CERTIFICATE, certificate.public_bytes(serialization.Encoding.PEM), 0o644)
    except OSError as error:
        raise KeyfluidError(f"{folder}: can't be written: {error.strerror}; choose another folder") from None


def security(folder: Path) -> Any:
    """Dask's settings for TLS with the files of a folder; raises where they are missing or damaged."""
    import ssl

    from distributed.security import Security

    certificate, key = folder / CERTIFICATE, folder / KEY
    for path in (certificate, key):
        if not path.is_file():
            raise KeyfluidError(
                f"{path}: is not there; copy it from the machine that started the cluster, or make one: "
                f"keyfluid cluster certificates {folder}"
            )
    try:
        ssl.create_default_context(cafile=certificate).load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError):
        raise KeyfluidError(f"{certificate}: can't be read, or its key does not belong to it; make new ones") from None
    ends = ("scheduler", "worker", "client")
    files = {f"tls_{end}_cert": str(certificate) for end in ends} | {f"tls_{end}_key": str(key) for end in ends}
    return Security(tls_ca_file=str(certificate), require_encryption=True, **files)


def _write(path: Path, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
