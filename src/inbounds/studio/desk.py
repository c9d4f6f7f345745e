"""What is on the desk: the folder that was opened, its plan, and the release that is under way, for every browser.

The plan's file is the truth. It is read again whenever it is asked for, and written completely or not at all.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inbounds import service
from inbounds._files import write_atomically
from inbounds._text import visible
from inbounds.errors import InboundsError, PlanError


class Conflict(InboundsError):
    """The plan's file is no longer the one that a change was made to."""


class Cancelled(InboundsError):
    """A release that was cancelled before the charge."""


@dataclass(slots=True)
class Job:
    """A release that is under way, or the last one. Stages are counted from 0; once ``charged``, the charge stands."""

    plan: str
    stage: int = -1
    said: str = "checking the plan"
    state: str = "running"
    result: str | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
    charged: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain values for the page."""
        return {
            "plan": self.plan,
            "stage": self.stage,
            "stages": list(service.STAGES),
            "said": self.said,
            "state": self.state,
            "result": self.result,
            "charged": self.charged,
        }


class Desk:
    """The folder that was opened, and what is done in it. It may be used by several threads."""

    def __init__(self, folder: Path, plan: str | None, tell: Callable[[], None] = lambda: None) -> None:
        self.folder = folder
        self.tell = tell
        self._plan = plan
        self._lock = threading.RLock()
        self._job: Job | None = None
        self._worker: threading.Thread | None = None
        self._ahead: tuple[str, service.Ahead] | None = None
        self._filling: service.Ahead | None = None
        self._read: tuple[tuple[str, int, int], service.Reading] | None = None

    # The plan

    @property
    def plan(self) -> str | None:
        """The name of the plan that is open."""
        return self._plan

    @property
    def path(self) -> Path:
        """The file of the plan. Raises a `PlanError` if none is open."""
        if self._plan is None:
            raise PlanError(["no plan is open"], "the studio")
        return self.folder / self._plan

    def open(self, name: str) -> None:
        """Open another plan of the folder."""
        if name not in service.list_files(self.folder)["plans"]:
            raise PlanError(["there is no such plan in the folder"], "the studio")
        with self._lock:
            self._plan = name
        self.tell()

    def start(self, name: str, source: str, table: str | None) -> None:
        """Write a new plan for a table, and open it."""
        if not name.endswith(".toml") or name.startswith(".") or len(name) > 100 or visible(name) != name:
            raise PlanError(["its name must end in .toml and have no invisible characters"], "the plan")
        if Path(name).name != name or "\\" in name:
            raise PlanError(["its name must be one of a file in the folder, without slashes"], "the plan")
        text = service.start_plan(self.folder, source, table)
        with self._lock:
            if (self.folder / name).exists():
                raise PlanError([f"{name!r} exists already; choose another name"], "the plan")
            write_atomically(self.folder / name, text)
            self._plan = name
        self.tell()

    def read(self) -> service.Reading:
        """The plan's file as it is now. It is parsed again only if it was changed."""
        path = self.path
        try:
            stat = path.stat()
            mark = (str(path), stat.st_mtime_ns, stat.st_size)
        except OSError:
            return service.read_plan(path)
        with self._lock:
            if self._read is None or self._read[0] != mark:
                self._read = mark, service.read_plan(path)
            return self._read[1]

    def save(self, text: str, base: str) -> service.Reading:
        """Write the plan's file, if it still is the one with the revision ``base``."""
        with self._lock:
            self._require(base)
            write_atomically(self.path, text)
            self._read = None
            reading = self.read()
        self.tell()
        return reading

    def edit(self, edits: list[Any], base: str) -> service.Reading:
        """Change keys of the plan's file."""
        with self._lock:
            self._require(base)
            return self.save(service.edit_text(self.read().text, edits), base)

    def _require(self, base: str) -> None:
        if self.read().revision != base:
            raise Conflict("the plan's file was changed by somebody else meanwhile; nothing was written")

    def _load_plan(self) -> Any:
        """The plan without mistakes, with its table and its ledger in the folder."""
        reading = self.read()
        if reading.plan is None:
            raise PlanError([mistake["text"] for mistake in reading.mistakes], self._plan or "the plan")
        plan = reading.plan
        service.require_inside(self.folder, plan.data.source, plan.budget.ledger)
        return plan

    # Looking ahead

    def ahead(self, *, fill: bool = True) -> service.Ahead:
        """The expected errors of the plan at several ε.

        With ``fill``, the others are computed in the background.
        """
        with self._lock:
            reading = self.read()
            self._load_plan()
            if self._ahead is None or self._ahead[0] != reading.revision:
                self._ahead = reading.revision, service.make_ahead(self.path)
            ahead = self._ahead[1]
            if fill and self._filling is not ahead:
                self._filling = ahead
                threading.Thread(target=ahead.fill, args=(lambda: self._wants(ahead),), name="looking ahead").start()
            return ahead

    def _wants(self, ahead: service.Ahead) -> bool:
        """Whether somebody may still look at these errors: not if the program is ending or the plan was changed."""
        return threading.main_thread().is_alive() and self._ahead is not None and self._ahead[1] is ahead

    def glance(self) -> dict[str, Any]:
        """What the plan would give as it is: how good each release would be, and what the ledger would say."""
        try:
            plan = self._load_plan()
            forecast = self.ahead(fill=False).at(f"{plan.budget.amount:f}")
            ledger = self.imagine(None)
        except InboundsError as error:
            # The file may have been changed since the page was told that it has no mistakes.
            return {"items": [], "ledger": None, "said": visible(str(error))}
        items = [{"name": item["name"], "worth": item["worth"]} for item in forecast["items"]]
        return {"items": items, "ledger": ledger, "said": None}

    def imagine(self, epsilon: str | None) -> dict[str, Any]:
        """What the ledger would say to this ε."""
        return service.imagine_charge(self._load_plan(), epsilon)

    def show_ledger(self) -> dict[str, Any]:
        """The ledger of the plan, with its name."""
        plan = self._load_plan()
        ledger = plan.budget.ledger
        if ledger is None:
            return {"name": None, "datasets": [], "entries": [], "warnings": []}
        return {"name": Path(ledger).name, **service.show_ledger(ledger)}

    def summarize(self, name: str) -> dict[str, Any]:
        """What the report of a result says first, and what is left now if the plan's ledger knows it."""
        place = service.find_result(self.folder, name)
        plan = None if self._plan is None else self.read().plan
        if plan is not None:
            service.require_inside(self.folder, None, plan.budget.ledger)
        return service.summarize_result(place, plan)

    # Releasing

    def offer(self) -> dict[str, Any]:
        """What a release would cost."""
        return service.offer_release(self._load_plan())

    @property
    def job(self) -> Job | None:
        """The release that is under way, or the last one."""
        return self._job

    def release(self, base: str, cost: str, new: bool) -> None:
        """Begin a release of the plan as it was confirmed: this revision, at this cost."""
        with self._lock:
            if self._job is not None and self._job.state == "running":
                raise Conflict("a release is under way; there is one at a time")
            self._require(base)
            plan = self._load_plan()
            if plan.data.source is None:
                raise PlanError(["data.source: must be given"], self._plan or "the plan")
            offer = service.offer_release(plan)
            if not new and offer["cost"] != cost:
                raise Conflict("the cost is no longer the one that was confirmed; look at it again")
            job = self._job = Job(self._plan or "")
            self._worker = threading.Thread(target=self._work, args=(job, plan, self.path, new), name="release")
            self._worker.start()
        self.tell()

    def cancel(self) -> None:
        """Cancel the release that is under way, if it was not charged yet."""
        with self._lock:
            job = self._job
            if job is None or job.state != "running":
                raise Conflict("no release is under way")
            if job.charged:
                raise Conflict("the release was charged already; it will be finished")
            job.cancelled.set()

    def close(self) -> None:
        """Stop looking ahead, and wait for the release that is under way."""
        with self._lock:
            self._ahead = None
        self.wait()

    def wait(self) -> None:
        """Wait for the release that is under way: what was charged is finished."""
        worker = self._worker
        if worker is not None:
            worker.join()

    def _work(self, job: Job, plan: Any, path: Path, new: bool) -> None:
        def say(step: str) -> None:
            with self._lock:
                if job.cancelled.is_set() and not job.charged:
                    raise Cancelled("cancelled; nothing was spent")
                number = service.STAGES.index(step)
                job.stage, job.said, job.charged = number, step, number > 1
            self.tell()

        try:
            folder = service.choose_folder(plan, path, new=new)
            releases = service.release_plan(plan, folder, new=new, say=say)
            job.result, job.stage = folder.name, len(service.STAGES)
            job.said = (
                "this was released before: the stored result, which costs nothing" if releases.stored else "released"
            )
            job.state = "done"
        except Cancelled as error:
            job.state, job.said = "cancelled", str(error)
        except (ValueError, TypeError, OSError, ArithmeticError, ImportError, MemoryError) as error:
            job.state, job.said = "failed", visible(str(error))
        except BaseException as error:
            job.state, job.said = "failed", f"the release ended with {type(error).__name__}"
            print(f"inbounds studio: a release ended with {type(error).__name__}", flush=True)
        finally:
            self.tell()

    # What changed

    def mark(self) -> tuple[Any, ...]:
        """Something that changes when the plan, its ledger or the results do."""
        marks: list[Any] = [self._plan]
        for path in (self.folder / (self._plan or ""), self.folder, self.folder / "results"):
            try:
                stat = path.stat()
                marks.append((stat.st_mtime_ns, stat.st_size))
            except OSError:
                marks.append(None)
        return (*marks, self._find_last_charge())

    def _find_last_charge(self) -> str | None:
        """When the ledger of the plan was last written to, perhaps by another program."""
        try:
            plan = self.read().plan
            ledger = None if plan is None else plan.budget.ledger
            return None if ledger is None else str(Path(ledger).stat().st_mtime_ns)
        except (OSError, PlanError):
            return None

    def _find_left(self) -> str | None:
        """What the dataset of the plan has left. None without a ledger, or if that cannot be said."""
        try:
            account = self._load_plan().account
            return None if account is None else service.find_left(account)
        except InboundsError:
            return None

    def state(self) -> dict[str, Any]:
        """Everything that all browsers show alike."""
        try:
            reading: dict[str, Any] | None = self.read().to_dict() if self._plan is not None else None
            mistake = None
        except PlanError as error:
            reading, mistake = None, visible(str(error))
        return {
            "folder": self.folder.resolve().name,
            "files": service.list_files(self.folder),
            "plan": self._plan,
            "read": reading,
            "said": mistake,
            "job": None if self._job is None else self._job.to_dict(),
            "results": service.list_results(self.folder),
            "charged": self._find_last_charge(),
            "left": self._find_left(),
        }
