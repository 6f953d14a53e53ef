"""Where sections start: several sources of evidence, weighed against each other. Pages in, headings out; no model."""
