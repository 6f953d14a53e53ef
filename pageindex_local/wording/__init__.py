"""What is told to people and programs about records: lines, Markdown and JSON values. Data in, text out."""
