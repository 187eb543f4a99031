import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { catalog, findIntegration } from './catalog.ts';

const seed = createHash('sha256').update('a request').digest('hex');
const fill = (shape: z.ZodRawShape): Record<string, string> =>
  Object.fromEntries(
    Object.keys(shape).map((name) => [name, /_URL$/.test(name) ? 'https://one.example.com/' : 'value']),
  );

test('ids and names are those that are published', () => {
  const published = {
    slack: [
      ['send_message', 'open_modal'],
      ['message_received', 'mention', 'reaction_added'],
    ],
    'microsoft-teams': [['send_message'], ['message_received']],
    hubspot: [
      ['create_contact', 'update_contact'],
      ['contact_created', 'deal_updated'],
    ],
    salesforce: [
      ['create_lead', 'query'],
      ['contact_created', 'deal_updated'],
    ],
    linkedin: [['view_profile', 'send_connection'], ['message_received']],
  };
  const named = catalog.map(({ id, actions, triggers }) => [id, [Object.keys(actions), Object.keys(triggers)]]);
  expect(named).toEqual(Object.entries(published));
  expect(catalog.map(({ id }) => findIntegration(id)?.id)).toEqual(catalog.map(({ id }) => id));
  expect(findIntegration('constructor')).toBeUndefined();
});

test('no two read the same variable', () => {
  const names = catalog.flatMap(({ settings }) => Object.keys(settings));
  expect(new Set(names).size).toBe(names.length);
});

describe.each(catalog.map((integration) => [integration.id, integration] as const))('%s', (_, integration) => {
  const { settings, scopes, triggers } = integration;
  const actions = Object.entries(integration.actions);

  test('is turned on by its credentials alone', () => {
    const shape = z.object(settings);
    expect(integration.client(shape.parse({}) as never)).toBeUndefined();
    const client = integration.client(shape.parse(fill(settings)) as never);
    expect(client!.baseUrl({})).not.toMatch(/\/$/);
    const addresses = Object.values(client!.consent.kind === 'oauth' ? client!.consent.provider : {});
    for (const address of addresses.filter((value) => typeof value === 'string' && value.includes('://'))) {
      expect(address).toMatch(/^https:\/\/[^/]+(\/[^/]+)+$/);
    }
  });

  test('asks for scopes that it declares', () => {
    expect(scopes.default.filter((scope) => !scopes.all.includes(scope))).toEqual([]);
    expect((scopes.required ?? []).filter((scope) => !scopes.default.includes(scope))).toEqual([]);
  });

  test.each(actions)('%s: what is documented and what the sandbox answers fits the schemas', (_, action) => {
    const payload = action.payload.parse(action.example.payload);
    expect(action.answer.parse(action.example.answer)).toEqual(action.example.answer);
    const answer = action.sandbox(payload, seed);
    expect(action.answer.parse(answer)).toEqual(answer);
    expect(action.sandbox(payload, seed)).toEqual(answer);
    expect(action.sandbox(payload, seed.replace(/./g, 'f'))).not.toEqual(answer);
    expect(z.toJSONSchema(action.payload, { io: 'input', unrepresentable: 'any' })).toMatchObject({ type: 'object' });
  });

  test.each(actions)('%s: a payload that does not fit is refused with the place', (_, action) => {
    for (const payload of [{}, { unknown: 1 }]) {
      const { error } = action.payload.safeParse(payload);
      expect(error!.issues.length).toBeGreaterThan(0);
      expect(error!.issues.every(({ path, message }) => path.length > 0 && message.length > 0)).toBe(true);
    }
  });

  test.each(Object.entries(triggers))('%s: its example fits its schema', (_, trigger) => {
    expect(trigger.data.parse(trigger.example)).toEqual(trigger.example);
  });
});
