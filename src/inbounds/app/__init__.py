"""What a steward touches: previews, targets and budgets, and what will be built on them."""
