"""Claims through Powertools for AWS Lambda (Python), for cmd/bench/claims.go.

Usage: powertools.py ENDPOINT TABLE EXECUTIONS THREADS ROUND

Runs a function that does nothing, EXECUTIONS times under keys of its own, through
@idempotent_function with its DynamoDB store and default settings, and prints one JSON
object: seconds, and the write units that DynamoDB reported.
"""

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import boto3
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from botocore.config import Config

endpoint, table, executions, threads, round_name = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]

config = Config(region_name="us-east-1", max_pool_connections=threads)
session = boto3.Session(aws_access_key_id="bench", aws_secret_access_key="bench", region_name="us-east-1")
client = session.client("dynamodb", endpoint_url=endpoint, config=config)

lock = threading.Lock()
units = 0.0


def ask(params, **_):
    params["ReturnConsumedCapacity"] = "TOTAL"


def add(parsed, **_):
    global units
    consumed = parsed.get("ConsumedCapacity", {}).get("CapacityUnits", 0)
    with lock:
        units += consumed


for operation in ("PutItem", "UpdateItem"):
    client.meta.events.register(f"provide-client-params.dynamodb.{operation}", ask)
    client.meta.events.register(f"after-call.dynamodb.{operation}", add)

store = DynamoDBPersistenceLayer(table_name=table, key_attr="idempotencyKey", boto3_client=client, boto_config=config)
settings = IdempotencyConfig()


@idempotent_function(data_keyword_argument="order", persistence_store=store, config=settings)
def work(order):
    return {"done": True}


def run(number):
    work(order={"id": f"{round_name}-{number}"})


with ThreadPoolExecutor(threads) as pool:
    list(pool.map(run, (f"warm-{n}" for n in range(threads))))
    units = 0.0
    began = time.perf_counter()
    list(pool.map(run, range(executions)))
    seconds = time.perf_counter() - began

print(json.dumps({"seconds": seconds, "writeUnits": units}))
