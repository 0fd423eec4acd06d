"""Drivers as Ray jobs: submitted to a cluster's dashboard, which keeps them whatever becomes of who submitted them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tuner.errors import EXIT_INTERRUPTED, EXIT_OK, PoolError

STOP_WITHIN_S = 120
"""What a job may take to end by itself; Ray's own 3 s would kill a sweep that stops its engines."""
_ENDS = {"SUCCEEDED": EXIT_OK, "STOPPED": EXIT_INTERRUPTED, "FAILED": 1}
"""States in which nothing of a job runs any more, with the exit code where its driver left none."""


@dataclass(frozen=True)
class JobState:
    """exit_code: of a job that ended, None while it waits or runs."""

    exit_code: int | None = None


class RayJobs:
    """Jobs of one cluster.  Every method raises PoolError where the cluster does not answer or refuses."""

    def __init__(self, address: str) -> None:
        """address: of the cluster's dashboard, http://HOST:8265. It is not asked yet."""
        self._address = address

    def submit(self, job: str, arguments: Sequence[str], env: Mapping[str, str]) -> None:
        """Start a command on the cluster's head node.  job: its id, of which a cluster takes each once."""
        # Ray takes a line for a shell, so every argument is quoted.
        with self._client() as client:
            client.submit_job(
                entrypoint=shlex.join(arguments),
                submission_id=job,
                runtime_env={
                    "env_vars": {
                        "RAY_JOB_STOP_SIGNAL": "SIGINT",
                        "RAY_JOB_STOP_WAIT_TIME_S": str(STOP_WITHIN_S),
                        **env,
                    }
                },
            )

    def state(self, job: str) -> JobState | None:
        """Return where a job is, None where the cluster knows none of that id."""
        with self._client() as client:
            found = next((one for one in client.list_jobs() if one.submission_id == job), None)
            if found is None or found.status.value not in _ENDS:
                return found and JobState()
            return JobState(_ENDS[found.status.value] if found.driver_exit_code is None else found.driver_exit_code)

    def output(self, job: str) -> str:
        """Return what it wrote, standard output and standard error."""
        with self._client() as client:
            return str(client.get_job_logs(job))

    def stop(self, job: str) -> None:
        """Ask for its end with SIGINT; it is killed after STOP_WITHIN_S."""
        with self._client() as client:
            client.stop_job(job)

    @contextmanager
    def _client(self) -> Iterator[Any]:
        from ray.exceptions import RayError
        from ray.job_submission import JobSubmissionClient

        try:
            yield JobSubmissionClient(self._address)
        except (
            RayError,
            RuntimeError,
            OSError,
            ValueError,
        ) as error:  # what Ray raises for a refusal, and requests for the rest
            first = str(error).partition("\n")[0]
            hint = (
                "Check that the cluster's dashboard runs there: it needs pip install 'ray[default]' on its head node."
            )
            raise PoolError(f"the Ray jobs of {self._address} cannot be reached: {first}", hint) from error
