"""Judges Ray. Pure."""

from __future__ import annotations

from tuner.doctor.check import Check, State
from tuner.doctor.facts import RayFacts


def judge_ray(facts: RayFacts) -> tuple[Check, ...]:
    """Whether workers can be had: of the cluster that RAY_ADDRESS names, or of a Ray of our own."""
    if facts.version is None:
        return (Check("ray", State.FAIL, "Ray is not installed", "Install it, or sweep with --pool local."),)
    return (_workers(facts), *_started(facts), *_token(facts), *_others(facts))


def _workers(facts: RayFacts) -> Check:
    if facts.reached is False:
        what = f"RAY_ADDRESS={facts.address}: nothing answers there"
        step = "Check `ray status` on that cluster, or `unset RAY_ADDRESS` to use this machine alone."
        return Check("ray", State.FAIL, what, step)
    if facts.reached:
        what = f"Ray {facts.version}; the cluster at RAY_ADDRESS={facts.address} accepts connections"
        step = "A sweep uses it with --pool cluster. It needs the same Ray, Python and tuner: `tuner doctor` there."
        return Check("ray", State.OK, what, step)
    if facts.address == "auto" and not facts.running:
        step = "`ray start --head` starts one; `unset RAY_ADDRESS` uses this machine alone."
        return Check("ray", State.FAIL, "RAY_ADDRESS=auto, and no cluster runs on this machine", step)
    if facts.address == "auto":
        what = f"Ray {facts.version}; RAY_ADDRESS=auto is the cluster that runs on this machine"
        return Check("ray", State.OK, what, "A sweep uses it with --pool cluster.")
    untried = "" if facts.started_s is not None or facts.problem else " (not tried: --deep tries it)"
    return Check("ray", State.OK, f"Ray {facts.version}; a sweep starts one of its own on 127.0.0.1{untried}")


def _started(facts: RayFacts) -> tuple[Check, ...]:
    if facts.problem:
        step = "Look into /tmp/tuner-ray-*/session_latest/logs; `--pool local` does without Ray."
        return (Check("ray_start", State.FAIL, f"a local Ray did not start: {facts.problem}", step),)
    if facts.started_s is None:
        return ()
    return (
        Check(
            "ray_start", State.OK, f"a local Ray started in {facts.started_s:.0f} s", "", {"started_s": facts.started_s}
        ),
    )


def _token(facts: RayFacts) -> tuple[Check, ...]:
    if facts.auth_mode != "token" or facts.has_token:
        return ()
    what = "RAY_AUTH_MODE=token, and there is no token (RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH or ~/.ray/auth_token)"
    if facts.reached is None:
        return (Check("ray_token", State.WARN, what, "Run: ray get-auth-token --generate"),)
    return (Check("ray_token", State.FAIL, what, "Copy the cluster's token to ~/.ray/auth_token."),)


def _others(facts: RayFacts) -> tuple[Check, ...]:
    if facts.address or not facts.running:
        return ()
    what = f"a Ray cluster runs on this machine (processes {', '.join(map(str, facts.running))}) and is not used"
    step = "To use it: RAY_ADDRESS=auto and --pool cluster. What else it runs disturbs measurements."
    return (Check("ray_others", State.INFO, what, step),)
