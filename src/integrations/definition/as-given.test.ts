import { expect, test } from '@jest/globals';
import type { ProviderCall, ProviderRequest } from '../calls/provider-call.ts';
import { hubspot } from '../catalog/hubspot.ts';
import { slack } from '../catalog/slack.ts';
import type { Integration } from './integration.ts';

/** The JSON that an action sends for a payload. */
async function sentBy({ actions }: Integration, actionId: string, text: string): Promise<string> {
  const { payload, perform } = actions[actionId]!;
  const sent: unknown[] = [];
  const request = async ({ json }: ProviderRequest) => {
    sent.push(json);
    return { view: { id: 'V1' } };
  };
  await perform(payload.parse(JSON.parse(text)), { request } as unknown as ProviderCall);
  return JSON.stringify(sent[0]);
}

const view =
  '{"type":"modal","__proto__":{"a":1},"title":{"type":"plain_text","text":"A","__proto__":2},"blocks":[{"__proto__":3}]}';

test.each([
  [slack, 'send_message', '{"channel":"C1","blocks":[{"type":"x","__proto__":{"a":[1]}}]}', undefined],
  [slack, 'open_modal', `{"triggerId":"1","view":${view}}`, `{"trigger_id":"1","view":${view}}`],
  [hubspot, 'create_contact', '{"properties":{"__proto__":"x"}}', undefined],
] as const)('members called __proto__ are sent as they were given: %#', async (integration, action, given, sent) => {
  expect(await sentBy(integration, action, given)).toBe(sent ?? given);
});

test('what is kept as it was given is checked all the same', () => {
  const problemsOf = (payload: unknown) =>
    slack.actions
      .open_modal!.payload.safeParse(payload)
      .error?.issues.map(({ path, message }) => [path.join('.'), message]);
  expect(problemsOf({ triggerId: '1' })).toEqual([['view', expect.any(String)]]);
  expect(
    problemsOf({ triggerId: '1', view: { type: 'x', title: { type: 'plain_text', text: 'A' }, blocks: [1] } }),
  ).toEqual([
    ['view.type', 'Expected "modal".'],
    ['view.blocks.0', expect.any(String)],
  ]);
});
