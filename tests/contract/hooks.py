"""What a generator of requests cannot know, for requests that are meant to be good."""

import re
import uuid

import schemathesis


# The attributes of an order that no caller may write: the key and the fields of transitions.Mapping.
RATCHETS = set(
    "orderId orderState transitionId previousState incarnation definitionVersion createdAt updatedAt enteredAt recent cause editCause items total "
    "contentVersion shippingAddress billingAddress notes customer reference metadata placedBy placeHash processedEvents parcels erasedAt lives "
    "reqAt reqAfter timers".split()
)


def good(case):
    return case.meta is not None and case.meta.generation.mode.is_positive


def unmasked(value):
    """A copy with whole numbers as clients write them, and without the form that stands in answers for what the caller
    may not see: no request may have it."""
    if isinstance(value, str):
        return value.replace("[masked]", "x")
    # 5.0 is an integer in a schema; clients write an integer without a fraction.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [unmasked(v) for v in value]
    if isinstance(value, dict):
        return {unmasked(k): unmasked(v) for k, v in value.items()}
    return value


@schemathesis.hook
def before_call(context, case, kwargs):
    if not good(case):
        return
    if isinstance(case.body, (dict, list)):
        case.body = unmasked(case.body)
    for name, value in (case.query or {}).items():
        case.query[name] = unmasked(value)
    headers, query = case.headers or {}, case.query or {}
    # 5.0 is an integer in a schema; in a path or a query an integer is written without a fraction.
    for values in (case.path_parameters or {}, query):
        for name, value in values.items():
            if isinstance(value, float) and value.is_integer():
                values[name] = int(value)
            elif isinstance(value, str) and re.fullmatch(r"-?\d+\.0", value):
                values[name] = value.removesuffix(".0")
    # A reason has bytes, not characters.
    if "Ratchet-Reason" in headers:
        headers["Ratchet-Reason"] = "contract"
    # A key names one request: the generator's "0" for two bodies is a conflict by right.
    if "Idempotency-Key" in headers:
        headers["Idempotency-Key"] = uuid.uuid4().hex
    # A cursor is sealed; one that nobody gave out is refused by right.
    if "cursor" in query and not case.path.startswith("/openapi"):
        query.pop("cursor")
    # A list of acts covers 1,000 days at most; a moment at random is longer ago.
    if case.path == "/v1/audit":
        query.pop("since", None)
    # Without lists, orders are not found by time; which times go with which lists is tested in api/.
    if case.operation.definition.raw.get("operationId") == "list-orders":
        for name in ("since", "until", "by"):
            query.pop(name, None)
    # Of a payment's states at random there is none.
    if case.operation.definition.raw.get("operationId") == "list-payments":
        query.pop("state", None)
    body = case.body
    if not isinstance(body, dict):
        return
    operation = case.operation.definition.raw.get("operationId")
    if operation == "apply-transition":
        # Of an event and a source state at random the definition knows few, and an order
        # has one transitionId at a time; what is refused by right is tested in api/.
        body.pop("from", None)
        if "transitionId" in body:
            headers.pop("If-Match", None)
    if operation == "schedule-transition":
        body.pop("from", None)  # the document lists the states; a request is judged by those of its time
    if "expiresAt" in body:  # a moment at random is past
        body["expiresAt"] = "2030-01-01T00:00:00Z"
        body.pop("activeAt", None)
    if operation in ("create-action", "put-action") and "pin" not in body:
        body.pop("maxAttempts", None)
    if operation == "consume-action":  # a hold at random is nobody's
        body.pop("holder", None)
        body.pop("fence", None)
    if operation == "claim":  # a key is one payload's
        case.path_parameters["key"] = uuid.uuid4().hex
    if operation == "put-action":  # a code has no underscore, an assigned id has
        case.path_parameters["action"] = "code-" + uuid.uuid4().hex
    if operation == "ship-parcel" and "lines" in body:  # each SKU is there once
        body["lines"] = list({line["sku"]: line for line in body["lines"]}.values())
    if operation == "make-actions":  # a batch is one content's; many codes take long
        case.path_parameters["batch"] = uuid.uuid4().hex
        body["count"] = 2
    if operation in ("create-endpoint", "change-endpoint"):  # what fits a destination depends on its kind
        body["destination"] = "log"
        for name in ("headers", "filter", "subject", "text", "description"):
            body.pop(name, None)
    if operation == "plan-migration":  # a text at random is no definition
        body.clear()
    if operation == "create-job":  # which filter goes with which kind is tested in api/; ids are as lists show them
        stream, keep = str(body.get("kind")).startswith("dead-letters"), {}
        if stream:
            keep = {"handler": "notify"}
        elif body.get("kind") == "deliveries-resend":
            keep = {"endpoint": "shop"}
        elif body.get("kind") == "orders-erase":
            keep = {"endedBefore": "2026-01-01T00:00:00Z"}
        elif body.get("kind") == "streams-replay":
            keep = {"since": "2026-01-01T00:00:00Z"}
        body.pop("migration", None)
        if body.get("kind") == "orders-migrate":
            body["migration"] = {}
        if body.get("kind") != "streams-replay":
            body.pop("again", None)
        body["filter"] = keep
        body.pop("ids", None)
    if str(body.get("error")).startswith("States."):  # the names of Step Functions are reserved
        body["error"] = "Contract." + body["error"].removeprefix("States.")
    own = body.get("own")
    if isinstance(own, dict):  # Ratchet's attributes are not the caller's, and one that is set is not removed
        for name in RATCHETS:
            own.pop(name, None)
        if operation in ("apply-transition", "set-own"):
            guards, values = own.get("if", {}), own.get("set", {})
            for attributes in (values, guards.get("equals", {})):
                for name in RATCHETS:
                    attributes.pop(name, None)
            for holder, list_of in ((own, "remove"), (guards, "exists"), (guards, "missing")):
                if list_of in holder:
                    holder[list_of] = [n for n in holder[list_of] if n not in RATCHETS and not (holder is own and n in values)]
    if operation == "add-note":  # bytes are counted, not characters
        for name in ("by", "text"):
            if isinstance(body.get(name), str):
                body[name] = body[name].encode("ascii", "ignore").decode() or "x"
    if operation == "rotate-endpoint-secret":  # bytes are counted, not characters
        body.pop("secret", None)
    if operation == "authorize-payment":  # from one account to another one
        body["payer"], body["payee"] = "contract-a", "contract-b"
    if operation == "post-transfer" and "legs" in body:  # legs sum to zero
        body["legs"] = [{"account": "contract-a", "amount": -5}, {"account": "contract-b", "amount": 5}]
