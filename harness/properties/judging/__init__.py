"""How properties become verdicts: what can be judged, and which failure explains which."""
