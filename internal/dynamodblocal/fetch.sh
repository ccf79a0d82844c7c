#!/bin/sh
# Fetches DynamoDB Local, the vendor's own emulator, from Maven Central into the
# folder named by the first argument. Nothing happens when it is already there.
set -eu

version=3.1.0
sqlite4java=1.0.392
dir=$1

need() {
	if ! command -v "$1" >/dev/null 2>&1; then
		echo "$1 is not on the PATH; Java 17 and Maven are needed for the vendor's DynamoDB Local" >&2
		exit 1
	fi
}

need java
if [ -f "$dir/fetched-$version" ]; then
	exit 0
fi
need mvn

mkdir -p "$dir"
cat >"$dir/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>ratchet</groupId>
  <artifactId>conformance</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>software.amazon.dynamodb</groupId>
      <artifactId>DynamoDBLocal</artifactId>
      <version>$version</version>
    </dependency>
    <dependency>
      <groupId>com.almworks.sqlite4java</groupId>
      <artifactId>libsqlite4java-linux-amd64</artifactId>
      <version>$sqlite4java</version>
      <type>so</type>
    </dependency>
  </dependencies>
</project>
POM
mvn --batch-mode --quiet -Dstyle.color=never --file "$dir/pom.xml" \
	org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
	-DincludeScope=runtime -DoutputDirectory="$dir/lib" </dev/null
touch "$dir/fetched-$version"
