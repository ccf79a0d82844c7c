"""Takes Ratchet's webhooks: verifies each, acts once for each id, and answers.

    pip install standardwebhooks==1.1.0
    WEBHOOK_SECRET=whsec_... python receiver.py 9000 done.txt
"""
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook

hook = Webhook(os.environ["WEBHOOK_SECRET"])
port, name = int(sys.argv[1]), sys.argv[2]

# One line for each message that was acted on: its id, a space and its body. A shop stores the id in
# the transaction of its effect instead.
lock = threading.Lock()
done = open(name, "a+b")
done.seek(0)
ids = {line.split(b" ")[0].decode() for line in done}


def act_once(message_id, body):
    with lock:
        if message_id in ids:
            return
        done.write(message_id.encode() + b" " + body + b"\n")
        done.flush()
        os.fsync(done.fileno())  # before the answer: the sender does not send it again
        ids.add(message_id)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        if length > 256 << 10:
            return self.answer(413)
        body = self.rfile.read(length)  # the raw bytes: parse them only once they are verified
        try:
            hook.verify(body, dict(self.headers))
        except Exception:  # a header that cannot be read counts as a wrong signature
            return self.answer(401)
        act_once(self.headers["Webhook-Id"], body)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()


ThreadingHTTPServer(("127.0.0.1", port), Receiver).serve_forever()
