"""What a program makes itself and cannot run with: misfitting models, data drawn at random."""
