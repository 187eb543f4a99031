import type { Environment } from '../session/session.ts';

/** A request in the two forms in which the console shows it. */
export interface ExampleRequest {
  method: string;
  path: string;
  body?: unknown;
  /** The call of the TypeScript client: `runs.retry(id, body)`. */
  call: string;
}

const quoteForShell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** @returns what the console sent, as a command for a shell and as TypeScript */
export function exampleOf({ method, path, body, call }: ExampleRequest, environment: Environment) {
  const key = environment === 'test' ? '$ATELIER_TEST_KEY' : '$ATELIER_LIVE_KEY';
  const lines = [
    `curl -X ${method} ${quoteForShell(`${location.origin}${path}`)}`,
    `  -H "Authorization: Bearer ${key}"`,
    ...(body === undefined
      ? []
      : [`  -H 'Content-Type: application/json'`, `  -d ${quoteForShell(JSON.stringify(body))}`]),
  ];
  const typescript = [
    `import { Atelier } from 'atelier-client';`,
    '',
    `const atelier = new Atelier({ apiKey: process.env.ATELIER_${environment.toUpperCase()}_KEY, baseUrl: '${location.origin}' });`,
    `await atelier.${call};`,
  ].join('\n');
  return { curl: lines.join(' \\\n'), typescript };
}
