import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Egress } from '../../src/platform/egress/egress.ts';
import { egressRules } from '../../src/platform/egress/egress-destination.ts';
import { WebSearchConnection } from '../../src/tools/own/web-search.ts';
import { type HostileFront, hostileAnswers, openFront } from '../cost/hostile-front.ts';

let front: HostileFront;
let egress: Egress;
beforeAll(async () => {
  front = await openFront('http://127.0.0.1:1');
  egress = new Egress(egressRules({ NODE_ENV: 'test', EGRESS_ALLOW_CIDRS: ['127.0.0.0/8'] }));
});
afterAll(async () => {
  await egress.close();
  await front.close();
});

/** The engines have fixed addresses: their requests are led to the front. */
const led = {
  request: (request: Parameters<Egress['request']>[0]) => egress.request({ ...request, url: front.origin }),
};

const search = (engine: string, args = {}) =>
  new WebSearchConnection({ values: { engine }, secrets: { apiKey: 'key' } }, led).call(
    'search',
    { query: 'weather', ...args },
    AbortSignal.timeout(60_000),
  );

const json = { 'content-type': 'application/json' };
const answerOf = (engine: string, results: unknown) =>
  JSON.stringify(engine === 'brave' ? { web: { results } } : { results });

describe.each(['brave', 'tavily'])('web search with %s', (engine) => {
  test.each(Object.entries(hostileAnswers))('survives %s', async (_, hostile) => {
    front.arm(hostile);
    const { text, isError } = await search(engine);
    expect(front.answered).toBe(1);
    if (!isError) expect(JSON.parse(text)).toEqual({ results: [] });
    else expect(text).toMatch(/^The search (failed|gave no readable answer)/);
  });

  test('takes as many results as were asked for, of however many, and no list that is none', async () => {
    const results = Array.from({ length: 9_000 }, (_, nth) => ({ title: `Page ${nth}`, url: 'https://example.com/' }));
    front.arm({ headers: json, body: answerOf(engine, results) });
    const { text } = await search(engine, { count: 3 });
    expect(JSON.parse(text).results.map(({ title }: { title: string }) => title)).toEqual([
      'Page 0',
      'Page 1',
      'Page 2',
    ]);
    for (const none of [{ length: 1e9 }, 'x', 7]) {
      front.arm({ headers: json, body: answerOf(engine, none) });
      expect(await search(engine)).toEqual({ text: 'The search gave no readable answer.', isError: true });
    }
  });
});
