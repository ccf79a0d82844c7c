#!/usr/bin/env bash
# Fetches the suites that the tests run below the folder $1, once. They are not part of the project.
set -euo pipefail
home=$1
done="$home/installed-1"
test -f "$done" && exit 0
test ! -d "$home" || chmod -R u+w "$home"
rm -rf "$home" && mkdir -p "$home/js"

module() { # path version folder
  dir=$(cd "$home" && GOFLAGS= go mod download -json "$1@$2" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
  test -n "$dir" || { echo "judges: the Go module proxy has no $1 $2, so its suite was NOT run" >&2; exit 1; }
  cp -r "$dir" "$home/$3" && chmod -R u+w "$home/$3"
}
module github.com/guregu/dynamo/v2 v2.1.1 dynamo
module cirello.io/dynamolock/v2 v2.1.0 dynamolock

npm install --silent --no-fund --no-audit --prefix "$home/js" dynamodb-onetable@2.7.7 dynamodb@1.3.0 dynogels@9.1.0 step-function-worker@2.1.0 \
  @aws-sdk/client-dynamodb@3.1164.0 aws-sdk@2.1693.0 senselogs@1.0.7 bluebird@3.7.2 chai@4.5.0 joi@17.13.4 sinon@9.2.4 winston@2.4.7 \
  mocha@7.2.0 ava@0.25.0 jest@29.7.0 ||
  { echo "judges: the suites of npm cannot be installed, so they were NOT run" >&2; exit 1; }

# The suites have the address of an emulator that they expect. The tests say where the engine is.
sed -i 's|"http://localhost:8000/"|os.Getenv("ENDPOINT")|; s|"localhost:8000"|os.Getenv("ADDRESS")|' "$home/dynamolock/client_test.go"
sed -i "s|'http://localhost:8000'|process.env.ENDPOINT|" "$home"/js/node_modules/{dynamodb,dynogels}/test/test-helper.js

# This one starts its emulator itself: it gets a process that does nothing.
mkdir -p "$home/bin" "$home/dynamolock/local-dynamodb"
printf '#!/bin/sh\nexec sleep 3600\n' >"$home/bin/java" && chmod +x "$home/bin/java"
touch "$done"
