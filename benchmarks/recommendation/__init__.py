"""The measured tables behind `driftwise recommend`."""
