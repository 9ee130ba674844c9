"""Models behind an OpenAI-compatible API: bounded concurrency, retries, a budget, and a
store of every answer.

Keys come from environment variables and go nowhere but into the request's header.
"""
