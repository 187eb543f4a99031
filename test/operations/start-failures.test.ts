import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openProduct, type Product } from '../product.ts';

let product: Product;
beforeAll(async () => {
  product = await openProduct();
});
afterAll(() => product.close());

/** What a process that did not get ready said on its way out, besides its log. */
async function lastWords(env: Record<string, string>): Promise<string> {
  const failure = await product.start(['api'], env).then(
    () => undefined,
    (error: Error) => error.message,
  );
  return failure?.split('\n').slice(1, -1).join('\n') ?? 'It started.';
}

test('a port that is taken is named in one line', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as { port: number };
  expect(await lastWords({ PORT: String(port) })).toMatch(new RegExp(`^The roles api cannot start: .*${port}$`));
  other.close();
});

test('a Temporal that is not there is named in one line', async () => {
  expect(await lastWords({ TEMPORAL_ADDRESS: '127.0.0.1:9' })).toMatch(
    /^Temporal does not answer at 127\.0\.0\.1:9: [^\n]+$/,
  );
});

test('aliases of models that cannot be read are named, and not where they were read', async () => {
  expect(await lastWords({ MODEL_ALIASES: '{"a"' })).toMatch(
    /^The environment is invalid:\n {2}MODEL_ALIASES: [^\n]+$/,
  );
});
