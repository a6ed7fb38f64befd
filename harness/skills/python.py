"""Whether a text is Python, without running it and without a word on standard error."""

import ast
import warnings

from harness.syntax import tree_of


def parsed(code: str) -> ast.Module | None:
    """Its tree; ``None`` when it is no program."""
    return None if flaw_of(code) else tree_of(code)


def flaw_of(code: str) -> str | None:
    """Why it is no program. Compiling sees more than parsing: ``await`` at module level, say."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a doubtful escape sequence is the author's business
        try:
            compile(code, "<example>", "exec", dont_inherit=True)
        except SyntaxError as error:
            return f"{error.msg} (line {error.lineno} of the example)"
        except (ValueError, RecursionError, MemoryError) as error:
            return str(error) or type(error).__name__
    return None
