"""Fingerprints of scenario files by the native simulator: a JSON object, by the paths given."""

import json
import sys

import sojourn

print(json.dumps({path: sojourn.Scenario.load(path).run().fingerprint for path in sys.argv[1:]}))
