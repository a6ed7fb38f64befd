"""A worker whose import leaves a thread behind: a zygote must refuse to fork with it."""

import threading

threading.Thread(target=threading.Event().wait, name="left-behind", daemon=True).start()


def begin(*_: object) -> None:
    """Never reached."""
