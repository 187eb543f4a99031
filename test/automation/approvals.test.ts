import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { simpleParser } from 'mailparser';
import { newEmail, personWith } from '../accounts/people.ts';
import type { ApiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { makeFlow } from './make-flow.ts';
import { endOf, inB } from './make-workflow.ts';

let product: StartedProduct;
let api: ApiClient;
/** The mails of every product of this run. */
const folder = join(runningServers().folder, 'mail');
beforeAll(async () => {
  product = await sharedProduct();
  api = product.api;
});
afterAll(() => product.close());

type Step = Record<string, unknown>;
interface Shown {
  id: string;
  status: string;
  runId: string;
  message: string;
}

async function start(steps: Step[], input: unknown = null, client = api): Promise<string> {
  const id = await makeFlow(product, client, steps);
  const { body } = await client.post(
    `/api/v1/workflows/${id}/execute`,
    { input, async: true },
    { 'x-api-variant': 'A' },
  );
  return body.data.runId;
}
/** The approvals of a run, once there are so many. */
const approvalsOf = (runId: string, count = 1, client = api) =>
  until('the run asks', async () => {
    const { approvals } = (await client.get('/api/v1/approvals?limit=100')).body.data as { approvals: Shown[] };
    const own = approvals.filter((one) => one.runId === runId);
    return own.length === count && own;
  });
const ask = async (step: Step = {}, input?: unknown) => {
  const runId = await start([{ id: 'ask', type: 'approval', message: 'Refund {{input}}?', ...step }], input);
  const [approval] = await approvalsOf(runId);
  return { runId, approval: approval!, id: approval!.id };
};
const respond = (id: string, body: object, client = api) => client.post(`/api/v1/approvals/${id}/respond`, body);
const read = async (id: string) => (await api.get(`/api/v1/approvals/${id}`)).body.data;

const form = {
  type: 'object',
  properties: { amount: { type: 'number', minimum: 1 }, note: { type: 'string' }, sure: { type: 'boolean' } },
  required: ['amount'],
  additionalProperties: false,
};

/** Mails to an address: their texts and the links in them. */
const mailsTo = async (address: string) => {
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.eml')) : [];
  const contents = files.map((name) => readFileSync(join(folder, name))).filter((content) => content.includes(address));
  const mails = await Promise.all(contents.map((content) => simpleParser(content)));
  return mails
    .filter(({ to }) => [to].flat().some((one) => one?.text === address))
    .map(({ subject = '', text = '' }) => ({
      subject,
      text,
      path: new URL(/https?:\S+\/a\/\S+/.exec(text)![0]).pathname,
    }));
};
const mailTo = (address: string, count = 1) =>
  until(`a mail to ${address}`, async () => {
    const mails = await mailsTo(address);
    return mails.length === count && mails.at(-1)!;
  });
const page = (path: string, body?: Record<string, string>) =>
  fetch(new URL(path, product.process.api), {
    redirect: 'manual',
    ...(body && { method: 'POST', body: new URLSearchParams(body) }),
  });

describe('by the API', () => {
  test('an answer resumes the run with it, and a second one gets the name of the first approver', async () => {
    const { runId, approval, id } = await ask({ form }, 'Ada');
    expect(approval).toMatchObject({
      status: 'pending',
      message: 'Refund Ada?',
      stepId: 'ask',
      path: null,
      actions: [
        { id: 'approve', label: 'Approve' },
        { id: 'reject', label: 'Reject', skipForm: true },
      ],
      form,
      approvers: [],
      response: null,
    });
    expect(id).toMatch(/^apr_[0-9a-f]{32}$/);
    const wrong: [object, string, RegExp][] = [
      [{ action: 'approve' }, 'values.amount', /^Required\.$/],
      [{ action: 'approve', values: { amount: 'much' } }, 'values.amount', /^Expected a number\.$/],
      [{ action: 'approve', values: { amount: 5, other: 1 } }, 'values', /^Unknown field: other\.$/],
      [{ action: 'reject', values: { amount: 5 } }, 'values', /./],
      [{ action: 'maybe' }, 'action', /^Expected one of /],
    ];
    for (const [body, path, sentence] of wrong) {
      const { status, body: refused } = await respond(id, body);
      const [problem] = refused.error.details.errors;
      expect({ status, path: problem.path }).toEqual({ status: 400, path });
      expect(problem.message).toMatch(sentence);
    }
    expect((await read(id)).status).toBe('pending');

    const answered = await respond(id, { action: 'approve', values: { amount: 49.5 }, comment: 'Fine.' });
    const response = {
      action: 'approve',
      values: { amount: 49.5 },
      comment: 'Fine.',
      respondedBy: expect.stringMatching(/^key:/),
      respondedAt: expect.any(String),
      channel: 'api',
    };
    expect(answered).toMatchObject({ status: 200, body: { data: { status: 'answered', response } } });
    expect((await endOf(api, runId)).output.result).toEqual(answered.body.data.response);
    const { respondedBy, respondedAt } = answered.body.data.response;
    expect(await respond(id, { action: 'reject' })).toMatchObject({
      status: 409,
      body: { error: { code: 'conflict', details: { status: 'answered', respondedBy, respondedAt } } },
    });
    expect((await respond('apr_1', { action: 'reject' })).body.error.code).toBe('not_found');
  });

  test('a signed-in person answers in their own name', async () => {
    const { database, process, tenant } = product;
    const within = { database, base: process.api, organizationId: tenant.organizationId };
    const member = await personWith(within, 'member');
    const { runId, id } = await ask();
    const { status, body } = await respond(id, { action: 'approve' }, member.api);
    const response = { respondedBy: `user:${member.email}`, channel: 'console' };
    expect([status, body.data.response]).toMatchObject([200, response]);
    expect((await endOf(api, runId)).output.result).toMatchObject(response);
  });

  test('the first of many answers at once wins, and is the only one', async () => {
    const { runId, id } = await ask();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => respond(id, { action: n % 2 ? 'approve' : 'reject', comment: `${n}` })),
    );
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(9);
    expect((await endOf(api, runId)).output.result).toEqual(won[0]!.body.data.response);
  });

  test('several are open in one run, each decided by its own id', async () => {
    const branch = (id: string) => ({ id, steps: [{ id: `ask_${id}`, type: 'approval', message: id }] });
    const runId = await start([{ id: 'both', type: 'parallel', branches: [branch('left'), branch('right')] }]);
    const open = await approvalsOf(runId, 2);
    const [left, right] = ['left', 'right'].map((message) => open.find((one) => one.message === message)!);
    expect(await read(left!.id)).toMatchObject({ path: ['both', 'left', 'ask_left'] });
    await respond(right!.id, { action: 'reject' });
    expect((await read(left!.id)).status).toBe('pending');
    await respond(left!.id, { action: 'approve' });
    const { results } = (await endOf(api, runId)).output.result;
    expect([results.left.output.action, results.right.output.action]).toEqual(['approve', 'reject']);
  });

  test('a timeout fails the step, or takes an action', async () => {
    const failing = await ask({ timeout: 1 });
    expect((await endOf(api, failing.runId)).error).toMatchObject({ stepId: 'ask', code: 'approval_expired' });
    expect(await read(failing.id)).toMatchObject({ status: 'expired', response: null });
    const acting = await ask({ timeout: 1, onTimeout: 'reject' });
    const response = {
      action: 'reject',
      values: {},
      comment: null,
      respondedBy: null,
      respondedAt: expect.any(String),
      channel: 'timeout',
    };
    expect((await endOf(api, acting.runId)).output.result).toEqual(response);
    expect(await read(acting.id)).toMatchObject({ status: 'expired', response });
    expect(await respond(acting.id, { action: 'approve' })).toMatchObject({
      status: 409,
      body: { error: { details: { status: 'expired', respondedBy: null } } },
    });
  });

  test('cancelling the run cancels it, and lists filter by status and workflow', async () => {
    const { runId, id } = await ask();
    await api.post(`/api/v1/runs/${runId}/cancel`, {});
    expect((await read(id)).status).toBe('cancelled');
    expect((await respond(id, { action: 'approve' })).status).toBe(409);
    const { workflowId } = await read(id);
    const listed = await api.get(`/api/v1/approvals?status=cancelled&workflowId=${workflowId}`);
    expect(listed.body.data).toMatchObject({ approvals: [{ id }], pagination: { total: 1 } });
    const inDialectB = await api.get(`/api/v1/approvals?status=pending&workflowId=${workflowId}`, inB);
    expect(inDialectB.body.data).toMatchObject({ approvals: [], total: 0 });
    expect((await api.get('/api/v1/approvals?status=open')).status).toBe(400);
  });

  test('approvers have to be addresses, and a plan includes so many open approvals', async () => {
    const runId = await start([{ id: 'ask', type: 'approval', message: 'x', approvers: ['{{input}}'] }], 'nobody');
    expect((await endOf(api, runId)).error).toMatchObject({ stepId: 'ask', code: 'invalid_payload' });
  });
});

describe('by mail', () => {
  test('reading a link changes nothing, whatever reads it; its form decides', async () => {
    const address = newEmail();
    const { runId, id } = await ask({ form, approvers: ['{{input}}'] }, address);
    const mail = await mailTo(address);
    expect(mail.subject).toContain('Approval for');
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'GET']) {
      await fetch(new URL(mail.path, product.process.api), { method });
    }
    const shown = await page(mail.path);
    const markup = await shown.text();
    expect(shown.status).toBe(200);
    expect(markup).toContain(`Refund ${address}?`);
    expect(markup).not.toMatch(/<script|javascript:/i);
    expect(shown.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(shown.headers.get('cache-control')).toBe('no-store');
    expect((await read(id)).status).toBe('pending');

    const refused = await page(mail.path, { action: 'approve', 'value.amount': 'much' });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('values.amount');
    const answered = await page(mail.path, {
      action: 'approve',
      'value.amount': '12.5',
      'value.sure': 'true',
      'value.note': '',
      comment: 'By mail',
    });
    expect(answered.status).toBe(303);
    const response = {
      action: 'approve',
      values: { amount: 12.5, sure: true },
      comment: 'By mail',
      respondedBy: `email:${address}`,
      respondedAt: expect.any(String),
      channel: 'mail',
    };
    expect((await endOf(api, runId)).output.result).toEqual(response);

    const dead = await page(mail.path);
    const text = await dead.text();
    expect(dead.status).toBe(200);
    expect(text).toContain(`email:${address}`);
    expect(text).not.toContain('<form');
    // A late answer gets the same refusal, and decides nothing.
    const late = await page(mail.path, { action: 'reject' });
    expect(await late.text()).toContain(`email:${address}`);
    expect((await read(id)).response).toEqual(response);
    const { rows } = await product.database.pool.query(
      `select sealed_token, token_hash from approval_link where address = $1`,
      [address],
    );
    expect(rows).toEqual([{ sealed_token: null, token_hash: expect.anything() }]);
    expect(await mailsTo(address)).toHaveLength(1);
  });

  test('each approver has a link, and is reminded once after half of the time', async () => {
    const [one, two] = [newEmail(), newEmail()];
    const { id } = await ask({ approvers: [one, two, one], timeout: 3_600 });
    const [first, second] = [await mailTo(one), await mailTo(two)];
    expect(first.path).not.toBe(second.path);
    await product.database.pool.query(
      `update approval set remind_at = now() where id = replace($1, 'apr_', '')::uuid and status = 'pending'`,
      [id],
    );
    const reminder = await mailTo(one, 2);
    const both = await mailsTo(one);
    expect(both.map(({ subject }) => subject.startsWith('Reminder')).sort()).toEqual([false, true]);
    expect(reminder.path).toBe(first.path);
    expect((await page(second.path, { action: 'reject' })).status).toBe(303);
    expect((await read(id)).response).toMatchObject({ action: 'reject', respondedBy: `email:${two}` });
    expect(await (await page(first.path)).text()).toContain(`email:${two}`);
  });

  test('a link that was never sent does not exist', async () => {
    const unknown = await page(`/a/${'x'.repeat(43)}`);
    expect(unknown.status).toBe(404);
    expect((await page('/a/short')).status).toBe(404);
    expect((await page(`/a/${'x'.repeat(43)}`, { action: 'approve' })).status).toBe(404);
  });
});

describe('its events', () => {
  test.each([
    ['approval.requested', 'pending', null, {}],
    ['approval.answered', 'answered', 'approve', {}],
    ['approval.expired', 'expired', 'reject', { timeout: 1, onTimeout: 'reject' }],
  ])('%s starts workflows', async (name, status, action, more) => {
    const message = `Watch me: ${name}`;
    const steps = [{ id: 'echo', type: 'transform', expression: 'input' }];
    const { id: watcher } = (await api.post('/api/v1/workflows', { name: 'Watcher', steps })).body.data;
    const triggers = [{ event: name, filter: `event.data.message == "${message}"` }];
    await api.request('PUT', `/api/v1/workflows/${watcher}/triggers`, { triggers });
    const { id } = await ask({ message, form: { type: 'object', properties: {} }, ...more });
    if (status === 'answered') expect((await respond(id, { action })).status).toBe(200);
    const run = await until('the watcher runs', async () => {
      const { runs } = (await api.get(`/api/v1/workflows/${watcher}/runs`)).body.data;
      return runs[0]?.status === 'COMPLETED' && runs[0];
    });
    const { result } = (await api.get(`/api/v1/runs/${run.id}`)).body.data.output;
    const response = action && expect.objectContaining({ action });
    expect(result).toMatchObject({ type: name, data: { id, status, message, response } });
    expect(result.data.form).toBeUndefined();
    if (status === 'pending') await respond(id, { action: 'approve' });
  });
});
