// Starts a server of Restate for the programs of this directory.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import net from "node:net";

// The SDK needs what Node has since version 22.
Promise.withResolvers ??= function () {
  let resolve, reject;
  const promise = new Promise((yes, no) => ([resolve, reject] = [yes, no]));

  return { promise, resolve, reject };
};

/** Returns ports of the loopback address that were free a moment ago. */
export async function freePorts(count) {
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
export function startServer(dir, { ingress, admin, node }) {
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
export async function register(admin, uri) {
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
