#!/usr/bin/env bash
# Installs the SDKs that the tests use below the folder $1, once.
set -euo pipefail
home=$1
done="$home/installed-4"
test -f "$done" && exit 0
rm -rf "$home" && mkdir -p "$home/js"

python3 -m venv "$home/python" && "$home/python/bin/pip" install --quiet --no-compile boto3==1.40.0 awscli==1.42.0 \
  standardwebhooks==1.1.0 openapi-python-client==0.29.1 ||
  { echo "sdks: boto3, the AWS CLI, standardwebhooks and openapi-python-client cannot be installed from PyPI, so nothing was tried with them" >&2; exit 1; }
npm install --silent --no-fund --no-audit --prefix "$home/js" @aws-sdk/client-dynamodb@3.1164.0 @aws-sdk/client-sqs@3.1164.0 \
  @aws-sdk/client-sfn@3.1164.0 aws-sdk@2.1693.0 \
  standardwebhooks@1.1.1 openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3 oidc-provider@9.13.3 ||
  { echo "sdks: the AWS SDKs for JavaScript, standardwebhooks, openapi-typescript and oidc-provider cannot be installed from npm, so nothing was tried with them" >&2; exit 1; }
mvn -q -B -f "$(dirname "$0")/../../examples/webhooks/java/pom.xml" dependency:copy-dependencies -DoutputDirectory="$home/java" >&2 ||
  { echo "sdks: standardwebhooks cannot be installed from Maven Central, so the receiver in Java was NOT tried" >&2; exit 1; }
mvn -q -B -f "$(dirname "$0")/java/pom.xml" dependency:copy-dependencies -DoutputDirectory="$home/java-sdk" >&2 ||
  { echo "sdks: the AWS SDK for Java cannot be installed from Maven Central, so the engine was NOT tried with it" >&2; exit 1; }
touch "$done"
