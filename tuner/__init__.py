"""tuner: which speculative decoding setting for this target, on this engine and device - or none - and how sure."""
