// Makes MCP's conformance suite load in Node 20: the suite imports `globSync` from `fs`,
// which exists since Node 22, for a report that the tests never request. Nothing else is
// changed, so that the tests run the suite as published.
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
