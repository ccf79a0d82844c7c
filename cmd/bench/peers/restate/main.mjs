// Runs workflows of four steps that do nothing on Restate, whose server keeps its data in the directory
// that is the argument. Prints "ready". Then it reads lines with a number of clients and a number of
// workflows, runs them to their ends, and prints the seconds that they took. It ends with its input. Only
// benchmarks use it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import { createRequire } from "node:module";
import net from "node:net";
import readline from "node:readline";
import * as restate from "@restatedev/restate-sdk";

// The SDK needs what Node has since version 22.
Promise.withResolvers ??= function () {
  let resolve, reject;
  const promise = new Promise((yes, no) => ([resolve, reject] = [yes, no]));

  return { promise, resolve, reject };
};

const service = restate.service({
  name: "noop",
  handlers: {
    fourSteps: async (ctx, input) => {
      let output = input;
      for (const step of ["A", "B", "C", "D"]) {
        const before = output;
        output = await ctx.run(step, () => before);
      }

      return output;
    },
  },
});

/** Returns ports of the loopback address that were free a moment ago. */
async function freePorts(count) {
  const servers = [];
  for (let i = 0; i < count; i++) {
    const server = net.createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    servers.push(server);
  }

  const ports = servers.map((server) => server.address().port);
  for (const server of servers) server.close();

  return ports;
}

/** Starts the server, which ends with this program. */
function startServer(dir, { ingress, admin, node }) {
  const require = createRequire(import.meta.url);
  const bin = require.resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`);
  const at = (port) => ({ bind: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}/` });

  const server = spawn(bin, ["--base-dir", dir, "--node-name", "bench"], {
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      PATH: process.env.PATH,
      DO_NOT_TRACK: "1",
      RESTATE_DISABLE_TELEMETRY: "true",
      RESTATE_LOG_FILTER: "error,octocrab=off",
      RESTATE_BIND_ADDRESS: at(node).bind,
      RESTATE_ADVERTISED_ADDRESS: at(node).url,
      RESTATE_INGRESS__BIND_ADDRESS: at(ingress).bind,
      RESTATE_INGRESS__ADVERTISED_ADDRESS: at(ingress).url,
      RESTATE_ADMIN__BIND_ADDRESS: at(admin).bind,
      RESTATE_ADMIN__ADVERTISED_ADDRESS: at(admin).url,
    },
  });
  server.on("exit", (code) => {
    console.error(`restate: the server ended with ${code}`);
    process.exit(1);
  });
  process.on("exit", () => server.kill("SIGKILL"));
  process.on("SIGTERM", () => process.exit(1));
}

/** Tells the server where the service is, as soon as the server listens. */
async function register(admin, uri) {
  const give = Date.now() + 60_000;
  for (;;) {
    try {
      const response = await fetch(`http://127.0.0.1:${admin}/deployments`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ uri }),
      });
      if (response.ok) return;
      if (Date.now() > give) throw new Error(`register: ${response.status} ${await response.text()}`);
    } catch (err) {
      if (Date.now() > give) throw err;
    }

    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const input = JSON.stringify({ orderId: "o-1", total: { amount: 1250, currency: "EUR" } });

/** Runs one workflow to its end. */
function one(agent, ingress) {
  return new Promise((resolve, reject) => {
    const request = http.request(
      { agent, port: ingress, host: "127.0.0.1", method: "POST", path: "/noop/fourSteps", headers: { "content-type": "application/json" } },
      (response) => {
        const chunks = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode === 200 && text === input) resolve();
          else reject(new Error(`${response.statusCode} ${text}`));
        });
      },
    );
    request.on("error", reject);
    request.end(input);
  });
}

/** Lets the clients run this number of workflows to their ends, each client one after the other. */
async function run(ingress, clients, workflows) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: clients });
  let started = 0;

  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (started++ < workflows) await one(agent, ingress);
    }),
  );
  agent.destroy();
}

const [ingress, admin, node, own] = await freePorts(4);
startServer(process.argv[2], { ingress, admin, node });

const endpoint = restate.createEndpointHandler({ services: [service], logger: () => {} });
http2.createServer(endpoint).listen(own, "127.0.0.1");
await register(admin, `http://127.0.0.1:${own}`);
console.log("ready");

for await (const line of readline.createInterface({ input: process.stdin })) {
  const [clients, workflows] = line.split(" ").map(Number);
  const began = process.hrtime.bigint();
  await run(ingress, clients, workflows);
  console.log(Number(process.hrtime.bigint() - began) / 1e9);
}
process.exit(0);
