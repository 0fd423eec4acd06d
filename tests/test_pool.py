"""Workers: who gets which device and cores, and what happens when a job or its worker ends badly."""

from __future__ import annotations

import ast
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.matrix import Group, fault
from tests.quickness import quick
from tuner.errors import EngineCrashed, InputError, PoolError
from tuner.pool import Job, Pool, open_pool
from tuner.pool.arrival import READY_S
from tuner.pool.cluster import _signal_handlers_kept, address_for, connected, endpoint
from tuner.pool.cores import parse_cpu_list, partition
from tuner.pool.host import Gpu, HostFacts, look_around
from tuner.pool.plan import Node, check_hosts, joining, places, worker_facts
from tuner.pool.reasons import reason
from tuner.records import WorkerFacts

PATIENCE_S = 240.0
"""Of a busy machine; what comes at all comes in seconds on a quiet one."""

# ---- which cores


@st.composite
def hosts_to_divide(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], list[frozenset[int]]]:
    threads, count = draw(st.sampled_from([1, 2])), draw(st.integers(1, 12))
    cores = [tuple(core + count * thread for thread in range(threads)) for core in range(count)]
    cpus = [cpu for core in cores for cpu in core]
    near = draw(st.lists(st.frozensets(st.sampled_from(cpus)), min_size=1, max_size=8))
    return cores, near


@given(hosts_to_divide())
def test_cores_are_disjoint_equally_many_and_whole(host: tuple[list[tuple[int, ...]], list[frozenset[int]]]) -> None:
    cores, near = host
    cpus = {cpu for core in cores for cpu in core}
    shares = partition(cores, near)
    assert len(shares) == len(near)
    assert len({len(share) for share in shares}) == 1
    if len(near) > len(cpus):
        assert all(set(share) == cpus for share in shares)
        return
    assert sum(map(len, shares)) == len(set().union(*shares)) <= len(cpus)
    assert len(shares[0]) >= 1
    if len(near) <= len(cores):
        for core in cores:
            assert sum(bool(set(core) & set(share)) for share in shares) <= 1, "a physical core is shared"


def test_cores_near_the_gpu_come_first() -> None:
    cores = [(cpu, cpu + 4) for cpu in range(4)]
    second, first = frozenset({2, 3, 6, 7}), frozenset({0, 1, 4, 5})
    assert partition(cores, [second, first]) == ((2, 3, 6, 7), (0, 1, 4, 5))
    assert partition(cores, [frozenset(), first, second, second]) == ((1, 5), (0, 4), (2, 6), (3, 7))


def test_one_worker_has_all_cores() -> None:
    assert partition([(0,), (1,)], [frozenset({1})]) == ((0, 1),)


def test_cpu_lists_as_linux_writes_them() -> None:
    assert parse_cpu_list("0-2,8,10-11\n") == (0, 1, 2, 8, 10, 11)
    assert parse_cpu_list("\n") == ()


# ---- how many workers, and their names


def node(number: int, gpus: int = 0) -> Node:
    return Node(f"{number:08d}abc", f"10.0.0.{number}", gpus)


def host(name: str = "host", gpus: tuple[Gpu, ...] = ()) -> HostFacts:
    return HostFacts(name, "a CPU", ((0,), (1,), (2,), (3,)), gpus, "1.0")


def test_a_worker_per_group_of_gpus_within_one_node() -> None:
    nodes = [node(1, 8), node(2, 3), node(3)]
    assert [place.node for place in places(nodes, 2, None)] == [nodes[0]] * 4 + [nodes[1]]
    assert len(places(nodes, 1, None)) == 11
    assert len(places(nodes, 1, 2)) == 2


def test_without_gpus_one_worker_per_node_on_its_cpu() -> None:
    assert [(place.node, place.gpus) for place in places([node(1), node(2)], 1, None)] == [(node(1), 0), (node(2), 0)]
    assert len(places([node(1)], 1, 5)) == 1
    assert len(places([node(1, 4)], 0, 5)) == 5, "engines that need no device"


@pytest.mark.parametrize(("nodes", "group"), [([node(1, 2), node(2, 2)], 4), ([node(1)], 2), ([], 1)])
def test_a_group_that_fits_no_node_is_refused(nodes: list[Node], group: int) -> None:
    with pytest.raises(PoolError, match=rf"needs {group} GPUs on one node; the largest node has \d"):
        places(nodes, group, None)


def test_a_node_that_joins_gets_workers_like_the_others_as_far_as_there_is_room() -> None:
    assert [place.gpus for place in joining(node(1, 5), 2, None)] == [2, 2]
    assert joining(node(1), 2, None) == ()
    assert len(joining(node(1, 8), 1, 3)) == 3
    assert joining(node(1, 8), 1, 0) == ()
    assert len(joining(node(1, 8), 0, None)) == 1, "engines on the CPU"


def test_names_and_cores_of_workers() -> None:
    gpus = [Gpu("0", "GPU-a", "H200", frozenset({2, 3})), Gpu("1", "GPU-b", "H200", frozenset({0, 1}))]
    one, two = worker_facts([node(1, 2)] * 2, [host(gpus=(gpus[0],)), host(gpus=(gpus[1],))])
    assert one == WorkerFacts("host/GPU-a", "H200", "host", ("0",), (2, 3))
    assert two == WorkerFacts("host/GPU-b", "H200", "host", ("1",), (0, 1))
    (both,) = worker_facts([node(1, 2)], [host(gpus=(gpus[1], gpus[0]))])
    assert both == WorkerFacts("host/GPU-a+GPU-b", "2 x H200", "host", ("1", "0"), (0, 1, 2, 3))
    (cpu,) = worker_facts([node(1)], [host()])
    assert cpu == WorkerFacts("host/cpu-4", "a CPU", "host", (), (0, 1, 2, 3))


def test_nodes_of_one_name_are_told_apart() -> None:
    keys = [facts.device_key for facts in worker_facts([node(1), node(2)], [host("localhost"), host("localhost")])]
    assert keys == ["localhost-00000001/cpu-4", "localhost-00000002/cpu-4"]


def test_workers_that_share_a_cpu_are_different_devices() -> None:
    one, two = worker_facts([node(1)] * 2, [host(), host()])
    assert (one.device_key, two.device_key) == ("host/cpu0.1", "host/cpu2.3")


def test_a_host_that_lacks_something_is_named_with_all_of_it() -> None:
    check_hosts([host()], "1.0")
    bad = replace(host("gpu7"), missing=("/models/a", "/venv/bin/python"), tuner_version="0.9")
    with pytest.raises(PoolError, match=r"gpu7 has tuner 0\.9, not 1\.0; gpu7 has no /models/a; gpu7 has no /venv"):
        check_hosts([host(), bad, bad], "1.0")


def test_a_host_with_another_engine_is_named() -> None:
    with pytest.raises(PoolError, match=r"^gpu7: its engine is vllm==0\.31\.0"):
        check_hosts([host(), replace(host("gpu7"), differs="its engine is vllm==0.31.0, not vllm==0.32.0")], "1.0")
    assert look_around((), ("/no/such/python",), lambda: pytest.fail("asked what is not there")).differs == ""
    assert look_around((), (), lambda: "another").differs == "another"


# ---- where to connect to


@pytest.mark.parametrize(
    ("kind", "variables", "address"),
    [
        ("ray", {}, "local"),
        ("ray", {"RAY_ADDRESS": "local"}, "local"),
        ("cluster", {"RAY_ADDRESS": "head:6379"}, "head:6379"),
        ("cluster", {"RAY_ADDRESS": "auto"}, "auto"),
        ("ray", {"RAY_ADDRESS": "head:6379", "RAY_JOB_CONFIG_JSON_ENV_VAR": "{}"}, "head:6379"),
        ("ray", {"RAY_ADDRESS": "head:6379"}, None),
        ("ray", {"RAY_ADDRESS": "auto"}, None),
        ("cluster", {}, None),
    ],
)
def test_a_cluster_has_to_be_named_and_asked_for(
    monkeypatch: pytest.MonkeyPatch, kind: Any, variables: dict[str, str], address: str | None
) -> None:
    for name in ("RAY_ADDRESS", "RAY_JOB_CONFIG_JSON_ENV_VAR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if address is not None:
        assert address_for(kind) == address
        return
    with pytest.raises(InputError, match="RAY_ADDRESS") as refused:
        address_for(kind)
    assert refused.value.exit_code == 2


def test_addresses_that_name_a_host() -> None:
    assert endpoint("10.0.0.1:6379") == ("10.0.0.1", 6379)
    assert endpoint("ray://[::1]:10001") == ("::1", 10001)
    assert [endpoint(address) for address in ("", "auto", "local", "head", "head:port")] == [None] * 5


@pytest.mark.parametrize(
    ("text", "telling"),
    [
        ("The actor died.\nIt exited because of a signal.\n", "It exited because of a signal."),
        (
            "1 worker(s) were killed as the node is low on memory.\nSee docs because they help.",
            "1 worker(s) were killed",
        ),
        ("It is over.\nLook there.", "It is over."),
        ("", "ValueError"),
    ],
)
def test_the_telling_line_of_what_ray_says(text: str, telling: str) -> None:
    assert reason(ValueError(text)).startswith(telling)


# ---- what both kinds of pool do

# Jobs are made inside functions: Ray's workers cannot import this module, and pickle such functions by value.


def returns(value: object) -> Job:
    def job(worker: WorkerFacts, report: Callable[[str], None]) -> tuple[object, str]:
        return value, worker.device_key

    return job


def ends_with(error: BaseException) -> Job:
    def job(worker: WorkerFacts, report: Callable[[str], None]) -> None:
        raise error

    return job


def waits_for(path: Path, after_phase: str = "waiting") -> Job:
    def job(worker: WorkerFacts, report: Callable[[str], None]) -> int:
        report(after_phase)
        while not path.exists():
            time.sleep(0.02)
        return os.getpid()

    return job


def results(pool: Pool, count: int, timeout_s: float = PATIENCE_S) -> list[tuple[int, Any]]:
    found: list[tuple[int, Any]] = []
    deadline = time.monotonic() + timeout_s
    while len(found) < count and time.monotonic() < deadline:
        found.extend(pool.wait(1.0))
    return found


def phase_becomes(pool: Pool, worker: int, phase: str) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if pool.phases().get(worker) == phase:
            return True
        time.sleep(0.05)
    return False


@pytest.fixture(scope="module")
def four_gpus() -> Iterator[None]:
    """One Ray cluster of this machine that says it has four GPUs."""
    with connected(num_gpus=4):
        yield
    with warnings.catch_warnings():
        # Ray terminates its servers without waiting for them, which Python reports when it drops their handles.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(params=["local", "ray"])
def pool(request: pytest.FixtureRequest) -> Iterator[Pool]:
    if request.param == "ray":
        request.getfixturevalue("four_gpus")
    with open_pool(request.param, gpus_per_worker=0, max_workers=2) as opened:
        yield opened


def test_jobs_run_side_by_side_and_end_in_any_order(pool: Pool, tmp_path: Path) -> None:
    assert len(pool.workers) == 2
    assert pool.wait(0.0) == []
    pool.start(0, waits_for(tmp_path / "go"))
    with pytest.raises(ValueError, match="busy"):
        pool.start(0, returns(1))
    pool.start(1, returns(42))
    assert results(pool, 1) == [(1, (42, pool.workers[1].device_key))]
    assert phase_becomes(pool, 0, "waiting")
    assert pool.wait(0.05) == []
    (tmp_path / "go").touch()
    assert [worker for worker, _ in results(pool, 1)] == [0]
    assert pool.phases() == {}


def test_an_expected_failure_is_a_result_with_its_next_step(pool: Pool) -> None:
    pool.start(0, ends_with(EngineCrashed("it ended with status 1", "Look at its log.")))
    ((worker, error),) = results(pool, 1)
    assert worker == 0
    assert isinstance(error, EngineCrashed)
    assert (error.message, error.next_step) == ("it ended with status 1", "Look at its log.")
    pool.start(0, returns("still here"))
    assert results(pool, 1)[0][1][0] == "still here"


def test_what_a_job_did_not_expect_is_raised_and_costs_no_result(pool: Pool) -> None:
    pool.start(0, ends_with(KeyError("a bug")))
    pool.start(1, returns("kept"))
    found: list[tuple[int, Any]] = []
    raised = 0
    deadline = time.monotonic() + PATIENCE_S
    while (not found or not raised) and time.monotonic() < deadline:
        try:
            found.extend(pool.wait(1.0))
        except KeyError:
            raised += 1
    assert [result[0] for _, result in found] == ["kept"]
    assert raised == 1
    assert pool.wait(0.0) == []


# ---- local


def test_closing_a_local_pool_unwinds_its_jobs() -> None:
    events: list[str] = []
    began = threading.Event()

    def job(worker: WorkerFacts, report: Callable[[str], None]) -> None:
        try:
            while True:
                report("working")
                began.set()
                time.sleep(0.01)
        finally:
            events.append("engine stopped")

    with open_pool("local", gpus_per_worker=0) as pool:
        pool.start(0, job)
        assert began.wait(PATIENCE_S)
    assert events == ["engine stopped"]


def test_a_path_that_is_missing_is_found_before_the_first_job(tmp_path: Path) -> None:
    with (
        pytest.raises(PoolError, match=f"has no {tmp_path}/model"),
        open_pool("local", gpus_per_worker=0, required_paths=[str(tmp_path), f"{tmp_path}/model"]),
    ):
        pass


# ---- Ray


@pytest.fixture
def pairs(four_gpus: None) -> Iterator[Pool]:
    with open_pool("ray", gpus_per_worker=2) as pool:
        yield pool


def looks_at_its_process() -> Job:
    def job(worker: WorkerFacts, report: Callable[[str], None]) -> dict[str, Any]:
        child = [sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))"]
        return {
            "facts": worker,
            "gpus": os.environ.get("CUDA_VISIBLE_DEVICES"),
            "threads": os.environ.get("OMP_NUM_THREADS"),
            "child": subprocess.run(child, check=True, capture_output=True, text=True).stdout.strip(),
            "pid": os.getpid(),
        }

    return job


def test_a_worker_per_pair_of_gpus_with_cores_of_its_own(pairs: Pool) -> None:
    assert len(pairs.workers) == 2
    for worker in range(2):
        pairs.start(worker, looks_at_its_process())
    seen = dict(results(pairs, 2))
    for number, facts in enumerate(pairs.workers):
        assert seen[number]["facts"] == facts
        assert seen[number]["gpus"] == ",".join(facts.gpu_ids)
        assert seen[number]["child"] == str(list(facts.cpu_cores)), "an engine inherits the cores"
        assert seen[number]["threads"] == os.environ.get("OMP_NUM_THREADS")
    assert sorted(gpu for facts in pairs.workers for gpu in facts.gpu_ids) == ["0", "1", "2", "3"]
    assert len({facts.device_key for facts in pairs.workers}) == 2
    if (os.cpu_count() or 1) >= 2:
        assert not set(pairs.workers[0].cpu_cores) & set(pairs.workers[1].cpu_cores)


@fault(
    Group.CLUSTER,
    "a worker process is killed beside others",
    sees="`the worker on ... was lost: ...`",
    keeps="the jobs of all other workers; its next job gets a new process with the same GPUs and cores",
)
def test_a_killed_worker_costs_its_own_job_only_and_is_replaced(pairs: Pool, tmp_path: Path) -> None:
    for worker in range(2):
        pairs.start(worker, looks_at_its_process())
    pids = {worker: found["pid"] for worker, found in results(pairs, 2)}
    for worker in range(2):
        pairs.start(worker, waits_for(tmp_path / "go"))
        assert phase_becomes(pairs, worker, "waiting")
    os.kill(pids[0], signal.SIGKILL)
    ((worker, error),) = results(pairs, 1)
    assert worker == 0
    assert isinstance(error, PoolError)
    assert pairs.workers[0].device_key in error.message
    assert pairs.phases().keys() == {1}
    before = pairs.workers
    pairs.start(0, looks_at_its_process())
    (tmp_path / "go").touch()
    found = dict(results(pairs, 2))
    assert found[1] == pids[1]
    assert found[0]["facts"] == before[0]
    assert found[0]["gpus"] == ",".join(before[0].gpu_ids)
    assert found[0]["pid"] != pids[0]


def test_closing_ends_a_worker_in_the_middle_of_a_job(four_gpus: None, tmp_path: Path) -> None:
    def job(worker: WorkerFacts, report: Callable[[str], None]) -> None:
        report(str(os.getpid()))
        time.sleep(600)

    with open_pool("ray", gpus_per_worker=4) as pool:
        pool.start(0, job)
        deadline = time.monotonic() + PATIENCE_S
        while not (pid := pool.phases()[0]).isdecimal():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process = psutil.Process(int(pid))
    process.wait(timeout=PATIENCE_S)


def test_a_group_that_never_fits_is_refused_at_once(four_gpus: None) -> None:
    with (
        quick(cpu_s=5.0, wall_s=READY_S / 2),
        pytest.raises(PoolError, match="needs 5 GPUs on one node; the largest node has 4"),
        open_pool("ray", gpus_per_worker=5),
    ):
        pass


@fault(
    Group.CLUSTER,
    "a node lacks the engine or a model",
    sees="`HOST has no /path` before the first trial, exit code 3",
    keeps="its GPUs are given back to the cluster",
)
def test_a_node_that_lacks_a_path_is_refused_and_its_gpus_given_back(four_gpus: None) -> None:
    for _ in range(2):
        with (
            pytest.raises(PoolError, match="has no /no/such/python"),
            open_pool("ray", gpus_per_worker=4, required_paths=["/no/such/python"]),
        ):
            pass


LOOPBACK = {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


def listening() -> set[str]:
    """Return the addresses at which children of this process listen."""
    found: set[str] = set()
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # a worker of an earlier test
            found.update(port.laddr.ip for port in child.net_connections("inet") if port.status == psutil.CONN_LISTEN)
    return found


def test_a_cluster_of_our_own_listens_on_loopback_alone(four_gpus: None) -> None:
    assert listening()
    assert listening() <= LOOPBACK


def test_it_does_so_too_where_ray_was_imported_before(tmp_path: Path) -> None:
    program = tmp_path / "imports_ray_first.py"
    program.write_text(
        "import ray\n"
        "from tests.test_pool import listening\n"
        "from tuner.pool.cluster import connected\n"
        "with connected(num_gpus=1):\n"
        "    print(sorted(listening()))\n"
    )
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, str(program)]
    ended = subprocess.run(command, env={**environ, "PYTHONPATH": str(Path.cwd())}, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ast.literal_eval(ended.stdout.splitlines()[-1])
    assert set(ast.literal_eval(ended.stdout.splitlines()[-1])) <= LOOPBACK


def test_sigterm_stays_ours(four_gpus: None) -> None:
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_sigterm_that_ray_answers_while_it_starts_reaches_our_handler() -> None:
    class Ours(BaseException):
        pass

    def ours(*_: object) -> None:
        raise Ours

    before = signal.signal(signal.SIGTERM, ours)
    try:
        with pytest.raises(Ours), _signal_handlers_kept():
            signal.signal(signal.SIGTERM, lambda signum, _: sys.exit(signum))  # as ray.init does
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is ours
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("variable", ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"])
def test_a_hub_id_has_to_be_in_the_hosts_own_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    below = {"HF_HOME": "hub", "XDG_CACHE_HOME": "huggingface/hub"}.get(variable, "")
    (tmp_path / below / "models--org--here" / "snapshots" / "abc").mkdir(parents=True)
    (tmp_path / below / "models--org--begun" / "snapshots").mkdir(parents=True)
    assert look_around((), ("org/here", "org/begun", "org/absent")).missing == ("org/begun", "org/absent")


def test_a_worker_knows_the_smallest_memory_of_its_gpus_and_their_driver() -> None:
    known = [Gpu("0", "GPU-a", "H200", memory_bytes=150, driver="570.1"), Gpu("1", "GPU-b", "H200", memory_bytes=140)]
    (facts,) = worker_facts([Node("a", "10.0.0.1", 2)], [HostFacts("host", "cpu", ((0,),), tuple(known), "1")])
    assert (facts.device, facts.memory_bytes, facts.driver) == ("2 x H200", 140, "570.1")
    (unknown,) = worker_facts([Node("a", "10.0.0.1", 1)], [HostFacts("host", "cpu", ((0,),), (Gpu("0"),), "1")])
    assert (unknown.memory_bytes, unknown.driver) == (None, "")
