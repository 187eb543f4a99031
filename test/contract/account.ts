import { apiClient } from '../api-client.ts';
import { asOperator } from '../operator.ts';
import { until } from '../until.ts';
import type { Caller } from './caller.ts';
import type { Recorder } from './recorder.ts';

/** Whose a key is, and what its organization has and uses. */
export async function recordAccount({ ask }: Caller): Promise<void> {
  await ask({ endpoint: 'GET /health' });
  await ask({ endpoint: 'HEAD /health' });
  await ask({ endpoint: 'GET /credits' });
  await ask({ endpoint: 'GET /usage' });
  await ask({ endpoint: 'GET /models' });
}

/** What has no dialects: probes, measures of pages, the operator's endpoints and the reference. */
export async function recordOperations(recorder: Recorder, api: string, key: string): Promise<void> {
  const client = apiClient(api, key);
  for (const path of ['/api/version', '/api/health', '/api/health?strict=1', '/api/health?strict=x', '/api/ready']) {
    // A busy machine may take too long to check the database.
    const answer = await until(`${path} finds everything well`, async () => {
      const one = await client.get(path);
      return one.status !== 503 && one.body.status !== 'degraded' && one;
    });
    recorder.record(`GET ${path}`, answer);
  }
  const beacon = { name: 'LCP', value: 1834.5, path: '/workflows' };
  const vitals = '/api/performance/vitals';
  recorder.record('POST vitals', await client.post(vitals, beacon));
  recorder.record('POST vitals as text', await client.post(vitals, [beacon], { 'content-type': 'text/plain' }));
  recorder.record('POST vitals that are wrong', await client.post(vitals, [{ name: '', value: -1 }]));
  recorder.record('GET vitals', await client.get(vitals));
  for (const path of ['/api/admin/health', '/api/cron/webhook-gateway']) {
    for (const method of ['GET', 'POST']) {
      // What takes too long on a busy machine is unknown.
      const answer = await until(`${path} finds everything well`, async () => {
        const one = await client.request(method, path, undefined, asOperator);
        return one.status !== 503 && !/:(?:null|"failed")|"ok":false/.test(JSON.stringify(one.body)) && one;
      });
      recorder.record(`${method} ${path} by the operator`, answer);
    }
  }
  const pages = ['/docs', '/docs/scalar.js', '/docs/guides', '/docs/guides/api', '/docs/guides/nothing'];
  for (const path of pages) recorder.record(`GET ${path}`, await client.get(path));
}
