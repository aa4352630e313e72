// Checks the TidbCluster against the operator's types: as a TypeScript literal, where a field that the type lacks is an error.
// (The operator's Go module is not on every proxy; its types are on npm.)
//
//     npm ci && node store.mjs ../kubernetes/store.yaml

import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { parse } from "yaml";

const literal = JSON.stringify(parse(readFileSync(process.argv[2], "utf8")), null, 2);
// The file must be next to node_modules, where the compiler finds the types.
const program = new URL("store.check.ts", import.meta.url);
writeFileSync(
  program,
  `import type { ITidbCluster } from "@kubernetes-models/tidb-operator/pingcap.com/v1alpha1/TidbCluster";
export const store: ITidbCluster = ${literal};
`,
);
try {
  const tsc = new URL("node_modules/.bin/tsc", import.meta.url).pathname;
  const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--moduleResolution", "nodenext"];
  execFileSync(tsc, [...options, program.pathname], { stdio: ["ignore", "inherit", "inherit"] });
} catch (error) {
  console.error(`${process.argv[2]}: not as the operator has it`);
  process.exitCode = 1;
} finally {
  rmSync(program);
}
