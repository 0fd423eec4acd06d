"""What was measured of one target over time, on one page: what `tuner history` lists, with charts."""
