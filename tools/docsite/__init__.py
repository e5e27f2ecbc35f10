"""What the documentation site makes itself: a page per policy, world and public module, drawn and linked."""
