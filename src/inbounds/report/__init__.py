"""The report of a release, made from its public record alone: rows of values, a page, and the same in Markdown."""
