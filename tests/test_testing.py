from __future__ import annotations

from watersmeet.testing import Hashed


def test_the_double_is_deterministic_and_tells_texts_apart() -> None:
    near = Hashed(64).embed(["sign in with your passphrase", "sign in with a passphrase", "rotate the journal"])
    assert (
        near == Hashed(64).embed(["sign in with your passphrase", "sign in with a passphrase", "rotate the journal"])
    ).all()
    assert near[0] @ near[1] > near[0] @ near[2]
