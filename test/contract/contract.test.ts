import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { apiClient } from '../api-client.ts';
import { connectInSandbox } from '../integrations/connect-in-sandbox.ts';
import { atEveryPrefix } from '../openapi/document.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import { untilDayHasRoom } from '../tenancy/rate-windows.ts';
import { readOperations } from '../walk/walked-operations.ts';
import { recordAccount, recordOperations } from './account.ts';
import { recordAutomation } from './automation.ts';
import { openCaller } from './caller.ts';
import { recordConversation } from './conversation.ts';
import { recordIntegrations } from './integrations.ts';
import { Recorder } from './recorder.ts';
import { Refusals } from './refusals.ts';
import { recordScheduling } from './scheduling.ts';
import { structureLines } from './structure.ts';
import { recordStudio } from './studio.ts';
import { recordTools } from './tools.ts';
import { recordVoice } from './voice.ts';
import { recordWebhooks } from './webhooks.ts';

// The published interface, recorded: the structure of the OpenAPI document, and real answers of every operation in both
// dialects, with placeholders for ids, times and wording. A change here is a change for every caller. Additions are
// recorded with `npm run contract:record`; fields, codes and statuses that were published stay.

// A product of its own: it has no process that sends the mails of bookings, and vitals belong to no tenant.
let product: Product;
let api: string;

beforeAll(async () => {
  product = await openProduct({ env: secrets });
  api = (await product.start(['api', 'runs', 'generation', 'integrations'])).api;
});
afterAll(() => product.close());

async function newKey({ scopes, rateDay }: { scopes?: string[]; rateDay?: number } = {}): Promise<string> {
  const limits = { rateMinute: 1_000_000, ...(rateDay && { rateDay }) };
  const { id } = await createOrganization(product.database, { name: 'Contract', plan: 'enterprise', ...limits });
  const issued = { organizationId: id, environment: 'test', ...(scopes && { scopes }) };
  return (await createKey(product.database, issued)).key;
}

test('the OpenAPI document has the structure that was published', async () => {
  const document = (await apiClient(api).get('/openapi.json')).body;
  expect(structureLines(document).join('\n')).toMatchSnapshot();
});

test('every operation succeeds as it was published', async () => {
  const recorder = new Recorder();
  for (const dialect of ['A', 'B'] as const) {
    const key = await newKey();
    const caller = openCaller(recorder, api, key, dialect);
    await recordAutomation(caller);
    await recordWebhooks(caller, product.database);
    await recordAccount(caller);
    await recordScheduling(caller);
    await recordTools(caller);
    await recordIntegrations(caller, (id) => connectInSandbox(apiClient(api, key), api, id));
  }
  await recordStudio(recorder, apiClient(api, await newKey()));
  await recordConversation(recorder, apiClient(api, await newKey()));
  const voiceKey = await newKey();
  await recordVoice(recorder, apiClient(api, voiceKey), api, voiceKey);
  await recordOperations(recorder, api, await newKey());
  expect(recorder.lines().join('\n')).toMatchSnapshot();
});

test('every operation refuses as it was published', async () => {
  const recorder = new Recorder();
  await untilDayHasRoom(150);
  const limited = await newKey({ rateDay: 1 });
  await apiClient(api, limited).get('/v1/health');
  const keys = { good: await newKey(), limited, withoutScopes: await newKey({ scopes: ['keys'] }) };
  const operations = atEveryPrefix((await readOperations(apiClient(api))).operations);
  const refusals = new Refusals(recorder, api, keys);
  await refusals.recordAll(operations);
  await refusals.recordNowhere([...new Set(operations.map(({ path }) => path))]);
  expect(recorder.lines().join('\n')).toMatchSnapshot();
}, 400_000);
