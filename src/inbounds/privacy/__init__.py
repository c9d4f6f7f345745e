"""What one record can do, and what was promised."""
