"""Certificates for tests: an authority of one's own, and what it signs."""

from __future__ import annotations

import datetime
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


class Certificate(NamedTuple):
    """Files of a server: its certificate, its key, and the authority that signed it."""

    chain: Path
    key: Path
    authority: Path


def signed(folder: Path, *names: str) -> Certificate:
    """A certificate for these names and addresses, by an authority made for it."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _built("test authority", keys[0], keys[0], (), "test authority")
    server = _built("server", keys[1], keys[0], names, "test authority")
    made = Certificate(folder / "server.pem", folder / "server.key", folder / "authority.pem")
    made.authority.write_bytes(authority)
    made.chain.write_bytes(server + authority)
    form = serialization.PrivateFormat.PKCS8
    made.key.write_bytes(keys[1].private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    made.key.chmod(0o600)
    return made


def _built(
    name: str, key: ec.EllipticCurvePrivateKey, by: ec.EllipticCurvePrivateKey, names: tuple[str, ...], issuer: str
) -> bytes:
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(_called(name))
        .issuer_name(_called(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=key is by, path_length=None), critical=True)
    )
    if names:
        alternatives = [x509.IPAddress(ip_address(n)) if n[0].isdigit() else x509.DNSName(n) for n in names]
        made = made.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return made.sign(by, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _called(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
