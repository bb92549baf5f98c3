// Lets MCP's conformance suite load under Node 20: it imports `globSync` from
// `fs`, which Node has from 22 on, for a report that the tests never ask for.
// It must add nothing else, so that the suite stays what its authors published.
import { register } from "node:module";

const replacement = `data:text/javascript,${encodeURIComponent(`
  export * from "node:fs";
  export { default } from "node:fs";
  export function globSync() { throw new Error("globSync needs Node 22"); }
`)}`;

const hooks = `
  export function resolve(specifier, context, next) {
    const asker = context.parentURL ?? "";
    if (specifier === "fs" && asker.includes("/@modelcontextprotocol/conformance")) {
      return { url: ${JSON.stringify(replacement)}, shortCircuit: true };
    }
    return next(specifier, context);
  }
`;

register(`data:text/javascript,${encodeURIComponent(hooks)}`);
