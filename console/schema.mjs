// Writes the GraphQL schema as one file for gql.tada.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { buildASTSchema, concatAST, parse, printSchema } from "graphql";

const folder = new URL("../graph/schema/", import.meta.url);
const parts = readdirSync(folder).filter((name) => name.endsWith(".graphqls")).map((name) => parse(readFileSync(new URL(name, folder), "utf8")));
mkdirSync(new URL(".generated/", import.meta.url), { recursive: true });
writeFileSync(new URL(".generated/schema.graphql", import.meta.url), printSchema(buildASTSchema(concatAST(parts), { assumeValidSDL: true })));
