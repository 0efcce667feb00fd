"""Amazon's side of a signed request: credentials of a test, and a check of signatures (version 4)."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import pytest

KEY_ID, KEY = "AKIDEXAMPLE", "very-secret-key"


def set_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """These credentials, and nothing of this machine's."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)


def check_signature(path: str, headers: dict[str, str], body: bytes, region: str) -> None:
    """That a POST request is signed with the credentials of the test, for Bedrock in this region."""
    given = {name.lower(): value for name, value in headers.items()}
    algorithm, _, fields = given["authorization"].partition(" ")
    stated: dict[str, Any] = dict(part.strip().split("=", 1) for part in fields.split(","))
    scope = stated["Credential"].removeprefix(f"{KEY_ID}/")
    assert algorithm == "AWS4-HMAC-SHA256"
    assert scope.split("/")[1:] == [region, "bedrock", "aws4_request"]
    signed = "".join(f"{name}:{given[name]}\n" for name in stated["SignedHeaders"].split(";"))
    digest = hashlib.sha256(body).hexdigest()
    canonical = f"POST\n{path.replace('%', '%25')}\n\n{signed}\n{stated['SignedHeaders']}\n{digest}"
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{KEY}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = f"{algorithm}\n{given['x-amz-date']}\n{scope}\n{hashed}"
    assert hmac.digest(key, text.encode(), "sha256").hex() == stated["Signature"]
