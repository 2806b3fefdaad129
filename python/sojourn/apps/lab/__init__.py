"""The simulator in a browser: `sojourn lab` serves it, notebooks and reports embed it.

Not `sojourn.labs`, which has exercises for a course and grades them.

| module | what it is for |
|---|---|
| `static` | the built page and its module |
| `start` | what the page begins with: a scenario, or a result |
| `written` | a scenario as a text to read and change |
| `files` | the files that a scenario names |
| `payload` | a result as bytes that the page plays back |
| `native` | scenarios that the page has run by the native core |
| `server` | the address on this machine |
| `embedded` | the component inside a page that stands alone |
| `widget` | the component in Jupyter and marimo |
"""
