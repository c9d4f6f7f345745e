"""The public side: post-processing of released numbers into possible ones."""
