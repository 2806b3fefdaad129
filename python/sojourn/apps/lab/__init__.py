"""The simulator in a browser: `sojourn lab` serves it, notebooks and reports embed it.

Not to be confused with `sojourn.labs`, which has exercises for a course and grades them.

| module | purpose |
|---|---|
| `static` | the built page and its module |
| `start` | initial content of the page: a scenario, or a result |
| `written` | a scenario as editable text |
| `files` | the files that a scenario names |
| `payload` | a result as bytes that the page plays back |
| `native` | scenarios that the page has run by the native core |
| `server` | the local HTTP server |
| `embedded` | the component inside a self-contained page |
| `widget` | the component in Jupyter and marimo |
"""
