"""CoDel (RFC 8289) written in Python: the built-in `codel`, verdict for verdict."""

import math

import sojourn as sj


class MyCodel(sj.Aqm):
    """CoDel: drops at the head while the sojourn time stays above a target."""

    def __init__(self, target="5 ms", interval="100 ms", ecn=False):
        if target >= interval:
            raise ValueError("target must be below interval; write e.g. target 5ms interval 100ms")
        self.target, self.interval, self.ecn = target, interval, ecn  # times are passed in ns
        self.first_above_time = self.drop_next = self.count = self.lastcount = 0
        self.dropping = False

    def dequeue(self, cx, queue):
        now, ok_to_drop = cx.now, self.ok_to_drop(cx, queue)
        if not ok_to_drop:
            self.dropping = False
        elif not self.dropping:
            if not self.signal(queue):
                self.ok_to_drop(cx, queue)
            delta, recent = self.count - self.lastcount, now - self.drop_next < 16 * self.interval
            self.count = self.lastcount = delta if delta > 1 and recent else 1
            self.drop_next, self.dropping = now + self.step(), True
        while self.dropping and now >= self.drop_next:
            marked = self.signal(queue)
            self.dropping = marked or self.ok_to_drop(cx, queue)
            if self.dropping:
                self.count += 1
                self.drop_next += self.step()  # from the last drop, not from now
            if marked:
                break
        return queue.pop()

    def ok_to_drop(self, cx, queue):
        head, now = queue.meta(0), cx.now
        if not head or now - head.enqueued < self.target or queue.total_bytes - head.len <= cx.mtu:
            self.first_above_time = 0
        elif self.first_above_time == 0:
            self.first_above_time = now + self.interval
        else:
            return now >= self.first_above_time
        return False

    def signal(self, queue):
        """Mark the head, or drop it; return whether it was marked."""
        if self.ecn:
            return queue.mark(0)  # drops a packet that is not ECN-capable
        queue.drop(0)
        return False

    def step(self):
        return int(self.interval / math.sqrt(self.count) + 0.5)

    def observe(self):
        return {"count": self.count, "drop_next": self.drop_next / 1e9, "dropping": self.dropping}
