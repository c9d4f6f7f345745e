"""Forecast the errors of releases before anything is spent. No data are read."""
