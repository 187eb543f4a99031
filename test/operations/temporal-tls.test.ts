import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { runCli } from '../cli/run-cli.ts';
import { openProduct, type Product } from '../product.ts';
import { runningServers } from '../servers.ts';
import { startTlsProxy, type TlsProxy } from './tls-proxy.ts';

const apiKey = 'key-of-a-managed-temporal';
let proxy: TlsProxy;
let product: Product;
let tls: string;

beforeAll(async () => {
  proxy = await startTlsProxy(runningServers().temporalAddress, apiKey);
  product = await openProduct();
  const folder = mkdtempSync(join(runningServers().folder, 'tls-'));
  const paths = ['ca.pem', 'client.pem', 'client.key'].map((name) => join(folder, name));
  const [ca, certificate, key] = paths as [string, string, string];
  writeFileSync(ca, proxy.authority);
  writeFileSync(certificate, proxy.clientCertificate);
  writeFileSync(key, proxy.clientKey);
  tls = paths.join();
});

afterAll(async () => {
  await product?.close();
  await proxy?.close();
});

test('a process reaches Temporal over TLS with a client certificate and an API key, and executes runs', async () => {
  const settings = { TEMPORAL_ADDRESS: proxy.address, TEMPORAL_TLS: tls, TEMPORAL_API_KEY: apiKey };
  const { api: address, log } = await product.start(['api', 'runs'], settings);
  const { testKey } = await product.createTenant();
  const api = apiClient(address, testKey);
  const { id } = await makeWorkflow(api);
  const { status, body } = await api.post(`/api/v1/workflows/${id}/execute`, { input: 'Ada' });
  expect({ status, run: body.data?.status }).toEqual({ status: 200, run: 'COMPLETED' });
  expect(proxy.calls()).toBeGreaterThan(0);
  // The key is a secret, and reaches no log.
  expect(JSON.stringify(log)).not.toContain(apiKey);
});

test('the CLI uses the same settings', async () => {
  const migrate = async (settings: Record<string, string>) => {
    const servers = { DATABASE_URL: product.databaseUrl, MIGRATION_DATABASE_URL: product.ownerUrl };
    const variables = { ...servers, TEMPORAL_ADDRESS: proxy.address, ...settings };
    return JSON.parse((await runCli(['migrate', '--json'], variables)).stdout);
  };
  expect(await migrate({ TEMPORAL_TLS: tls, TEMPORAL_API_KEY: apiKey })).toEqual({
    migrated: [],
    searchAttributes: [],
  });
  expect(await migrate({ TEMPORAL_TLS: tls })).toEqual({ migrated: [], temporalProblem: expect.any(String) });
});

test('a process says which certificate it cannot read, and ends', async () => {
  const missing = { TEMPORAL_ADDRESS: proxy.address, TEMPORAL_TLS: '/nowhere/ca.pem' };
  await expect(product.start(['api'], missing)).rejects.toThrow(
    /TEMPORAL_TLS: the file \/nowhere\/ca\.pem cannot be read/,
  );
});

test('a process without the API key does not start', async () => {
  const without = { TEMPORAL_ADDRESS: proxy.address, TEMPORAL_TLS: tls };
  await expect(product.start(['api'], without)).rejects.toThrow(/Temporal does not answer at/);
});
