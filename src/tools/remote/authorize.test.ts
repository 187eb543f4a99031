import { describe, expect, test } from '@jest/globals';
import type { EgressRequest, EgressResponse } from '../../platform/egress/egress.ts';
import type { StoredConfiguration } from '../configurations.ts';
import { WebSearchConnection } from '../own/web-search.ts';
import { aws, github, googleDrive } from '../servers/hosted.ts';
import { authorization } from './authorize.ts';

/** Another service that answers each request alike. */
function service(answer: unknown, status = 200) {
  const requests: EgressRequest[] = [];
  const request = async (one: EgressRequest): Promise<EgressResponse> => {
    requests.push(one);
    const body = Buffer.from(typeof answer === 'string' ? answer : JSON.stringify(answer));
    return { status, headers: {}, body, truncated: false, durationMs: 1 };
  };
  return { requests, egress: { request } };
}

const configured = (given: Partial<StoredConfiguration>): StoredConfiguration => ({
  id: 'x',
  version: 'x',
  enabled: true,
  url: null,
  values: {},
  secrets: {},
  ...given,
});
const request = {
  method: 'POST' as const,
  url: new URL('https://aws-mcp.us-east-1.api.aws/mcp'),
  headers: { 'content-type': 'application/json' },
  body: '{}',
};

describe('requests to a server', () => {
  test('have the token that is configured; those to an address of one\u2019s own have nothing else', async () => {
    const { egress } = service({});
    expect(await authorization(github, configured({ secrets: { token: 'a' } }), egress)(request)).toEqual({
      authorization: 'Bearer a',
    });
    const secrets = { accessKeyId: 'AKIA', secretAccessKey: 's', token: 'mine' };
    const own = configured({ url: 'https://tools.example.com/', secrets });
    expect(await authorization(aws, own, egress)(request)).toEqual({ authorization: 'Bearer mine' });
  });

  test('of AWS are signed', async () => {
    const secrets = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'secret', sessionToken: 'session' };
    const headers = await authorization(aws, configured({ secrets }), service({}).egress)(request);
    expect(headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE\/\d{8}\/us-east-1\/aws-mcp\/aws4_request, SignedHeaders=\S*host\S*, Signature=[0-9a-f]{64}$/,
    );
    expect(headers['x-amz-security-token']).toBe('session');
    expect(headers).not.toHaveProperty('host');
  });

  test('of Google have an access token, which is asked for once', async () => {
    const { requests, egress } = service({ access_token: 'access', expires_in: 3_600 });
    const secrets = { refreshToken: 'refresh', clientSecret: 'secret' };
    const authorize = authorization(googleDrive, configured({ values: { clientId: 'client' }, secrets }), egress);
    for (let time = 0; time < 2; time++) expect(await authorize(request)).toEqual({ authorization: 'Bearer access' });
    expect(requests.map(({ url, body }) => [url, String(body)])).toEqual([
      [
        'https://oauth2.googleapis.com/token',
        'grant_type=refresh_token&refresh_token=refresh&client_id=client&client_secret=secret',
      ],
    ]);
    const refused = authorization(googleDrive, configured({ secrets }), service({}, 400).egress);
    await expect(refused(request)).rejects.toThrow('Google refused the refresh token.');
  });
});

describe('a search of the web', () => {
  const results = { results: [{ title: 'A', url: 'https://a.example/', text: 'x' }] };
  test.each([
    [
      'brave',
      { web: { results: [{ title: 'A', url: 'https://a.example/', description: 'x' }] } },
      'api.search.brave.com',
    ],
    ['tavily', { results: [{ title: 'A', url: 'https://a.example/', content: 'x' }] }, 'api.tavily.com'],
  ])('asks %s', async (engine, answer, host) => {
    const { requests, egress } = service(answer);
    const search = new WebSearchConnection({ values: { engine }, secrets: { apiKey: 'key' } }, egress);
    const signal = AbortSignal.timeout(10_000);
    expect(JSON.parse((await search.call('search', { query: 'a & b' }, signal)).text)).toEqual(results);
    expect(new URL(requests[0]!.url).host).toBe(host);
    expect(JSON.stringify(requests[0]!.headers)).toContain('key');
    for (const args of [{}, { query: '' }, { query: 5 }, { query: 'x'.repeat(500) }, { query: 'x', count: 0 }]) {
      expect(await search.call('search', args, signal)).toMatchObject({ isError: true });
    }
    expect(requests).toHaveLength(1);
  });

  test.each([
    ['nonsense', 200],
    ['{"web": {"results": 5}}', 200],
    ['', 429],
  ])('says that it failed after %p with status %i', async (answer, status) => {
    const search = new WebSearchConnection({ values: {}, secrets: {} }, service(answer, status).egress);
    const { text, isError } = await search.call('search', { query: 'x' }, AbortSignal.timeout(10_000));
    expect([isError, text]).toEqual([true, expect.stringMatching(/^The search (failed|gave no)/)]);
  });
});
