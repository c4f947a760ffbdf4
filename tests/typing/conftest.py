"""The scripts are run by a test, not when doctests are collected."""

collect_ignore = ["scripts"]
