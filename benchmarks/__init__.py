"""Measurements that the documentation quotes; not part of the installed package."""
