"""What all tests of the service are given: engines that wait as long as a busy machine takes."""

import pytest

from driftwise.service.deployments import loading
from tests.fixtures.patience import HANG_S


@pytest.fixture(autouse=True)
def patient_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay that compiles, which may take long here, is waited for; tests of the refusal set a time of their own."""
    monkeypatch.setattr(loading, "WAIT_S", HANG_S)
