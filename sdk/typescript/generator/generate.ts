import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient } from '@hey-api/openapi-ts';
import { clientDocument } from './client-document.ts';
import { writeResources } from './resources.ts';

/**
 * Generates the client's sources from the OpenAPI document, which the product prints.
 * Usage: node generate.ts [folder]. The default folder is `src/generated` of the client.
 */
const root = fileURLToPath(new URL('../../../', import.meta.url));
const sources = fileURLToPath(new URL('../src/', import.meta.url));
const folder = process.argv[2] ?? join(sources, 'generated');

const printed = execFileSync(process.execPath, ['api/openapi/print-openapi.ts'], {
  cwd: root,
  maxBuffer: 64 * 1024 * 1024,
});
const document = clientDocument(JSON.parse(String(printed)));

rmSync(folder, { recursive: true, force: true });
const api = join(folder, 'api');
await createClient({
  input: document,
  output: { path: api, module: { extension: '.ts' }, entryFile: false },
  plugins: [
    '@hey-api/client-fetch',
    '@hey-api/typescript',
    { name: '@hey-api/sdk', auth: false, client: false, comments: false },
  ],
  logs: { level: 'silent' },
});

/** The sources of the generator are not written for the strictest compilers, and ours are read by any. */
function suppressChecks(inside: string): void {
  for (const entry of readdirSync(inside, { withFileTypes: true })) {
    const path = join(inside, entry.name);
    if (entry.isDirectory()) suppressChecks(path);
    else if (entry.name !== 'types.gen.ts' || inside !== api) {
      writeFileSync(path, `// @ts-nocheck\n${readFileSync(path, 'utf8')}`);
    }
  }
}
suppressChecks(api);

const resources = join(folder, 'resources');
mkdirSync(resources, { recursive: true });
const written = writeResources(document, {
  /** A class of ours with the same name adds to the generated one. */
  isExtended: (file) => existsSync(join(sources, 'resources', file)),
});
for (const [name, text] of written) writeFileSync(join(resources, name), text);
// A test compares it, which needs no generator.
writeFileSync(
  join(folder, 'document.sha256'),
  `${createHash('sha256').update(JSON.stringify(document)).digest('hex')}\n`,
);
console.log(`${relative(process.cwd(), folder)}: ${written.size} resources`);
