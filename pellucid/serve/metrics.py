"""Figures for Prometheus: what was asked and refused, how long it took, and what the batchers do."""

from collections.abc import Iterable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from pellucid.serve.service import Service

SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
COUNTED = {
    "steps": "Steps of the batch",
    "decoded": "Sentences in the batch, summed over its steps",
    "tokens": "Tokens computed: of sources, and of hypotheses",
    "seconds": "Seconds of decoding",
}
PRESENT = {
    "open": "Sentences that are being decoded",
    "waiting": "Sentences that wait",
    "speed": "Tokens per second",
}


class Metrics(Collector):
    """The figures of one server; those of its batchers are read when they are asked for."""

    def __init__(self, service: Service) -> None:
        self._service, self._registry = service, CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)
        about: dict[str, Any] = dict(registry=self._registry, namespace="pellucid")
        self._answers = Counter("answers", "Answers", ["route", "status"], **about)
        self._seconds = Histogram(
            "answer_seconds", "Seconds until an answer", ["route"], buckets=SECONDS, **about
        )

    def collect(self) -> Iterable[Metric]:
        """Yield the figures of the batchers, labelled with the number of the model."""
        for family, names in ((CounterMetricFamily, COUNTED), (GaugeMetricFamily, PRESENT)):
            for name, about in names.items():
                metric = family(f"pellucid_{name}", about, labels=["model"])
                for number, model in enumerate(self._service.models):
                    metric.add_metric([f"{number}"], getattr(model.batcher, name))
                yield metric

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._answers.labels(route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Return all figures in the format of Prometheus."""
        return generate_latest(self._registry)
