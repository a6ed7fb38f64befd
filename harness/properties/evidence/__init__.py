"""What the properties read off a trace: windows, norms, clips, schedules, printed numbers."""
