import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openBoundedWork } from '../../../test/platform/open-bounded-work.ts';
import { tenantKeyOf } from '../../../test/platform/tenant-key.ts';
import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { parseExpression } from '../core/expression.ts';
import { evaluateExpression } from './evaluate-step.ts';
import { Storable, storable } from './storable.ts';

let work: BoundedWork;
beforeAll(() => {
  work = openBoundedWork();
});
afterAll(() => work.close());

const evaluate = (source: string, steps: Record<string, Storable>) =>
  evaluateExpression(work, tenantKeyOf('one'), parseExpression(source, 'transform'), {
    input: 'given',
    variables: { name: 'a variable' },
    steps,
  });

/** More than is ever evaluated in this process. */
const large = { texts: Array.from({ length: 30 }, () => '"}\\\n\u2028é'.repeat(8_000)), 'a "name"': [1, null, true] };
const stored = storable(large)!;

test('outputs of megabytes pass through as they are stored', async () => {
  const steps = { a: Storable.ofJson(stored.json, stored.bytes), 'b-c': storable(7)! };
  expect(stored.bytes).toBeGreaterThan(2_000_000);
  expect((await evaluate('steps.a.output', steps))?.value).toEqual(large);
  expect(
    (await evaluate('[input, variables.name, steps.a.output["a \\"name\\""], steps["b-c"].output]', steps))?.value,
  ).toEqual(['given', 'a variable', [1, null, true], 7]);
});

test('a text that PostgreSQL refuses is cleaned on its way', async () => {
  const value = await evaluate('[input, string(b"\\x00"), steps.a.output.texts[0]]', { a: stored });
  expect(value?.value).toEqual(['given', '\ufffd', large.texts[0]]);
});

test('a problem is reported', async () => {
  await expect(evaluate('steps.a.output.missing', { a: stored })).rejects.toThrow('missing');
});

test('a result that is larger than an output may be is none', async () => {
  expect(await evaluate('[steps.a.output, steps.a.output]', { a: stored })).toBeUndefined();
});
