"""Predictions of distributed training steps from Python, by a running `stepcast serve --stdio`.

Nothing but the standard library is needed, and the program `stepcast` on the PATH (or named by `program`):

    import stepcast
    with stepcast.Stepcast(jobs=2) as forecast:
        scenario = stepcast.load("scenarios/gpt3-175b-a100-1024.json")
        prediction = forecast.predict(scenario, {"cluster.nodes": 64})
        print(prediction["step_time_s"])

What a prediction holds is described in docs/formats/prediction.md, the protocol in docs/formats/worker-protocol.md.
"""

import copy
import json
import subprocess
import threading


class StepcastError(Exception):
    """The program could not be started, ended, or could not run a simulation."""


class ScenarioError(StepcastError):
    """A scenario is at fault. `faults` lists everything: file, pointer, message and suggestion of each."""

    def __init__(self, faults):
        self.faults = faults
        super().__init__("\n".join(_fault_text(fault) for fault in faults))


def load(path):
    """Reads a scenario file: JSON in which // and /* */ comments may stand."""
    with open(path, encoding="utf-8") as file:
        return json.loads(_without_comments(file.read()))


def changed(scenario, values):
    """A copy of a scenario with values at dotted paths: {"cluster.nodes": 64, "strategy.micro_batch": 2}."""
    out = copy.deepcopy(scenario)
    for path, value in values.items():
        at = out
        *parents, last = path.split(".")
        for key in parents:
            at = at.setdefault(key, {})
        at[last] = value
    return out


class Stepcast:
    """A serving program. `jobs` predictions run at once; `catalog` lists directories of own catalogue entries."""

    def __init__(self, program="stepcast", jobs=1, catalog=()):
        self._catalog = [str(directory) for directory in catalog]
        self._ids = 0
        self._replies = {}
        self._ended = False
        self._news = threading.Condition()
        try:
            self._process = subprocess.Popen(
                [program, "serve", "--stdio", "--jobs", str(jobs)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            )
        except OSError as error:
            raise StepcastError(f"cannot start {program}: {error}") from error
        # Replies are read as they come, so that no pipe fills up while many requests are written.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def predict(self, scenario, values=None, name="scenario"):
        """The prediction of one scenario, as a dict. Raises ScenarioError with every fault of it."""
        return self._reply(self._ask(changed(scenario, values or {}), name))

    def predict_many(self, scenarios):
        """Predictions of many scenarios in their order; ScenarioError objects stand where one is at fault."""
        waiting = [self._ask(scenario, f"scenario {i}") for i, scenario in enumerate(scenarios)]
        out = []
        for request in waiting:
            try:
                out.append(self._reply(request))
            except ScenarioError as error:
                out.append(error)
        return out

    def close(self):
        """Ends the program."""
        self._process.stdin.close()
        self._reader.join()
        self._process.stdout.close()
        self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _ask(self, scenario, name):
        self._ids += 1
        request = {"id": self._ids, "command": "run", "scenario": scenario, "file": name, "catalog": self._catalog}
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise StepcastError("stepcast serve has ended") from error
        return self._ids

    def _read(self):
        for line in self._process.stdout:
            reply = json.loads(line)
            with self._news:
                self._replies[reply["id"]] = reply
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _reply(self, request):
        with self._news:
            self._news.wait_for(lambda: request in self._replies or self._ended)
            if request not in self._replies:
                raise StepcastError("stepcast serve has ended")
            reply = self._replies.pop(request)
        if "faults" in reply:
            raise ScenarioError(reply["faults"])
        if "error" in reply:
            raise StepcastError(reply["error"])
        return reply["prediction"]


def _fault_text(fault):
    text = f"{fault['file']}: {fault['pointer']}: {fault['message']}"
    return f"{text}; {fault['suggestion']}" if fault.get("suggestion") else text


def _without_comments(text):
    out, at = [], 0
    while at < len(text):
        if text[at] == '"':
            end = at + 1
            while end < len(text) and text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            out.append(text[at : end + 1])
            at = end + 1
        elif text.startswith("//", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("/*", at):
            end = text.find("*/", at)
            at = len(text) if end < 0 else end + 2
            out.append(" ")
        else:
            out.append(text[at])
            at += 1
    return "".join(out)
