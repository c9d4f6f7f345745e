"""Audits try to show that a mechanism loses more privacy than it claims. They only need to call it many times."""
