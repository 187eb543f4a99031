import { expect, test } from '@jest/globals';
import { catalog } from './catalog.ts';
import { triggerEvents, triggerType } from './trigger-events.ts';

test('events show their data in the published order, whatever order they were stored in', () => {
  for (const integration of catalog) {
    for (const [trigger, { example, data: declared }] of Object.entries(integration.triggers)) {
      const { data } = triggerEvents.find(({ type }) => type === triggerType(integration, trigger))!;
      const members = Object.entries(example as object);
      const stored = { integration: integration.id, data: Object.fromEntries(members.toReversed()) };
      expect(Object.keys(data(stored as never))).toEqual(['integration', ...Object.keys(declared.shape)]);
    }
  }
});
