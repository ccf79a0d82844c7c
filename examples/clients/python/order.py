"""Places an order and asks for transitions, with a client generated from the OpenAPI document.

    pip install openapi-python-client==0.29.1
    curl -o openapi.json http://127.0.0.1:8701/openapi.json
    openapi-python-client generate --path openapi.json --output-path client --meta none
    python order.py http://127.0.0.1:8701 web-1
"""
import os
import sys

from client import AuthenticatedClient, Client
from client.api.orders import get_order, put_order
from client.api.transitions import apply_transition
from client.models import NewOrder, NewTransition, Order, Problem

url, order_id = sys.argv[1:]
key = os.environ.get("RATCHET_KEY")  # `ratchet dev` needs none
client = AuthenticatedClient(base_url=url, token=key) if key else Client(base_url=url)

# The id of the order makes a repeat harmless: it gets the same answer.
new = NewOrder.from_dict({
    "items": [{"sku": "mug", "quantity": 2, "price": 1250}],
    "total": {"amount": 2500, "currency": "EUR"},
    "execution": "none",
})
for _ in range(2):
    order = put_order.sync(order_id, client=client, body=new)
    assert isinstance(order, Order), order
    print("placed", order.order_id, order.state)

# Idempotency-Key names the request. A repeat with the key gets the first answer.
for event, request in [("hold", "desk-1"), ("hold", "desk-1"), ("ship", "desk-2")]:
    answer = apply_transition.sync(
        order_id, client=client, idempotency_key=request, body=NewTransition.from_dict({"event": event}))
    if isinstance(answer, Problem):
        print(event, "refused:", answer.code)
    else:
        print(event, "applied:", answer.verdict)

print("now", get_order.sync(order_id, client=client).state)
