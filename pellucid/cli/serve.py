"""pellucid serve: answer requests over HTTP."""

import argparse
import signal
from dataclasses import fields

from pellucid.cli.arguments import check_models
from pellucid.errors import PellucidError, UsageError, did_you_mean


def run(arguments: argparse.Namespace) -> None:
    """Load the models and serve them until a signal."""
    try:
        from pellucid.serve.admission import Limits
        from pellucid.serve.keys import Keys
        from pellucid.serve.languages import Named
        from pellucid.serve.running import bind
        from pellucid.serve.running import run as answer
        from pellucid.serve.service import Service
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("pellucid"):
            raise
        message = f'serving needs {error.name}. Install it: pip install "pellucid[serve]"'
        raise PellucidError(message) from None
    named = [Named.of(each) for each in arguments.models]
    check_models(argparse.Namespace(model=[each.path for each in named]))
    known = [limit.name for limit in fields(Limits)]
    for name, value in arguments.limits:
        if name not in known:
            near = did_you_mean(name, known) or f" There are: {', '.join(known)}."
            raise UsageError(f"--limit {name}={value}: there is no such limit.{near}")
    limits, keys = Limits(**dict(arguments.limits)), Keys(arguments.keys)
    if hasattr(signal, "SIGHUP"):  # until it loads the models again: what is being loaded now is new
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with bind(arguments.host, arguments.port) as bound:
        service = Service(named, limits, keys, arguments.device, arguments.precision, arguments.memory)
        host, port = bound.getsockname()[:2]
        about = [f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"]
        for model in service.models:
            about.append(f"{model.name}: {', '.join('-'.join(pair) for pair in model.pairs)}")
        about.append("limits: " + ", ".join(f"{name} = {value}" for name, value in vars(limits).items()))
        answer(service, bound, about)
