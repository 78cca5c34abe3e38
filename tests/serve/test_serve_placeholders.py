"""What must come back unchanged is found, and mended where a model wrote it in another form."""

import pytest

from pellucid.serve.placeholders import PLACEHOLDER, mend


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("%s, %1$s: %(name)s %d %5.2f %% %@", ["%s", "%1$s", "%(name)s", "%d", "%5.2f", "%%", "%@"]),
        ("50% de 20 % des 1,5%. 3%% 4 %d", ["50%", "20 %", "1,5%", "3", "%%", "4", "%d"]),
        ("5 %.2f 6 %1$s 7 %{w}", ["5", "%.2f", "6", "%1$s", "7", "%{w}"]),
        ("{name} {0} {} {{x}} ${x} {0:.1f}", ["{name}", "{0}", "{}", "{{x}}", "${x}", "{0:.1f}"]),
        ("{{ a.b }} {% if %}", ["{{ a.b }}", "{% if %}"]),
        ("{n, plural, one {a file} other {# files}}", ["{n, plural, one {a file} other {# files}}"]),
        ("{like this one}", []),
        (r"One.\nTwo\t", [r"\n", r"\t"]),
        ("(see https://a.org/b?c=d&e#f). www.b.org, www.", ["https://a.org/b?c=d&e#f", "www.b.org"]),
        ("https://a.org/é।¡ https://a.org/bです", ["https://a.org/é", "https://a.org/b"]),
        ("me.too+x@mail.b-c.org. @you a@", ["me.too+x@mail.b-c.org"]),
        ("-3 1,000.5 1.000,5 12:30 +1 1’000", ["-3", "1,000.5", "1.000,5", "12:30", "+1", "1’000"]),
        ("COVID-19 on 2026-11-24.", ["19", "2026-11-24"]),
    ],
)  # fmt: skip
def test_placeholders_are_found(text: str, found: list[str]) -> None:
    assert PLACEHOLDER.findall(text) == found


@pytest.mark.parametrize(
    ("source", "translation", "mended"),
    [
        ("a %s b", "c %s", "c %s"),
        ("a %s b", "c % S", "c %s"),
        ("{name}", "{ name }", "{name}"),
        ("{{ x }}", "{{x}}", None),
        ("1,000.5 km", "1.000,5 km", "1,000.5 km"),
        ("-5", "− 5", "-5"),
        ("1,000% of", "1.000 % de", "1,000% de"),
        ("100% of", "100 de", None),
        ("%s of %s", "%s", None),
        ("a 3", "b", None),
        ("a 3", "3 and 3", None),
        ("a 3", "30", None),
        ("%d", "d% der", None),
        ("no number", "one 1", "one 1"),
    ],
)
def test_a_translation_is_mended(source: str, translation: str, mended: str | None) -> None:
    assert mend(translation, source) == mended
