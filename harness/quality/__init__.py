"""The judge is judged: wrong loops must be called wrong, right ones right, and cheats nothing."""
