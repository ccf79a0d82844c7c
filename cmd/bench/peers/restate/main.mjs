// Runs workflows of four steps that do nothing on Restate, whose server keeps its data in the directory
// that is the argument. Prints "ready". Then it reads lines with a number of clients and a number of
// workflows, runs them to their ends, and prints the seconds that they took. It ends with its input. Only
// benchmarks use it.
import http from "node:http";
import http2 from "node:http2";
import readline from "node:readline";
import * as restate from "@restatedev/restate-sdk";
import { freePorts, register, startServer } from "./server.mjs";

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
