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

const check = (maxMs: number, ...expressions: string[]) =>
  checkContents(work, tenantKeyOf('a'), placed(...expressions), { maxMs });

test('when the checks take too long, a caller may try again: nothing is wrong with the workflow', async () => {
  await expect(check(60_000, 'input', 'input')).resolves.toMatchObject({ problems: [] });
  await expect(check(0, 'input', 'input')).rejects.toMatchObject({ kind: 'service_unavailable' });
});

test('problems that were found by then are told', async () => {
  const { problems } = await check(0, 'input +', 'input');
  expect(problems).toMatchObject([{ path: '0.expression' }]);
});
