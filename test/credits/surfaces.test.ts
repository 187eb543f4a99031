import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { nextGrantAt } from '../../src/credits/core/grants.ts';
import { setMonthlyGrant } from '../../src/credits/grants.ts';
import { reserveCredits, settleCredits, voidCredits } from '../../src/credits/reservations.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { updateOrganization } from '../../src/tenancy/organizations.ts';
import { apiClient } from '../api-client.ts';
import { runCli } from '../cli/run-cli.ts';
import { type StartedProduct, sharedProduct, type Tenant } from '../product.ts';

let product: StartedProduct;
let api: StartedProduct['process'];
beforeAll(async () => {
  product = await sharedProduct();
  api = product.process;
});
afterAll(() => product.close());

const nextMonth = () => nextGrantAt('live', new Date())!.toISOString();
const liveScope = ({ organizationId }: Tenant) =>
  new Scope(product.database, { organizationId: organizationIds.parse(organizationId)!, environment: 'live' }, 'test');

describe('GET /credits', () => {
  test('answers each environment with its own credits, below both prefixes and in both dialects', async () => {
    const tenant = await product.createTenant({ plan: 'pro' });
    const [live, tests] = [tenant.liveKey, tenant.testKey].map((key) => apiClient(api.api, key));
    const answers = await Promise.all([
      live!.get('/api/v1/credits'),
      live!.get('/v1/credits', { 'x-api-variant': 'B' }),
      tests!.get('/api/v1/credits'),
    ]);
    for (const { status, headers } of answers) {
      expect({ status, cache: headers.get('cache-control') }).toEqual({ status: 200, cache: 'no-store' });
    }
    const pro = { balance: 1_000, reserved: 0, available: 1_000, monthlyGrant: 1_000, nextGrantAt: nextMonth() };
    expect(answers[0]!.body).toEqual({ success: true, data: pro });
    expect(answers[1]!.body).toEqual({ success: true, data: pro });
    expect(answers[2]!.body).toEqual({
      success: true,
      data: { balance: 10_000, reserved: 0, available: 10_000, monthlyGrant: 0, nextGrantAt: null },
    });
  });

  test('shows what is reserved and what was spent, and another organization nothing of it', async () => {
    const tenant = await product.createTenant({ plan: 'free' });
    const other = await product.createTenant({ plan: 'free' });
    const scope = liveScope(tenant);
    const [one, two] = [tenant, other].map(({ liveKey }) => apiClient(api.api, liveKey));
    const credits = async () => (await one!.get('/api/v1/credits')).body.data;
    const reserve = (key: string) =>
      reserveCredits(scope, { operation: 'image', key, amount: 10, expiresInMs: 60_000 });

    await reserve('settled');
    expect(await credits()).toMatchObject({ balance: 100, reserved: 10, available: 90 });
    await settleCredits(scope, { key: 'settled', amount: 4 });
    expect(await credits()).toMatchObject({ balance: 96, reserved: 0, available: 96 });
    await reserve('voided');
    await voidCredits(scope, { key: 'voided' });
    expect(await credits()).toMatchObject({ balance: 96, reserved: 0, available: 96 });
    expect((await two!.get('/api/v1/credits')).body.data).toMatchObject({ balance: 100, reserved: 0 });
  });

  test('agrees with the limits about the monthly grant, also after a number of its own', async () => {
    const { organizationId, liveKey } = await product.createTenant({ plan: 'enterprise' });
    const one = apiClient(api.api, liveKey);
    const grants = async () => {
      const { limits } = (await one.get('/api/v1/limits')).body.data;
      const { allowed } = limits.find(({ name }: { name: string }) => name === 'monthlyCredits');
      return [allowed, (await one.get('/api/v1/credits')).body.data.monthlyGrant];
    };
    await setMonthlyGrant(product.database, organizationId, 25_000);
    expect(await grants()).toEqual([25_000, 25_000]);
    await updateOrganization(product.database, organizationId, { plan: 'pro' });
    expect(await grants()).toEqual([1_000, 1_000]);
  });

  test('needs a key, and no scope of it', async () => {
    expect((await apiClient(api.api).get('/api/v1/credits')).status).toBe(401);
    const { organizationId } = await product.createTenant();
    const { key } = await cli('key', 'create', '--org', organizationId, '--env', 'live', '--scopes', 'chat');
    expect((await apiClient(api.api, key).get('/api/v1/credits')).status).toBe(200);
  });
});

const run = (args: string[]) => runCli(args, { DATABASE_URL: product.databaseUrl });

/** Runs a command that must succeed, and reads its one document. */
async function cli(...args: string[]) {
  const { exitCode, stdout, stderr } = await run([...args, '--json']);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return JSON.parse(stdout);
}

describe('the operator’s command', () => {
  test('credits grant gives credits that stay, with the reason kept beside them', async () => {
    const { organizationId } = await product.createTenant({ plan: 'free' });
    const granted = await cli('credits', 'grant', '--org', organizationId, '--amount', '250', '--reason', 'an outage');
    const shown = {
      organizationId,
      environment: 'live',
      balance: 350,
      reserved: 0,
      available: 350,
      monthlyGrant: 100,
      nextGrantAt: nextMonth(),
    };
    expect(granted).toEqual(shown);
    expect(await cli('credits', 'show', '--org', organizationId)).toEqual(shown);
    const { rows } = await product.database.pool.query(
      'select lasting, issued, reason from credit_entry where organization_id = $1 and reason is not null',
      [organizationIds.parse(organizationId)],
    );
    expect(rows).toEqual([{ lasting: 250, issued: -250, reason: 'an outage' }]);
  });

  test('--env test is about the test environment, by either form of the id', async () => {
    const { organizationId } = await product.createTenant();
    const uuid = organizationIds.parse(organizationId)!;
    const granted = await cli('credits', 'grant', '--org', uuid, '--amount', '5', '--env', 'test');
    expect(granted).toMatchObject({ organizationId, environment: 'test', balance: 10_005, nextGrantAt: null });
    expect(await cli('credits', 'show', '--org', uuid, '--env', 'test')).toEqual(granted);
    expect(await cli('credits', 'show', '--org', uuid)).toMatchObject({ environment: 'live', balance: 5_000 });
  });

  test('without --json it prints lines for people', async () => {
    const { organizationId } = await product.createTenant({ plan: 'free' });
    const { stdout } = await run(['credits', 'show', '--org', organizationId]);
    expect(stdout).toContain('available: 100\n');
  });

  test('what is wrong is said in one document, and nothing is granted', async () => {
    const { organizationId } = await product.createTenant({ plan: 'free' });
    const grant = (...args: string[]) => ['credits', 'grant', '--org', organizationId, ...args];
    const wrong: [args: string[], code: string][] = [
      [grant('--amount', '0'), 'validation_error'],
      [grant('--amount', '-5'), 'validation_error'],
      [grant('--amount', '1.5'), 'validation_error'],
      [grant('--amount', '1', '--env', 'prod'), 'validation_error'],
      [grant('--amount', '1', '--reason', ' '), 'validation_error'],
      [grant(), 'validation_error'],
      [['credits', 'grant', '--org', 'org_none', '--amount', '1'], 'not_found'],
      [['credits', 'show', '--org', 'org_none'], 'not_found'],
    ];
    const seen = await Promise.all(
      wrong.map(async ([args]) => {
        const { exitCode, stdout, stderr } = await run(args);
        return { args, exitCode, stdout, code: JSON.parse(stderr).error.code };
      }),
    );
    expect(seen).toEqual(wrong.map(([args, code]) => ({ args, exitCode: 1, stdout: '', code })));
    expect(await cli('credits', 'show', '--org', organizationId)).toMatchObject({ balance: 100 });
  });
});
