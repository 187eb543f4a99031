import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Answer, untilTaken } from '../api-client.ts';
import { atEveryPrefix, type DocumentedOperation, exampleBody, readDocument } from '../openapi/document.ts';
import { startProduct } from '../product.ts';
import { unexpectedFailures } from '../unexpected-failures.ts';
import { rawRequest } from './raw-request.ts';

let product: Awaited<ReturnType<typeof startProduct>>;
let operations: DocumentedOperation[];
let allOperations: DocumentedOperation[];
/** The answer of each of them for an unknown id. */
let unknown: Record<string, ReturnType<typeof answerOf>>;
beforeAll(async () => {
  product = await startProduct();
  // Together they may make as many requests a minute as these tests do.
  for (let n = 0; n < 3; n++) keys.push((await product.createTenant({ plan: 'enterprise' })).testKey);
  const read = readDocument((await product.api.get('/openapi.json')).body);
  allOperations = atEveryPrefix(read.operations);
  operations = atEveryPrefix(
    read.operations.filter(
      ({ method, path, needsKey }) => path.includes('{') && needsKey && `${method} ${path}` !== creates,
    ),
  );
  const answers = operations.map(async (of) => [of.endpoint, answerOf(await ask(of, uuid))]);
  unknown = Object.fromEntries(await Promise.all(answers));
});
afterAll(() => product.close());

const keys: string[] = [];
let requests = 0;

const uuid = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000';
const hex = uuid.replaceAll('-', '');

/** Creates what it names: there is nothing to find. */
const creates = 'PUT /api/v1/secrets/{secretName}';

/** What stands where an id belongs and is none, as it is sent. */
const malformed: [what: string, id: string][] = [
  ['a word', 'nonsense'],
  ['a number', '42'],
  ['a negative number', '-1'],
  ['a NUL', '%00'],
  ['a uuid and a NUL', `${uuid}%00`],
  ['a prefixed id and a NUL', `wf_${hex}%00`],
  ['a uuid and a line break', `${uuid}%0A`],
  ['white space', '%20'],
  ['a uuid and a space', `${uuid}%20`],
  ['an emoji', '%F0%9F%A6%8A'],
  ['another script', '%D0%B8%D0%B4'],
  ['digits of another script', '%D9%A0%D9%A1%D9%A9%D9%A9-bbbb-7ccc-8ddd-eeeeffff0000'],
  ['a sign without width', `${uuid}%E2%80%8B`],
  ['broken UTF-8', '%C3%28'],
  ['a surrogate in UTF-8', '%ED%A0%80'],
  ['half an escape', '%2'],
  ['no escape', '%zz'],
  ['an encoded slash', 'a%2Fb'],
  ['encoded slashes around a uuid', `%2F${uuid}%2F`],
  ['an encoded backslash', `..%5C${uuid}`],
  ['an encoded path upwards', '..%2F..%2Fhealth'],
  ['an encoded question mark', `${uuid}%3Fx=1`],
  ['an encoded hash', `${uuid}%23x`],
  ['a semicolon', `${uuid};x=1`],
  ['quotes', '%27%20or%20%271%27=%271'],
  ['a uuid without hyphens', hex],
  ['a uuid in braces', `%7B${uuid}%7D`],
  ['a uuid as a URN', `urn:uuid:${uuid}`],
  ['a uuid one digit short', uuid.slice(0, -1)],
  ['a uuid one digit long', `${uuid}0`],
  ['a uuid with a letter beyond f', `${uuid.slice(0, -1)}g`],
  ['a prefix alone', 'wf_'],
  ['a prefix with a uuid', `wf_${uuid}`],
  ['a prefix in upper case', `WF_${hex}`],
  ['a prefixed id in upper case', `wf_${hex.toUpperCase()}`],
  ['two prefixes', `wf_run_${hex}`],
  ['an unknown prefix', `zz_${hex}`],
  ['the id of another kind of thing', `key_${hex}`],
  ['the name of a member of every object', '__proto__'],
  ['a placeholder', '{id}'],
  ['a star', '*'],
  ['six thousand letters', 'x'.repeat(6_000)],
  ['six thousand digits', '9'.repeat(6_000)],
];
/** These are no part of a path at all once it is read. */
const dots = ['.', '..', '%2e', '%2e%2e', '', '%2E%2E%2F%2E%2E'];

function ask(of: DocumentedOperation, id: string): Promise<Answer> {
  // One that the route would take, so that nothing but the id is wrong.
  const example = exampleBody(of);
  const body = example === undefined ? undefined : JSON.stringify(example);
  // Some of so many at once wait too long for a connection to the database on a busy machine.
  return untilTaken('it is answered', () =>
    rawRequest(product.process.api, {
      method: of.method,
      path: of.path.replaceAll(/\{\w+\}/g, id),
      headers: {
        authorization: `Bearer ${keys[requests++ % keys.length]}`,
        'x-api-variant': 'A',
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body }),
    }),
  );
}

/** All that an answer says of what is missing, but for the id itself. */
const answerOf = ({ status, body }: Answer) => ({
  status,
  code: body.error?.code,
  message: body.error?.message,
  details: Object.keys(body.error?.details ?? {}),
});

describe('on every route with an id', () => {
  test('an unknown id is not found', () => {
    expect(Object.entries(unknown).filter(([, { status }]) => status !== 404)).toEqual([]);
  });

  test.each(malformed)('%s is answered like an unknown id', async (_, id) => {
    expect(operations.length).toBeGreaterThan(0);
    const seen = await Promise.all(operations.map(async (of) => [of.endpoint, answerOf(await ask(of, id))]));
    expect(Object.fromEntries(seen)).toEqual(unknown);
  });

  test.each(dots)('"%s" leads to another path, and to nothing', async (id) => {
    const others = new Set(allOperations.map(({ method, path }) => `${method} ${path}`));
    for (const of of operations) {
      const { pathname } = new URL(of.path.replaceAll(/\{\w+\}/g, id), 'http://path');
      if (others.has(`${of.method} ${pathname}`)) continue;
      const { status } = await ask(of, id);
      // Where the rest of the path is one of another route, that has its own methods.
      expect({ of: of.endpoint, found: [404, 405].includes(status) || status }).toEqual({
        of: of.endpoint,
        found: true,
      });
    }
  });

  test('and none of it was unexpected', () => {
    expect(unexpectedFailures(product.process.log)).toEqual([]);
  });
});
