"""A queue manager that drops packets that have waited too long."""

import sojourn as sj


class Deadline(sj.Aqm):
    """Drops at the head whatever waited longer than a bound."""

    def __init__(self, bound="20 ms"):
        self.bound = bound  # ns

    def dequeue(self, cx, queue):
        """Drop late packets, then send the next."""
        while queue.meta(0) and cx.now - queue.meta(0).enqueued > self.bound:
            queue.drop(0)
        return queue.pop()
