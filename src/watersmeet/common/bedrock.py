"""Amazon Bedrock by boto3 (the extra `bedrock`): a client, and its errors as `ModelProblem`.

boto3 signs the requests, reads the credentials where AWS users keep them, and decodes event streams. It is the one
exception to the rule that all requests go through `http.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from watersmeet.common.json_values import object_of, text_of
from watersmeet.common.redaction import excerpt
from watersmeet.core.errors import ModelMissing, ModelProblem

LATER = "is the endpoint up? try again later"
_KEY_CODES = frozenset(
    "AccessDeniedException UnrecognizedClientException InvalidSignatureException ExpiredTokenException "
    "InvalidClientTokenId MissingAuthenticationToken".split()
)
_MODEL_CODES = frozenset({"ResourceNotFoundException", "ValidationException"})
_BUSY_CODES = frozenset({"ThrottlingException", "ServiceQuotaExceededException", "TooManyRequestsException"})


@dataclass(slots=True)
class Connection:
    """Context with a client of Bedrock, in which errors of boto3 become `ModelProblem`.

    `setting` is the table of the component, for hints."""

    setting: str
    model: str
    region: str
    profile: str
    endpoint_url: str
    timeout: float
    retries: int
    _secrets: frozenset[str] = field(default=frozenset(), repr=False)

    def __enter__(self) -> Connection:
        return self

    def client(self) -> Any:
        """The client; call it inside the context, which knows its credentials from then on."""
        client, credentials = client_of(self.region, self.profile, self.endpoint_url, self.timeout, self.retries)
        self._secrets = _secrets(credentials)
        return client

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, Exception) or isinstance(error, ModelProblem):
            return
        import urllib3.exceptions
        from botocore import exceptions
        from botocore.eventstream import ParserError

        if isinstance(error, exceptions.ClientError):
            raise self._refused(error.response) from error
        if isinstance(error, exceptions.NoRegionError):
            raise ModelProblem("Bedrock needs a region", f"set {self.setting}.region or AWS_REGION") from error
        missing = (exceptions.NoCredentialsError, exceptions.PartialCredentialsError, exceptions.ProfileNotFound)
        if isinstance(error, missing):
            raise ModelProblem(f"Bedrock: {error}", self._credentials) from error
        if isinstance(error, exceptions.BotoCoreError | ParserError | urllib3.exceptions.HTTPError):
            raise ModelProblem(f"Bedrock: {excerpt(str(error), self._secrets)}", LATER) from error

    @property
    def _credentials(self) -> str:
        return f"give AWS credentials: environment variables, `aws configure`, or {self.setting}.profile"

    def _refused(self, response: dict[str, Any]) -> ModelProblem:
        error = object_of(response.get("Error"))
        code = text_of(error.get("Code"))
        message = f"Bedrock refused: {code}: {excerpt(text_of(error.get('Message')), self._secrets)}"
        if code in _KEY_CODES:
            return ModelProblem(message, f"{self._credentials}, and access to the model")
        if code in _BUSY_CODES:
            return ModelProblem(message, "too many requests, or the quota is used up: try again later")
        if code in _MODEL_CODES:
            kind = ModelMissing if code == "ResourceNotFoundException" else ModelProblem
            return kind(message, f"check {self.setting}.model ({self.model}) and region")
        return ModelProblem(message, LATER)


@lru_cache(maxsize=4)
def client_of(region: str, profile: str, endpoint_url: str, timeout: float, retries: int) -> tuple[Any, Any]:
    """Client of Bedrock, which threads may share, and its credentials; boto3 takes half a second to make one."""
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        raise ModelMissing(
            "Bedrock needs boto3, which is not installed", "pip install 'watersmeet[bedrock]'"
        ) from error
    limits = Config(
        connect_timeout=timeout,
        read_timeout=timeout,
        retries={"total_max_attempts": retries + 1, "mode": "standard"},
        max_pool_connections=32,
    )
    session = boto3.Session(profile_name=profile or None, region_name=region or None)
    client = session.client("bedrock-runtime", endpoint_url=endpoint_url or None, config=limits)
    return client, session.get_credentials()


def _secrets(credentials: Any) -> frozenset[str]:
    """Credentials, which a message must not show."""
    if credentials is None:
        return frozenset()
    frozen = credentials.get_frozen_credentials()
    return frozenset({frozen.access_key or "", frozen.secret_key or "", frozen.token or ""}) - {""}
