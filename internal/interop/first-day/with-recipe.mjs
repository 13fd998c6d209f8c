// with-recipe FILE COMMAND…: runs a command while the issuer in FILE runs at a free
// port; the command finds its address in $OIDC_ISSUER.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";

const free = createServer().listen(0, "127.0.0.1");
await once(free, "listening");
const { port } = free.address();
free.close();
await once(free, "close");

const [recipe, command, ...args] = process.argv.slice(2);
const issuer = spawn(process.execPath, [recipe], { stdio: "ignore", env: { ...process.env, PORT: String(port) } });
const address = `http://127.0.0.1:${port}`;
for (let tries = 0; ; tries++) {
	const answer = await fetch(`${address}/.well-known/openid-configuration`).catch(() => undefined);
	if (answer?.ok) break;
	if (tries > 300 || issuer.exitCode !== null) throw new Error("the recipe's issuer does not start");
	await new Promise((done) => setTimeout(done, 100));
}
const child = spawn(command, args, { stdio: "inherit", env: { ...process.env, OIDC_ISSUER: address } });
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
const [status] = await once(child, "exit");
issuer.kill();
process.exit(status ?? 1);
