"""vLLM's HTTP surface over the simulated batch."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from aiohttp import web

from tuner.engine.sim.answers import prompt_token_ids
from tuner.engine.sim.batch import Batch
from tuner.engine.sim.counters import EngineCounters, metrics_text
from tuner.engine.sim.faults import Faults
from tuner.engine.sim.misbehaviour import PROMISED_BYTES, break_of, break_off
from tuner.engine.sim.profile import Fault, FaultKind
from tuner.engine.sim.requests import Asked, RequestRefused, parse_request, parse_tokenize
from tuner.engine.sim.wire import CHAT, COMPLETION, DONE, Encoder, Shape, error_body
from tuner.engine.sim.work import Workshop

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_GUARDED = ("/v1", "/v2", "/inference")
_EVENT_STREAM = {"Content-Type": "text/event-stream; charset=utf-8"}


@dataclass(frozen=True)
class Identity:
    """What the server says about itself.  api_key: "" for no guard.  log_stats: False hides all vllm: metrics."""

    served_name: str
    model: str
    version: str
    max_model_len: int
    api_key: str
    log_stats: bool = True


class Server:
    """The endpoints of one simulated engine."""

    def __init__(
        self, identity: Identity, batch: Batch, workshop: Workshop, counters: EngineCounters, faults: Faults
    ) -> None:
        self._identity = identity
        self._batch = batch
        self._workshop = workshop
        self._counters = counters
        self._faults = faults
        self._requests = 0
        self._ballast: list[bytes] = []
        self._started_s = int(time.time())

    def application(self) -> web.Application:
        """Return the aiohttp application; its batch must be running."""
        app = web.Application(middlewares=[self._guard], client_max_size=64 * 2**20)
        app.add_routes(
            [
                web.get("/health", self._health),
                web.get("/ping", self._health),
                web.get("/version", self._version),
                web.get("/metrics", self._metrics),
                web.get("/v1/models", self._models),
                web.post("/tokenize", self._tokenize),
                web.post("/v1/chat/completions", self._chat),
                web.post("/v1/completions", self._completion),
            ]
        )
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        key = self._identity.api_key
        if key and request.path.startswith(_GUARDED):
            given = request.headers.get("Authorization", "").removeprefix("Bearer ")
            if self._faults.of_life("unauthorized") or not hmac.compare_digest(given.encode(), key.encode()):
                return web.json_response({"error": "Unauthorized"}, status=401)
        try:
            return await handler(request)
        except RequestRefused as refused:
            body = error_body(str(refused), refused.kind, refused.status)
            return web.json_response(body, status=refused.status)

    async def _health(self, _request: web.Request) -> web.Response:
        return web.Response(status=503 if self._faults.of_life("unhealthy") else 200)

    async def _version(self, _request: web.Request) -> web.Response:
        return web.json_response({"version": self._identity.version})

    async def _metrics(self, _request: web.Request) -> web.Response:
        if self._faults.of_life("metrics_missing"):
            raise web.HTTPNotFound
        if self._faults.of_life("metrics_garbage"):
            return web.Response(body=b"<html>\xff\x00 vllm:generation_tokens_total NaN")
        who = self._identity
        body = metrics_text(self._counters, who.served_name) if who.log_stats else b""
        return web.Response(body=body, headers={"Content-Type": "text/plain; version=1.0.0; charset=utf-8"})

    async def _models(self, _request: web.Request) -> web.Response:
        who = self._identity
        name = "another-model" if self._faults.of_life("wrong_model_name") else who.served_name
        card = {"id": name, "object": "model", "created": self._started_s, "owned_by": "vllm", "root": who.model}
        card |= {"parent": None, "max_model_len": who.max_model_len, "permission": []}
        return web.json_response({"object": "list", "data": [card]})

    async def _tokenize(self, request: web.Request) -> web.Response:
        ids = prompt_token_ids(parse_tokenize(await request.read()))
        body = {"count": len(ids), "max_model_len": self._identity.max_model_len, "tokens": ids, "token_strs": None}
        return web.json_response(body)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._generate(request, CHAT)

    async def _completion(self, request: web.Request) -> web.StreamResponse:
        return await self._generate(request, COMPLETION)

    async def _generate(self, request: web.Request, shape: Shape) -> web.StreamResponse:
        who = self._identity
        asked = parse_request(await request.read(), shape, who.served_name, who.max_model_len)
        number, self._requests = self._requests, self._requests + 1
        self._meet_faults_before(number)
        token_ids = asked.token_ids and not self._faults.of_request("token_ids_missing", number)
        encoder = Encoder(shape, who.served_name, asked.job.prompt, token_ids)
        queue: asyncio.Queue[tuple[Sequence[int], str | None]] = asyncio.Queue()
        if asked.logprobs is not None:
            self._refuse("logprobs_refused", number)
        lossy = self._faults.of_request("lossy", number)
        shifted = self._faults.of_request("shifted_samples", number)
        work = self._workshop.make(
            asked.job,
            lambda tokens, reason: queue.put_nowait((tokens, reason)),
            differs_from=lossy.at_token if lossy else None,
            degenerate=self._faults.of_request("degenerate_text", number) is not None,
            shifted_from=shifted.at_token if shifted else None,
            crowded=self._batch.busy,
        )
        work.trap = self._trap(number)
        self._batch.submit(work)
        try:
            if asked.stream:
                return await self._stream(request, asked, encoder, queue, number)
            return await self._whole(asked, encoder, queue)
        finally:
            self._batch.abort(work)

    async def _stream(
        self,
        request: web.Request,
        asked: Asked,
        encoder: Encoder,
        queue: asyncio.Queue[tuple[Sequence[int], str | None]],
        number: int,
    ) -> web.StreamResponse:
        wrong_type = self._faults.of_request("wrong_content_type", number)
        response = web.StreamResponse(headers={"Content-Type": "text/html"} if wrong_type else _EVENT_STREAM)
        if self._faults.of_request("wrong_length", number):
            response.content_length = PROMISED_BYTES
            response.force_close()
        await response.prepare(request)
        breaks = break_of(self._faults, number)
        gaps = self._workshop.top2_gaps(asked.job, asked.job.max_tokens) if asked.logprobs == 2 else None
        opening, count, reason = encoder.opening(), 0, None
        while reason is None:
            tokens, reason = await queue.get()
            told = None if gaps is None else gaps[count : count + len(tokens)]
            count += len(tokens)
            chunk, opening = opening + encoder.chunk(tokens, reason, told), b""
            if breaks and count > breaks.at_token:
                await break_off(breaks, request, response, chunk)
                return response
            await response.write(chunk)
        if asked.include_usage and not self._faults.of_request("usage_missing", number):
            await response.write(encoder.usage_chunk(asked.job.prompt_tokens, count) + DONE)
        else:
            await response.write(DONE)
        await response.write_eof()
        return response

    async def _whole(
        self, asked: Asked, encoder: Encoder, queue: asyncio.Queue[tuple[Sequence[int], str | None]]
    ) -> web.Response:
        token_ids: list[int] = []
        reason = None
        while reason is None:
            tokens, reason = await queue.get()
            token_ids += tokens
        return web.json_response(encoder.whole(token_ids, reason, asked.job.prompt_tokens))

    def _refuse(self, kind: FaultKind, number: int) -> None:
        fault = self._faults.of_request(kind, number)
        if fault:
            raise RequestRefused(fault.message, fault.status, "InternalServerError")

    def _meet_faults_before(self, number: int) -> None:
        self._refuse("http_error", number)
        if self._faults.of_request("foreign_traffic", number):
            self._counters.finished["stop"] += 1
        backwards = self._faults.of_life("counters_backwards")
        if backwards and number == backwards.after_requests:
            self._counters.start_again()
        contradicts = self._faults.of_life("counters_contradict")
        if contradicts and number >= contradicts.after_requests:
            self._counters.accepted_tokens += 10**6
        growth = self._faults.of_life("memory_growth")
        if growth:
            self._ballast.append(bytes(range(256)) * int(growth.size_mib * 4096))

    def _trap(self, number: int) -> Fault | None:
        traps = (self._faults.of_life("crash"), self._faults.of_life("hang"), self._faults.of_life("memory_growth"))
        return next((fault for fault in traps if fault and number >= fault.after_requests), None)
