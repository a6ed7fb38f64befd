"""An event loop in a thread of its own, for callers that have none."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class LoopThread:
    """Runs coroutines for any thread, and can break all of them off."""

    def __init__(self) -> None:
        """Start it. The thread ends with ``close``, or with the process."""
        self._loop = asyncio.new_event_loop()
        self._closing = False
        self._lock = threading.Lock()  # nothing is handed to the loop once it is closing
        self._thread = threading.Thread(target=self._loop.run_forever, name="llm", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """What the coroutine returns or raises.

        Raises:
            CancelledError: the loop was closed meanwhile.
        """
        with self._lock:
            if self._closing:
                work.close()
                raise CancelledError
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        return future.result()

    def close(self, last: Coroutine[Any, Any, None]) -> None:
        """Break off what runs, let ``last`` finish, and end the thread. A second time: nothing."""
        with self._lock:
            if self._closing:
                last.close()
                return
            self._closing = True
        asyncio.run_coroutine_threadsafe(self._break_off(last), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @staticmethod
    async def _break_off(last: Coroutine[Any, Any, None]) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await last
