import { expect, test } from '@jest/globals';
import { rawRequest } from '../api/raw-request.ts';
import { type Answer, untilTaken } from '../api-client.ts';
import { atEveryPrefix } from '../openapi/document.ts';
import { unexpectedFailures } from '../unexpected-failures.ts';
import type { SharedWalk } from './shared-walk.ts';
import type { WalkedOperation } from './walked-operations.ts';

const uuid = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000';
const hex = uuid.replaceAll('-', '');

/** Creates what it names: there is nothing to find. */
const creates = 'putSecret';

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

/** How many requests are sent together. Other files use the product too, and wait for its connections to the database. */
const together = 8;

/** What an answer says of the missing resource, except its id. */
const answerOf = ({ status, body }: Answer) => ({
  status,
  code: body.error?.code,
  message: body.error?.message,
  details: Object.keys(body.error?.details ?? {}),
});

type Answers = Record<string, ReturnType<typeof answerOf>>;

export function checkPathIds(walk: SharedWalk): void {
  const requestIds = new Set<unknown>();

  async function ask(of: WalkedOperation, id: string): Promise<Answer> {
    // A body that the route would accept, so that nothing but the id is wrong.
    const body = of.body === undefined ? undefined : JSON.stringify(of.body);
    // A busy machine may have no connection to the database free in time.
    const answer = await untilTaken('it is answered', () =>
      rawRequest(walk.base, {
        method: of.method,
        path: of.path.replaceAll(/\{\w+\}/g, id),
        headers: {
          authorization: `Bearer ${walk.owner.testKey}`,
          'x-api-variant': 'A',
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body }),
      }),
    );
    requestIds.add(answer.headers.get('x-request-id'));
    return answer;
  }

  const routes = () =>
    walk.ofKeys.filter(({ path, operation }) => path.includes('{') && operation.operationId !== creates);

  /** What each route answers to an id, by its endpoint. */
  async function answersTo(id: string): Promise<Answers> {
    const answers: Answers = {};
    const left = routes();
    while (left.length > 0) {
      const some = left.splice(0, together);
      await Promise.all(
        some.map(async (of) => {
          answers[of.endpoint] = answerOf(await ask(of, id));
        }),
      );
    }
    return answers;
  }

  let toUnknown: Promise<Answers> | undefined;
  const unknown = () => (toUnknown ??= answersTo(uuid));

  test('an unknown id is not found', async () => {
    expect(Object.entries(await unknown()).filter(([, { status }]) => status !== 404)).toEqual([]);
  });

  test.each(malformed)('%s is answered like an unknown id', async (_, id) => {
    expect(routes().length).toBeGreaterThan(0);
    expect(await answersTo(id)).toEqual(await unknown());
  });

  test.each(dots)('"%s" leads to another path, and to nothing', async (id) => {
    const others = new Set(atEveryPrefix(walk.read.operations).map(({ method, path }) => `${method} ${path}`));
    for (const of of routes()) {
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
    const ours = walk.product.process.log.filter(({ requestId }) => requestIds.has(requestId));
    expect(ours.length).toBeGreaterThan(0);
    expect(unexpectedFailures(ours)).toEqual([]);
  });
}
