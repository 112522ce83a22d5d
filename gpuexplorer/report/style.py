"""The head of a page: its style, light and dark, and the policy that nothing is run or loaded."""

from __future__ import annotations

from gpuexplorer.charts.style import THEMES
from gpuexplorer.core.language import current
from gpuexplorer.report.figure import variables
from gpuexplorer.report.html import told

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)


def page_head(title: str) -> str:
    """Return the page up to its body."""
    return _HEAD.format(
        policy=POLICY, title=told(title), style=_style(), language=current().replace("_", "-")
    )


def _style() -> str:
    light, dark = (
        " ".join(f"{name}: {colour};" for name, colour in variables(THEMES[theme]).items())
        for theme in ("light", "dark")
    )
    return _CSS.replace("/*light*/", light).replace("/*dark*/", dark)


_HEAD = """<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="GPU Explorer">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
"""

_CSS = """:root { /*light*/ --good: #17633c; --bad: #a3323b; --warn: #7a5200; }
@media (prefers-color-scheme: dark) {
  :root { /*dark*/ --good: #5fd39a; --bad: #ff8087; --warn: #f0c04a; }
}
@media print {
  :root { /*light*/ --good: #17633c; --bad: #a3323b; --warn: #7a5200; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 3rem; max-width: 68rem; background: var(--page);
  color: var(--text); font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
  overflow-wrap: anywhere; }
h1 { font-size: 1.55rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; padding-bottom: .25rem;
  border-bottom: 1px solid var(--grid); }
p { margin: .4rem 0; }
.lead, .note, footer, figcaption { color: var(--muted); }
.marks { color: var(--warn); }
.words { white-space: pre-wrap; border-left: 3px solid var(--grid); padding-left: .75rem; }
.badge { display: inline-block; margin: 0 .5rem .25rem 0; padding: .05rem .6rem;
  border: 1px solid currentColor; border-radius: 1rem; font-size: .85rem; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; }
.unknown { color: var(--warn); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .4rem 0; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .22rem 1.1rem .22rem 0; }
tbody th { font-weight: 400; color: var(--muted); white-space: nowrap; }
thead th { font-weight: 600; border-bottom: 1px solid var(--grid); }
.runs tbody tr:nth-child(even) { background: color-mix(in srgb, var(--grid) 35%, transparent); }
.runs th, .runs td { padding-left: .4rem; white-space: nowrap; }
.figures td:nth-child(2) { font-weight: 600; white-space: nowrap; }
figure { margin: .5rem 0 1rem; }
figure svg { width: 100%; height: auto; display: block; }
pre { background: color-mix(in srgb, var(--grid) 45%, transparent); padding: .6rem .8rem;
  border-radius: 6px; white-space: pre-wrap; font-size: .9rem; }
a { color: var(--slot0); }
footer { margin-top: 2.5rem; font-size: .85rem; }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  section, figure, tr { break-inside: avoid; }
  h2 { break-after: avoid; }
  .wide { overflow: visible; }
}
"""
