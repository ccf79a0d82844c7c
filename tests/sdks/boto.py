"""Tries the engine at $ENDPOINT with boto3: resource and client."""
import os
from decimal import Decimal

import boto3
from boto3.dynamodb.conditions import Attr, Key

resource = boto3.resource("dynamodb", endpoint_url=os.environ["ENDPOINT"])
client = resource.meta.client


def same(got, want):
    assert got == want, f"got {got}, want {want}"


table = resource.create_table(
    TableName="boto", BillingMode="PAY_PER_REQUEST",
    KeySchema=[{"AttributeName": "h", "KeyType": "HASH"}, {"AttributeName": "r", "KeyType": "RANGE"}],
    AttributeDefinitions=[{"AttributeName": n, "AttributeType": t} for n, t in (("h", "S"), ("r", "N"), ("state", "S"))],
    GlobalSecondaryIndexes=[{"IndexName": "by-state", "Projection": {"ProjectionType": "ALL"},
                             "KeySchema": [{"AttributeName": "state", "KeyType": "HASH"}, {"AttributeName": "r", "KeyType": "RANGE"}]}])
table.wait_until_exists()

with table.batch_writer() as batch:
    for n in range(60):
        batch.put_item(Item={"h": f"p{n % 2}", "r": n, "state": f"s{n % 3}", "price": Decimal("1.50"), "tags": {"a", "b"}})

same([int(i["r"]) for i in table.query(IndexName="by-state", KeyConditionExpression=Key("state").eq("s1") & Key("r").between(10, 20))["Items"]], [10, 13, 16, 19])
same(sum(p["Count"] for p in client.get_paginator("scan").paginate(TableName="boto", PaginationConfig={"PageSize": 7})), 60)
same(len(table.scan(FilterExpression=Attr("tags").contains("a") & Attr("r").lt(5))["Items"]), 5)
same(table.query(KeyConditions={"h": {"ComparisonOperator": "EQ", "AttributeValueList": ["p1"]}}, Select="COUNT")["Count"], 30)
same(table.update_item(Key={"h": "p0", "r": 0}, UpdateExpression="SET price = price + :p", ExpressionAttributeValues={":p": Decimal("0.25")},
                       ReturnValues="UPDATED_NEW")["Attributes"], {"price": Decimal("1.75")})

try:
    table.put_item(Item={"h": "p0", "r": 0}, ConditionExpression=Attr("h").not_exists())
    raise AssertionError("an item was written over")
except client.exceptions.ConditionalCheckFailedException:
    pass

try:
    client.transact_write_items(TransactItems=[
        {"Put": {"TableName": "boto", "Item": {"h": "new", "r": 1}}},
        {"ConditionCheck": {"TableName": "boto", "Key": {"h": "none", "r": 1}, "ConditionExpression": "attribute_exists(h)"}}])
    raise AssertionError("a transaction whose check fails was made")
except client.exceptions.TransactionCanceledException as e:
    same([r["Code"] for r in e.response["CancellationReasons"]], ["None", "ConditionalCheckFailed"])
same("Item" in table.get_item(Key={"h": "new", "r": 1}), False)

try:
    client.execute_statement(Statement="INSERT INTO boto VALUE {'h':'p0','r':0}")
    raise AssertionError("an item was inserted twice")
except client.exceptions.DuplicateItemException:
    pass
answers = client.batch_execute_statement(Statements=[{"Statement": "SELECT price FROM boto WHERE h = ? AND r = ?", "Parameters": ["p0", 0]}, {"Statement": "SELECT * FROM boto"}])["Responses"]
same(answers[0]["Item"], {"price": Decimal("1.75")})
same(answers[1]["Error"]["Code"], "ValidationError")
table.delete()
table.wait_until_not_exists()
