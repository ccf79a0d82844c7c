#!/usr/bin/env bash
# Installs the SDKs that the tests use below the folder $1, once.
set -euo pipefail
home=$1
done="$home/installed-1"
test -f "$done" && exit 0
rm -rf "$home" && mkdir -p "$home/js"

python3 -m venv "$home/python" && "$home/python/bin/pip" install --quiet --no-compile boto3==1.40.0 awscli==1.42.0 ||
  { echo "sdks: boto3 and the AWS CLI cannot be installed from PyPI, so the engine was NOT tried with them" >&2; exit 1; }
npm install --silent --no-fund --no-audit --prefix "$home/js" @aws-sdk/client-dynamodb@3.1164.0 ||
  { echo "sdks: the AWS SDK for JavaScript cannot be installed from npm, so the engine was NOT tried with it" >&2; exit 1; }
touch "$done"
