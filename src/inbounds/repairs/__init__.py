"""Post-processing of released numbers into possible ones. It sees no record and no table."""
