// The AWS SDK 2 for JavaScript reads no endpoint from the environment: clients that a suite makes get the engine's from here.
require('aws-sdk').config.update({ endpoint: process.env.ENDPOINT });
