#!/usr/bin/env bash
# Installs LocalStack and the AWS CLI from PyPI below the folder $1, once. LocalStack needs Python 3.13. Versions that it leaves
# open are named here: newer ones do not work with it.
set -euo pipefail
home=$1
done="$home/aws-cli-1/installed"
test -f "$done" && exit 0
fail() { echo "aws-check: $1" >&2; exit 1; }

newest=
for python in python3.13 python3 /root/.pyenv/versions/3.13*/bin/python3; do
  "$python" -c 'import sys, ensurepip; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null && newest=$python && break
done
test -n "$newest" || fail "Python 3.13 is missing, which LocalStack needs"

rm -rf "$home/localstack-1" "$home/aws-cli-1"
"$newest" -m venv "$home/localstack-1"
"$home/localstack-1/bin/pip" install --quiet --no-compile 'localstack-core[runtime]==2026.3.0' 'cbor2==5.9.0' 'cryptography==44.0.3' \
  'pyOpenSSL==24.3.0' 'service-identity==24.2.0' || fail "LocalStack cannot be installed from PyPI"
python3 -m venv "$home/aws-cli-1"
"$home/aws-cli-1/bin/pip" install --quiet --no-compile awscli==1.42.0 || fail "the AWS CLI cannot be installed from PyPI"
touch "$done"
