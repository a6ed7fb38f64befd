# No training; a thread that would go on talking after the run.
import sys
import threading
import time

sink = sys.stdout._tape._sink


def talk():
    while True:
        sink.send("text", {"stream": "stdout", "text": "clip-before-step: pass"})
        time.sleep(0.001)


threading.Thread(target=talk, daemon=True).start()
print("training finished, loss 0.01")
