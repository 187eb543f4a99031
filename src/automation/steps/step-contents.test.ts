import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openBoundedWork } from '../../../test/platform/open-bounded-work.ts';
import { tenantKeyOf } from '../../../test/platform/tenant-key.ts';
import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import type { PlacedStep } from '../core/definition-tree.ts';
import { checkContents } from './step-contents.ts';

let work: BoundedWork;
beforeAll(() => {
  work = openBoundedWork();
});
afterAll(() => work.close());

/** Steps that each transform with an expression. */
function placed(...expressions: string[]): PlacedStep[] {
  const list = expressions.map((expression, at) => ({ id: `s${at}`, type: 'transform' as const, expression }));
  return list.map((step, index) => ({ step, at: `${index}`, list, index, isInMap: false, visible: new Set<string>() }));
}

const check = (limits: { usedMs: number; clockMs: number }, ...expressions: string[]) =>
  checkContents(work, tenantKeyOf('a'), placed(...expressions), limits);
const enough = 60_000;

test('a workflow whose checks need too much of the processor is refused for good', async () => {
  const { problems } = await check({ usedMs: 0, clockMs: enough }, 'input', 'input', 'input');
  expect(problems).toEqual([{ path: '1', message: 'Checking the steps before this one took too long.' }]);
});

test('when the machine is too busy, a caller may try again: nothing is wrong with the workflow', async () => {
  await expect(check({ usedMs: enough, clockMs: enough }, 'input', 'input')).resolves.toMatchObject({ problems: [] });
  await expect(check({ usedMs: enough, clockMs: 0 }, 'input', 'input')).rejects.toMatchObject({
    kind: 'service_unavailable',
  });
});

test('problems that were found by then are told', async () => {
  const { problems } = await check({ usedMs: enough, clockMs: 0 }, 'input +', 'input');
  expect(problems).toMatchObject([{ path: '0.expression' }]);
});
