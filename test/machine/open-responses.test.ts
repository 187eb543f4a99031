import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sharedProduct } from '../product.ts';
import { openPythonEnvironment, type PythonEnvironment } from './python-environment.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let python: PythonEnvironment;

beforeAll(async () => {
  product = await sharedProduct();
  python = await openPythonEnvironment(new URL('./open-responses/', import.meta.url));
}, 600_000);
afterAll(async () => {
  await product.close();
  await python.remove();
});

test('responses are valid by the types of Open Responses, in each of its cases', async () => {
  const { stdout } = await python.run('python', 'cases.py', product.process.api, product.tenant.testKey, 'gpt-4o');
  const { 'image input': ofImages, ...others } = JSON.parse(stdout);
  expect(Object.values(others)).toEqual(Array.from({ length: 6 }, () => []));
  // Pictures in messages are not supported, and what is not supported is refused by its name.
  expect(ofImages).toEqual([expect.stringMatching(/^400 .*"param":"input\[0\]\.content\[1\]\.type"/)]);
}, 300_000);
