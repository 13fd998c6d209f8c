// Serves GraphQL over the database in DATABASE_URL by PostGraphile with its own
// best settings, on a port that it tells in one line. It ends with its input.
import { createServer } from "node:http";
import { grafserv } from "postgraphile/grafserv/node";
import { postgraphile } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";

const instance = postgraphile({
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ connectionString: process.env.DATABASE_URL, schemas: ["public"], poolConfig: { max: 10 } })],
  grafserv: { graphiql: false, watch: false, websockets: false },
  grafast: { explain: false },
});
const server = createServer();
server.on("error", (error) => { throw error; });
await instance.createServ(grafserv).addTo(server);
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/graphql`));
process.stdin.on("end", () => process.exit(0)).resume();
