import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { seed } from './seed.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;

beforeAll(async () => {
  product = await sharedProduct();
});
afterAll(() => product.close());

/** What a workflow should look like. */
interface Expected {
  id: string;
  name: string;
  isActive: boolean;
  totalRuns: number;
}

type Model = [Expected[], Expected[]];
type Real = [ApiClient, ApiClient];
type Who = 0 | 1;

async function newTenant(): Promise<ApiClient> {
  const { id } = await createOrganization(product.database, { name: 'M', plan: 'enterprise', rateMinute: 1_000_000 });
  const { key } = await createKey(product.database, { organizationId: id, environment: 'test' });
  return apiClient(product.process.api, key);
}

/** After every step both tenants see exactly their own workflows, newest first. */
async function compare(model: Model, real: Real): Promise<void> {
  for (const who of [0, 1] as const) {
    const { body } = await real[who].get('/api/v1/workflows?limit=100');
    const seen = body.data.workflows.map(({ id, name, isActive, totalRuns }: Expected) => ({
      id,
      name,
      isActive,
      totalRuns,
    }));
    expect(seen).toEqual(model[who].toReversed());
    expect(body.data.pagination.total).toBe(model[who].length);
  }
}

const step = (label: string, run: (model: Model, real: Real) => Promise<void>): fc.AsyncCommand<Model, Real> => ({
  check: () => true,
  async run(model, real) {
    await run(model, real);
    await compare(model, real);
  },
  toString: () => label,
});

const pick = (model: Model, who: Who, index: number) => model[who][index % Math.max(1, model[who].length)];
const path = (id: string) => `/api/v1/workflows/${id}`;

const create = (who: Who, name: string) =>
  step(`create(${who}, ${name})`, async (model, real) => {
    const { status, body } = await real[who].post('/api/v1/workflows', { name });
    expect(status).toBe(201);
    model[who].push({ id: body.data.id, name, isActive: true, totalRuns: 0 });
  });

const change = (who: Who, index: number, isActive: boolean, name: string) =>
  step(`change(${who}, ${index}, ${isActive})`, async (model, real) => {
    const target = pick(model, who, index);
    if (!target) return;
    expect((await real[who].patch(path(target.id), { isActive, name })).status).toBe(200);
    Object.assign(target, { isActive, name });
  });

const remove = (who: Who, index: number) =>
  step(`remove(${who}, ${index})`, async (model, real) => {
    const target = pick(model, who, index);
    if (!target) return;
    expect((await real[who].delete(path(target.id))).body.data).toEqual({ deleted: true });
    model[who].splice(model[who].indexOf(target), 1);
    expect((await real[who].get(path(target.id))).status).toBe(404);
  });

const execute = (who: Who, index: number) =>
  step(`execute(${who}, ${index})`, async (model, real) => {
    const target = pick(model, who, index);
    if (!target) return;
    const { status, body } = await real[who].post(`${path(target.id)}/execute`, { input: 'x' });
    expect({ status, code: body.error?.code }).toEqual(
      target.isActive ? { status: 200, code: undefined } : { status: 400, code: 'workflow_inactive' },
    );
    if (target.isActive) target.totalRuns++;
  });

const trespass = (who: Who, index: number, method: string) =>
  step(`trespass(${who}, ${index}, ${method})`, async (model, real) => {
    const target = pick(model, who === 0 ? 1 : 0, index);
    if (!target) return;
    const body = method === 'PATCH' ? { name: 'stolen' } : undefined;
    expect((await real[who].request(method, path(target.id), body)).status).toBe(404);
    expect((await real[who].post(`${path(target.id)}/execute`, {})).status).toBe(404);
  });

test('two tenants who do anything in any order see what they did, and nothing of each other', async () => {
  const who = fc.constantFrom<Who>(0, 1);
  const name = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
    .map((text) => `n${text.replaceAll('\0', '')}`);
  const commands = fc.commands(
    [
      fc.tuple(who, name).map(([one, called]) => create(one, called)),
      fc
        .tuple(who, fc.nat(9), fc.boolean(), name)
        .map(([one, index, active, called]) => change(one, index, active, called)),
      fc.tuple(who, fc.nat(9)).map(([one, index]) => remove(one, index)),
      fc.tuple(who, fc.nat(9)).map(([one, index]) => execute(one, index)),
      fc
        .tuple(who, fc.nat(9), fc.constantFrom('GET', 'PATCH', 'DELETE'))
        .map(([one, index, method]) => trespass(one, index, method)),
    ],
    { maxCommands: 25 },
  );
  await fc.assert(
    fc.asyncProperty(commands, async (chosen) => {
      const real: Real = [await newTenant(), await newTenant()];
      await fc.asyncModelRun(() => ({ model: [[], []] as Model, real }), chosen);
    }),
    { numRuns: 12, seed },
  );
});
