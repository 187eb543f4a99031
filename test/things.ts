import type { Database } from '../src/platform/database/database.ts';
import { accountThings } from './accounts/things.ts';
import type { ApiClient } from './api-client.ts';
import { automationThings } from './automation/things.ts';
import { integrationThings } from './integrations/things.ts';
import type { Things, ThingsOf } from './openapi/document.ts';
import { schedulingThings } from './scheduling/things.ts';
import { studioThings } from './studio/things.ts';
import { toolThings } from './tools/things.ts';
import { webhookThings } from './webhooks/things.ts';

/** A new feature takes one line here. Where two patterns match a path, the first one counts. */
const features: ThingsOf[] = [
  automationThings,
  accountThings,
  schedulingThings,
  webhookThings,
  studioThings,
  toolThings,
  integrationThings,
];

/** Resources of every feature, for the generated tests of every route. */
export async function createThings(client: ApiClient, database: Database): Promise<Things> {
  const things: Things = [];
  for (const create of features) things.push(...(await create({ client, database })));
  return things;
}
