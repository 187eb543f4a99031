import { expect, test } from '@jest/globals';
import { maxSteps } from '../../../src/automation/core/steps.ts';
import { newWorkflowSchema } from './workflow.ts';

test.each(['steps', 'inputs'])('too many %s are refused for their number, before any of them is read', (field) => {
  let read = 0;
  const item = {
    get id() {
      read++;
      return 'same';
    },
  };
  const sent = Array.from({ length: 300_000 }, () => item);
  const { error } = newWorkflowSchema.safeParse({ name: 'Long', [field]: sent });
  expect(error!.issues).toMatchObject([{ code: 'too_big', path: [field], maximum: maxSteps }]);
  expect(read).toBe(0);
});
