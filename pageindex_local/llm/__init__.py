"""The model: engines behind one batch-first interface, budgets, grammars, prompts and the completion cache."""
