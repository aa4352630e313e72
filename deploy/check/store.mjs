// Checks the TidbCluster by the operator's types: as a TypeScript literal, in which a field that the type does not have is
// an error. (The operator's Go module is not on every proxy; its types are on npm.)
//
//     npm ci && node store.mjs ../kubernetes/store.yaml

import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { parse } from "yaml";

const literal = JSON.stringify(parse(readFileSync(process.argv[2], "utf8")), null, 2);
// Beside node_modules, where the types are looked for.
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
