import { expect, test } from '@jest/globals';
import { atEveryPrefix } from '../openapi/document.ts';
import { notYetBuilt, publishedEndpoints } from '../openapi/published-endpoints.ts';
import type { SharedWalk } from './shared-walk.ts';

/** An endpoint below `/api/v1` is served below `/v1` too. */
const mounts = (endpoint: string) =>
  endpoint.includes(' /api/v1/') ? [endpoint, endpoint.replace('/api/v1', '/v1')] : [endpoint];
const built = publishedEndpoints.filter((endpoint) => !notYetBuilt.includes(endpoint));

export function checkRoutes(walk: SharedWalk): void {
  /** Whether the process has a route there: without one the answer is 405, or 404 `not_found` of nothing in particular. */
  async function hasRoute(endpoint: string): Promise<boolean> {
    const [method, template] = endpoint.split(' ') as [string, string];
    const path = template.replace('{secret}', 'trg_x').replaceAll(/\{\w+\}/g, '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000');
    const client = walk.client(walk.stranger.testKey);
    const { status, body } = await client.request(method, path, undefined, { 'x-api-variant': 'A' });
    const isNowhere = typeof body.error === 'string' || (body.error?.code === 'not_found' && !body.error.details);
    return status !== 405 && !(status === 404 && isNowhere);
  }

  async function withoutRoute(endpoints: string[]): Promise<string[]> {
    const missing = [];
    for (const endpoint of endpoints) if (!(await hasRoute(endpoint))) missing.push(endpoint);
    return missing;
  }

  test('the published endpoints have a route once they are built', async () => {
    expect(await withoutRoute(built.flatMap(mounts))).toEqual([]);
  });

  test('the published endpoints have none before: then they leave the list of what is not built', async () => {
    const early = notYetBuilt.flatMap(mounts);
    expect(await withoutRoute(early)).toEqual(early);
  });

  test('every documented operation has a route below each prefix', async () => {
    const { operations, inbound } = walk.read;
    const documented = atEveryPrefix([...operations, ...inbound]).map(({ endpoint }) => endpoint);
    expect(await withoutRoute(documented)).toEqual([]);
  });

  test('what browsers and providers call is documented, and served without a key', async () => {
    const { inbound } = walk.read;
    expect(inbound.map(({ endpoint }) => endpoint).toSorted()).toEqual([
      'GET /api/v1/integrations/callback',
      'GET /api/v1/integrations/sandbox/authorize',
      'GET /api/v1/scheduling/calendars/callback',
      'GET /sandbox/oauth/authorize',
      'POST /api/calendar-push/google',
      'POST /api/calendar-push/microsoft',
      'POST /api/v1/integrations/hubspot/events',
      'POST /api/v1/integrations/linkedin/events',
      'POST /api/v1/integrations/microsoft-teams/events',
      'POST /api/v1/integrations/slack/events',
      'POST /hooks/fal/{id}',
    ]);
    for (const { method, path } of inbound) {
      const body = method === 'POST' ? {} : undefined;
      const { status } = await walk.client().request(method, path.replace('{id}', 'gen_1'), body, {
        accept: 'application/json',
      });
      // Refused for its proof, or for what it says: 404 and 405 would mean that nothing is there.
      expect({ path, status, isRefused: [400, 401].includes(status) }).toMatchObject({ isRefused: true });
    }
  });
}
