"""Grades a drill's submissions, several at once where the lane allows it."""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable, Iterable, Sequence

from graders.catches import Graded
from graders.corpus import Example
from graders.limits import Limits
from graders.package import Package
from graders.report import CaseResult
from graders.validation import Finding, FindingCode
from graders.verdict import Lane, State, Verdict
from worker.job import Job
from worker.supervisor.lane import STANDBY_OF_MANY, Post
from worker.supervisor.supervisor import DeviceFailed, JudgeFailed, Supervisor

TRIES = 2
"""How often the judge may fail on a submission before that is a finding."""

_REASON_CHARACTERS = 500


class GradingPool:
    """Threads that each keep a supervisor, because a supervisor and its processes live with the thread that made them.

    ``done`` hears of every example as it ends; it and ``cancelled`` are called in those threads, one at a time.
    """

    def __init__(
        self,
        package: Package,
        post: Post,
        maximum: Limits | None,
        seed: str,
        done: Callable[[Graded], None],
        cancelled: Callable[[], bool],
    ) -> None:
        self._package, self._zip, self._post = package, package.to_zip(), post
        self._maximum, self._seed = maximum, seed
        self._limits = package.manifest.limits_for(post.lane, maximum)
        self._done, self._cancelled = done, cancelled
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[Example] = queue.SimpleQueue()
        self._graded: dict[str, Graded] = {}
        self._failure: BaseException | None = None

    def run(self, examples: Sequence[Example], threads: int) -> list[Graded]:
        """Grade all; given in their order. Raises Cancelled, or DeviceFailed when the machine cannot judge any more.

        Gradings share the machine with each other and whatever else runs: what is unexpectedly called too slow is
        graded once more, alone.
        """
        self._run_all(examples, threads)
        late = [example for example in examples if self._unexpectedly_late(example)]
        self._run_all(late, 1)
        return [self._graded[example.name] for example in examples]

    def _unexpectedly_late(self, example: Example) -> bool:
        report = self._graded[example.name].report
        late = report is not None and report.verdict is Verdict.TIME_LIMIT
        return late and Verdict.TIME_LIMIT not in example.expectation.verdicts_in(self._post.lane)

    def _run_all(self, examples: Sequence[Example], threads: int) -> None:
        for example in examples:
            self._waiting.put(example)
        running = [threading.Thread(target=self._run, name=f"grading-{n}") for n in range(min(threads, len(examples)))]
        for thread in running:
            thread.start()
        try:
            for thread in running:
                thread.join()
        except BaseException as error:  # of this thread, such as KeyboardInterrupt: the others must end first
            self._failure = error
            for thread in running:
                thread.join()
        if self._failure is not None:
            raise self._failure

    # Heard by the supervisors

    def state(self, state: State) -> None:
        """Nobody follows a single grading."""

    def case(self, result: CaseResult) -> None:
        """Cases are read from the report."""

    def cancelled(self) -> bool:
        with self._lock:
            return self._failure is not None or self._cancelled()

    # In each thread

    def _run(self) -> None:
        lane, sandbox = self._post.lane, self._post.sandbox
        supervisor = Supervisor(lane, STANDBY_OF_MANY[lane], sandbox=sandbox, maximum=self._maximum)
        try:
            supervisor.warm_up()
            for example in self._taken():
                graded = self._grade(supervisor, example)
                with self._lock:
                    self._graded[example.name] = graded
                    self._done(graded)
        except BaseException as error:
            with self._lock:
                self._failure = self._failure or error
        finally:
            supervisor.close()

    def _taken(self) -> Iterable[Example]:
        while True:
            try:
                yield self._waiting.get_nowait()
            except queue.Empty:
                return

    def _grade(self, supervisor: Supervisor, example: Example) -> Graded:
        failure: JudgeFailed | None = None
        for attempt in range(1, TRIES + 1):
            try:
                return Graded(example, supervisor.grade(self._job(example, attempt), self._zip, self))
            except DeviceFailed:
                raise
            except JudgeFailed as error:
                failure = error
        return Graded(example, None, judge_failed(self._package.slug, example, str(failure)))

    def _job(self, example: Example, attempt: int) -> Job:
        return Job(
            id="validation",
            slug=self._package.slug,
            version=0,
            digest=self._package.digest,
            attempt=attempt,
            source=example.source,
            seed=self._seed,
            lane=self._post.lane,
            limits=self._limits,
            sandbox=self._post.sandbox.name,
            measure=example.name.startswith("reference/"),
        )


def judge_failed(slug: str, example: Example, reason: str) -> Finding:
    """The judge's own failure: at the drill's line where the traceback ends in its code, else at the submission."""
    frames = re.findall(rf'File "[^"]*?/((?:graders/{slug}/|reference/{slug}\.py)[^"]*)", line (\d+)', reason)
    file, line = (frames[-1][0], int(frames[-1][1])) if frames else (example.file, None)
    told = reason.strip().rpartition("\n")[2][:_REASON_CHARACTERS]
    return Finding.of(FindingCode.JUDGE_FAILED, file=file, line=line, submission=example.name, reason=told)


def threads_for(lane: Lane) -> int:
    """Gradings at once: one on a GPU, whose lock is for one; else two, since each leaves a core idle now and then."""
    return 1 if lane is Lane.GPU else 2
