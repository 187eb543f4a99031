import { apiClient } from '../api-client.ts';

/** One operation of the served document. */
export interface Operation {
  method: string;
  /** As documented, with parameters in braces. */
  template: string;
  needsKey: boolean;
  /** A body that the schema accepts, where there is one: what is checked after it is what a walk looks at. */
  body: unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: the document is JSON; the conformance check holds its shape
type Document = any;

const methods = ['get', 'post', 'put', 'patch', 'delete'];

/** The first example of the body, else an empty object; undefined where there is no body. */
function exampleOf(requestBody: Document): unknown {
  if (!requestBody) return undefined;
  const { examples = {} } = Object.values<Document>(requestBody.content)[0];
  return Object.values<Document>(examples)[0]?.value ?? {};
}

/** Every operation that the product says it has. */
export async function documentedOperations(api: string): Promise<Operation[]> {
  const document: Document = (await apiClient(api).get('/openapi.json')).body;
  return Object.entries<Document>(document.paths).flatMap(([template, item]) =>
    methods
      .filter((method) => item[method])
      .map((method) => ({
        method: method.toUpperCase(),
        template,
        needsKey: item[method].security?.some((one: object) => 'bearer' in one) ?? false,
        body: exampleOf(item[method].requestBody),
      })),
  );
}

/**
 * Ids of a tenant's things, for the parameters of paths; the first whose prefix fits `METHOD path` is taken. A path whose
 * thing is missing here fails the walk.
 */
export type Things = { prefix: RegExp; parameter: string; id: string }[];

/** The operation's path with a tenant's own ids in it. */
export function pathOf({ method, template }: Operation, things: Things): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => {
    const thing = things.find((one) => one.prefix.test(`${method} ${template}`) && one.parameter === parameter);
    if (!thing) throw new Error(`The walk has no thing for {${parameter}} of ${template}: add one to the things.`);
    return thing.id;
  });
}
