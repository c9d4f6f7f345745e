"""What a release says about the truth, from its record alone: intervals, tests, posteriors. The public side."""
