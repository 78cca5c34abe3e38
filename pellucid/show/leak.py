"""What a search for leaks found, as text."""

from collections.abc import Iterable

from pellucid.probes.leak import LeakReport
from pellucid.seeing.viewed import lines
from pellucid.show.columns import paragraph

SHOWN = 12  # leaks with a line of their own


@lines.register
def leak_lines(report: LeakReport, width: int = 80) -> list[str]:
    """The verdict, the first leaks, what was tried, and what counted as rounding."""
    text = paragraph(_verdict(report), width)
    text += _indent(map(str, report.leaks[:SHOWN]), width)
    if len(report.leaks) > SHOWN:
        text.append(f"  … and {len(report.leaks) - SHOWN} more")
    text += ["tried:", *_indent(report.tried, width)]
    largest = f"{report.rounding:.1e}" if report.rounding else "0"
    return [*text, f"largest difference taken for rounding: {largest}"]


def _verdict(report: LeakReport) -> str:
    if not report.leaks:
        return "nothing leaks: no prediction changed with a token that it must not know"
    count = len({leak.position for leak in report.leaks})
    verdict = f"it leaks: {count} position{'s depend' if count > 1 else ' depends'} on what must be hidden"
    in_training = all(leak.modes == ("training",) for leak in report.leaks)
    return f"{verdict}, in training mode only" if in_training else verdict


def _indent(texts: Iterable[str], width: int) -> list[str]:
    """Each text indented by 2, its further lines by 4."""
    return [
        f"{'    ' if number else '  '}{line}"
        for text in texts
        for number, line in enumerate(paragraph(text, width - 4))
    ]
