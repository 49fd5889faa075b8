"""How pages of arrayloom look: the profile of a program, and the run of a volume."""

__all__ = ["STYLE"]

STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em;
  color: #1b1f24; background: #fff; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .2em .8em .2em 0; border-bottom: 1px solid #e3e6ea; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
code { font-size: .93em; overflow-wrap: anywhere; }
svg { display: block; max-width: 100%; } svg .bar { fill: #4878a8; } svg .back { fill: #eef1f5; }
@media (prefers-color-scheme: dark) {
  body { color: #dde3ea; background: #15181c; } th, td { border-color: #30363d; }
  svg .back { fill: #252b32; } }
"""
