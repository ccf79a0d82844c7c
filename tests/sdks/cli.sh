#!/usr/bin/env bash
# Tries the engine at $ENDPOINT with the AWS CLI.
set -euo pipefail
ddb() { aws dynamodb --endpoint-url "$ENDPOINT" --output text "$@"; }
same() { test "$1" = "$2" || { echo "got '$1', want '$2'" >&2; exit 1; }; }

ddb create-table --table-name cli --billing-mode PAY_PER_REQUEST \
  --attribute-definitions AttributeName=h,AttributeType=S AttributeName=r,AttributeType=N AttributeName=state,AttributeType=S \
  --key-schema AttributeName=h,KeyType=HASH AttributeName=r,KeyType=RANGE \
  --global-secondary-indexes 'IndexName=by-state,KeySchema=[{AttributeName=state,KeyType=HASH},{AttributeName=r,KeyType=RANGE}],Projection={ProjectionType=ALL}' >/dev/null
ddb wait table-exists --table-name cli

puts=""
for n in 1 2 3 4 5; do
  puts+="${puts:+,}{\"PutRequest\":{\"Item\":{\"h\":{\"S\":\"p\"},\"r\":{\"N\":\"$n\"},\"state\":{\"S\":\"s$((n % 2))\"}}}}"
done
ddb batch-write-item --request-items "{\"cli\":[$puts]}" >/dev/null

# The CLI follows LastEvaluatedKey itself, two items a page, and prints a line for each page.
same "$(ddb query --table-name cli --index-name by-state --page-size 2 --key-condition-expression '#s = :s' \
  --expression-attribute-names '{"#s":"state"}' --expression-attribute-values '{":s":{"S":"s1"}}' --query 'Items[].r.N' | xargs)" '1 3 5'
same "$(ddb scan --table-name cli --total-segments 1 --segment 0 --select COUNT --query Count)" 5
same "$(ddb get-item --table-name cli --key '{"h":{"S":"p"},"r":{"N":"1"}}' --attributes-to-get state --query Item.state.S)" s1

ddb transact-write-items --transact-items '[
  {"Update":{"TableName":"cli","Key":{"h":{"S":"p"},"r":{"N":"1"}},"UpdateExpression":"ADD n :n","ExpressionAttributeValues":{":n":{"N":"1"}}}},
  {"Delete":{"TableName":"cli","Key":{"h":{"S":"p"},"r":{"N":"5"}}}}]' >/dev/null
if said=$(ddb transact-write-items --transact-items '[{"ConditionCheck":{"TableName":"cli","Key":{"h":{"S":"p"},"r":{"N":"5"}},"ConditionExpression":"attribute_exists(h)"}}]' 2>&1); then
  echo "a transaction whose check fails was made" >&2; exit 1
fi
grep -q TransactionCanceledException <<<"$said" || { echo "said: $said" >&2; exit 1; }

ddb execute-statement --statement "INSERT INTO cli VALUE {'h':'q','r':1,'tags':<<'a','b'>>}" >/dev/null
same "$(ddb execute-statement --statement "SELECT * FROM cli WHERE h = 'p' ORDER BY r DESC" --query 'Items[].r.N' | xargs)" '4 3 2 1'
ddb delete-table --table-name cli >/dev/null
ddb wait table-not-exists --table-name cli
