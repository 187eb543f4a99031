import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { atEveryPrefix } from '../openapi/document.ts';
import { inboundSecrets } from '../shared-products.ts';
import { readOperations } from '../walk/walked-operations.ts';
import { batchesOf, type Probe } from './cost-walk.ts';
import { type MeasuredProduct, startMeasured } from './measured-product.ts';
import { exchange, isServing, type Sent } from './requests.ts';
import { type ServedRoute, servedRoutes } from './served-routes.ts';
import { longText, worstValues } from './worst-bodies.ts';

// Every door, with bodies of a megabyte: far more than it takes alone, as others may use the machine too.
jest.setTimeout(600_000);

let product: MeasuredProduct;
let doors: ServedRoute[];

beforeAll(async () => {
  const clients = {
    SLACK_CLIENT_ID: 'a-client-of-slack',
    SLACK_CLIENT_SECRET: 'its-secret-at-slack',
    HUBSPOT_CLIENT_ID: 'a-client-of-hubspot',
    UNIPILE_API_KEY: 'a-key-of-unipile',
    TEAMS_CLIENT_ID: 'a-client-of-teams',
    TEAMS_CLIENT_SECRET: 'its-secret-at-teams',
  };
  product = await startMeasured(Object.assign({ FAL_KEY: 'a-key-of-fal' }, clients, inboundSecrets));
  const { operations } = await readOperations(product.api);
  const keyed = new Set(atEveryPrefix(operations.filter(({ needsKey }) => needsKey)).map(({ endpoint }) => endpoint));
  await openBookingPage();
  // The second prefix of a route is the same door.
  doors = (await servedRoutes()).filter(({ endpoint, path }) => !keyed.has(endpoint) && !path.startsWith('/v1/'));
});
afterAll(() => product.close());

/** A client address of its own for each request: what one address may ask is limited. */
const fromElsewhere = () => ({ 'x-forwarded-for': `198.51.${[...randomBytes(2)].join('.')}` });

/** The fields of the public booking page are read and checked only for an event type that there is. */
async function openBookingPage(): Promise<void> {
  const questions = Array.from({ length: 50 }, (_, index) => ({ label: `Question ${index}`, type: 'textarea' }));
  const eventType = { name: 'Walked', duration: 1, questions };
  const { body } = await product.api.post('/api/v1/scheduling/event-types', eventType);
  const [, , , organization, slug] = new URL(body.data.bookingUrl).pathname.split('/');
  Object.assign(idOf, { organization, eventType: slug });
}

const idOf: Record<string, string> = {
  integrationId: 'slack',
  serverId: 'github',
  name: `${'n'.repeat(43)}.png`,
  guide: 'runbooks',
  image: 'dead-letter.png',
};
const pathOf = ({ path }: ServedRoute) => path.replaceAll(/\{(\w+)\}/g, (_, name) => idOf[name] ?? 'a'.repeat(43));

const probe = ({ endpoint: door, method }: ServedRoute, name: string, sent: Omit<Sent, 'method'>): Probe => ({
  input: { door, name },
  send() {
    const headers = Object.assign(fromElsewhere(), sent.headers);
    return exchange(product.process.api, Object.assign({}, sent, { method, headers }));
  },
});

const nearlyAll = 1_000_000;
const forms: Record<string, string> = {
  'a form of many fields': 'a=1&'.repeat(nearlyAll / 4),
  'a form of many names': Array.from({ length: nearlyAll / 10 }, (_, index) => `a${index}=1`).join('&'),
  'a form that is all escapes': `a=${'%20'.repeat(nearlyAll / 3)}`,
  'the longest form that is read': `email=${'a@'.repeat(15_000)}&name=${'%0A'.repeat(11_000)}`,
};

test('there are doors that need no key', () => {
  expect(doors.length).toBeGreaterThan(20);
});

test('what they are sent as a body is as cheap as the table says', async () => {
  for (const door of doors.filter(({ method }) => method !== 'GET')) {
    const path = pathOf(door);
    const json = { 'content-type': 'application/json' };
    await exchange(product.process.api, { method: door.method, path, body: '{}', headers: json });
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    await product.walk.sendAll([
      ...Object.entries(worstValues).map(([name, textOf]) =>
        probe(door, `${name} as the body`, { path, body: textOf(nearlyAll), headers: json }),
      ),
      ...Object.entries(forms).map(([name, body]) => probe(door, name, { path, body, headers: form })),
    ]);
  }
  expect(product.walk.takeExcesses()).toEqual([]);
  expect(await isServing(product.process.api)).toBe(true);
});

test('what their addresses and headers say is as cheap as the table says', async () => {
  const probes: Probe[] = [];
  for (const door of doors) {
    const path = pathOf(door);
    const body = door.method === 'GET' ? undefined : '{}';
    await exchange(product.process.api, { method: door.method, path, body });
    const text = encodeURIComponent(longText(3_000)).slice(0, 12_000).replace(/%.?$/, '');
    const queries = ['code', 'state', 'error', 'validationToken', 'redirect_uri', 'challenge', 'expires', 'signature'];
    const known = queries.map((name) => `${name}=${text.slice(0, 1_400).replace(/%.?$/, '')}`).join('&');
    const long = 'v'.repeat(3_000);
    const headers = {
      'x-correlation-id': long,
      'if-none-match': long,
      accept: 'a/b,'.repeat(700),
      authorization: long,
    };
    probes.push(
      probe(door, 'a long query', { path: `${path}?a=${text}`, body }),
      probe(door, 'long parameters that are known elsewhere', { path: `${path}?${known}`, body }),
      probe(door, 'a parameter repeated', { path: `${path}?${'a=1&'.repeat(3_000)}`, body }),
      probe(door, 'a long path', { path: `${path}/${'a-'.repeat(6_000)}`, body }),
      probe(door, 'a path of many parts', { path: `${path}${'/a'.repeat(6_000)}`, body }),
      probe(door, 'long headers', { path, body, headers }),
    );
  }
  for (const some of batchesOf(probes, 50)) await product.walk.sendAll(some);
  expect(product.walk.takeExcesses()).toEqual([]);
  expect(await isServing(product.process.api)).toBe(true);
});
