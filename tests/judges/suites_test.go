//go:build judges

package judges

import "path/filepath"

// suite is the tests of one client library.
type suite struct {
	library string
	// dir is where its tests run, below the folder that setup.sh fills.
	dir     string
	command []string
	env     []string
	read    func(output string) []outcome

	passed, skipped int
	// failures are the tests that fail on the engine, each with its reason.
	failures map[string]string
}

// decreases is the reason of failures that AWS answers, too: its documentation's answers to CreateTable have the member.
const decreases = "expects that an index's ProvisionedThroughput has no NumberOfDecreasesToday, which AWS's has"

// suites are the suites to run, with what setup.sh has put into the folder home.
func suites(home, here string) []suite {
	modules := filepath.Join(home, "js/node_modules")
	goTests := []string{"go", "test", "-vet=off", "-count=1", "-json", "-timeout", "20m", "./..."}
	// Suites of JavaScript find the libraries that they test with, also from a package's own folder.
	node := []string{"NODE_PATH=" + modules}
	mocha := []string{"node", filepath.Join(modules, ".bin/mocha"), "--reporter", "json", "--timeout", "120000", "--exit", "test/integration/*-test.js"}

	indexes := map[string]string{
		"Create Tables Integration Tests should create table with global index":                        decreases,
		"Create Tables Integration Tests should create table with global index with optional settings": decreases,
		"Create Tables Integration Tests should create table with global and local indexes":            decreases,
	}

	return []suite{
		{library: "guregu/dynamo 2.1.1", dir: "dynamo", command: goTests, read: readGo, passed: 190, env: []string{"DYNAMO_TEST_REGION=us-east-1"}},
		{library: "dynamolock 2.1.0", dir: "dynamolock", command: goTests, read: readGo, passed: 87},
		{library: "dynamodb (npm) 1.3.0, integration", dir: "js/node_modules/dynamodb", command: mocha, env: node, read: readMocha, passed: 69, failures: indexes},
		{library: "dynogels 9.1.0, integration", dir: "js/node_modules/dynogels", command: mocha, env: node, read: readMocha, passed: 79, failures: indexes},
		{
			library: "dynamodb-onetable 2.7.7, metrics", dir: "js/node_modules/dynamodb-onetable/dist/cjs/metrics",
			command: []string{
				"node", filepath.Join(modules, ".bin/jest"), "--runInBand", "--json", "--forceExit", "--config",
				`{"rootDir":".","testMatch":["<rootDir>/test/*.js"],"testPathIgnorePatterns":[],"haste":{"retainAllFiles":true},"testTimeout":120000,` +
					`"setupFilesAfterEnv":["` + filepath.Join(here, "metrics.cjs") + `"],"testEnvironment":"node","transform":{}}`,
			},
			env: node, read: readJest, passed: 45,
		},
		{
			library: "step-function-worker 2.1.0", dir: "js/node_modules/step-function-worker",
			command: []string{"node", filepath.Join(modules, ".bin/ava"), "--tap", "--serial", "--timeout", "10m", "test/scenarios/*.js"},
			env: append(node, "NODE_OPTIONS=--require "+filepath.Join(here, "endpoint.cjs"),
				"ROLE_ARN=arn:aws:iam::000000000000:role/worker"),
			read: readTAP, passed: 8,
		},
	}
}

// absent are suites that were run on the engine by hand, and that no registry has.
var absent = map[string]string{
	"PynamoDB, integration":       "its source package on PyPI has the tests of its parts, which replace DynamoDB, and not tests/integration",
	"dynamodb-onetable, the rest": "its package on npm has dist alone: tests of the metrics, and not those of the tables",
	"ElectroDB, connected":        "its package on npm has no tests",
}
