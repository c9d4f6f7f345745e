"""The report of a release, made from its public record alone: values as CSV, and a page as HTML and as Markdown."""
