import { until } from '../until.ts';
import { askThrice, type Caller } from './caller.ts';

const definition = {
  name: 'Contract',
  description: 'A step of each kind.',
  steps: [
    {
      id: 'say',
      type: 'prompt',
      name: 'Say it',
      prompt: '{{input}} {{who}}',
      temperature: 0.5,
      retry: { maxAttempts: 2 },
    },
    { id: 'check', type: 'condition', expression: 'variables.who == "me"', then: 'shout', else: 'end' },
    { id: 'shout', type: 'transform', expression: '{"said": steps.say.output}' },
  ],
  inputs: [{ name: 'who', type: 'string', required: false, default: 'me', description: 'Whom.' }],
  config: { any: ['thing'] },
};

/** The caller's own way of naming the run that an answer speaks of. */
const runOf = (data: { id?: string; runId?: string }) => (data.runId ?? data.id)!;

/** Workflows, their schedule and their secrets, their runs, and what can be done with a run. */
export async function recordAutomation(caller: Caller): Promise<void> {
  const { ask, dialect } = caller;
  const created = await askThrice(caller, { endpoint: 'POST /workflows', body: definition }, { name: 'Another' });
  const ids = { id: created.body.data.id as string };
  await ask({ endpoint: 'POST /workflows', what: 'with many things wrong', body: manyWrong });
  await ask({ endpoint: 'GET /workflows' });
  const state = dialect === 'A' ? 'active=true' : 'status=active';
  await ask({ endpoint: 'GET /workflows', query: `?limit=1&offset=1&${state}` });
  await ask({ endpoint: 'GET /workflows', query: '?limit=0&offset=-1&active=maybe&status=on' });
  await ask({ endpoint: 'GET /workflows/{id}', ids });
  await recordRuns(caller, ids);
  await recordSchedule(caller, ids);
  await recordSecrets(caller);
  await recordVersions(caller, ids);
  await recordEvents(caller, ids);
  await recordApprovals(caller);
  const changed = dialect === 'A' ? { isActive: false } : { status: 'archived', description: null };
  await ask({ endpoint: 'PATCH /workflows/{id}', ids, body: changed });
  await ask({ endpoint: 'POST /workflows/{id}/execute', what: 'of one that is not active', ids, body: { input: 'x' } });
  await ask({ endpoint: 'DELETE /workflows/{id}', ids });
  await ask({ endpoint: 'DELETE /workflows/{id}', what: 'again', ids });
}

/** Events that callers send, and the triggers of a workflow. */
async function recordEvents({ ask }: Caller, ids: { id: string }): Promise<void> {
  const [put, send] = ['PUT /workflows/{id}/triggers', 'POST /events'];
  const trigger = { event: 'contract.never', filter: 'event.data.n > 1', inputs: { who: 'event.data.who' } };
  await ask({ endpoint: 'GET /workflows/{id}/triggers', what: 'of one without', ids });
  await ask({ endpoint: put, ids, body: { triggers: [trigger, { event: 'contract.other' }] } });
  await ask({ endpoint: put, what: 'with a wrong filter', ids, body: { triggers: [{ event: 'a', filter: 'input' }] } });
  await ask({
    endpoint: put,
    what: 'with many things wrong',
    ids,
    body: { triggers: [{ event: 'A', inputs: { a: 1 } }] },
  });
  await ask({ endpoint: 'GET /workflows/{id}/triggers', ids });
  await ask({ endpoint: send, body: { name: 'contract.sent', data: { a: 1 }, id: 'contract-event' } });
  await ask({ endpoint: send, what: 'again', body: { name: 'contract.sent', data: { a: 1 }, id: 'contract-event' } });
  await ask({ endpoint: send, what: 'with other data', body: { name: 'contract.sent', id: 'contract-event' } });
  await ask({ endpoint: send, what: "of a platform's name", body: { name: 'workflow.run.completed' } });
  await ask({ endpoint: send, what: 'with many things wrong', body: { name: 'Not a name', data: [], id: '' } });
  await ask({ endpoint: put, what: 'with none', ids, body: { triggers: [] } });
}

/** Versions of a workflow, and workflows as documents. */
async function recordVersions({ ask }: Caller, ids: { id: string }): Promise<void> {
  const version = '/workflows/{id}/versions/{version}';
  const first = { ...ids, version: '1' };
  await ask({ endpoint: 'GET /workflows/{id}/versions', ids });
  await ask({ endpoint: `GET ${version}`, ids: first });
  await ask({ endpoint: `GET ${version}`, what: 'that does not exist', ids: { ...ids, version: '99' } });
  await ask({ endpoint: `POST ${version}/restore`, ids: first });
  await ask({ endpoint: `GET ${version}/diff`, ids: first, query: '?to=2' });
  const stale = { expectedVersion: 1 };
  await ask({ endpoint: 'PATCH /workflows/{id}', what: 'of an earlier version', ids, body: stale });
  await ask({ endpoint: 'POST /workflows/validate', body: { name: 'x', steps: [{ id: 'a', type: 'dance' }] } });
  await ask({ endpoint: 'POST /workflows/{id}/test', ids, body: { input: 'x', mocks: { absent: { output: 1 } } } });
  await ask({ endpoint: 'GET /workflows/{id}/export', ids });
  await ask({ endpoint: 'POST /workflows/import', body: { atelier: 1, name: 'Imported' } });
  await ask({ endpoint: 'POST /workflows/import', what: 'of another format', body: { atelier: 2 } });
}

/** Approvals, of which there are none yet. */
async function recordApprovals({ ask }: Caller): Promise<void> {
  const ids = { approvalId: `apr_${'0'.repeat(32)}` };
  await ask({ endpoint: 'GET /approvals' });
  await ask({ endpoint: 'GET /approvals', query: '?status=open&limit=0' });
  await ask({ endpoint: 'GET /approvals/{approvalId}', ids });
  await ask({ endpoint: 'POST /approvals/{approvalId}/respond', ids, body: { action: 'approve' } });
  await ask({ endpoint: 'POST /approvals/{approvalId}/respond', what: 'with nothing', ids, body: {} });
}

/** Secrets, which every organization names for itself. */
async function recordSecrets({ ask }: Caller): Promise<void> {
  const [put, remove] = ['PUT /secrets/{secretName}', 'DELETE /secrets/{secretName}'];
  const ids = { secretName: 'CRM_TOKEN' };
  await ask({ endpoint: put, ids, body: { value: 'hidden' } });
  await ask({ endpoint: put, what: 'without a value', ids, body: {} });
  await ask({ endpoint: put, what: 'with an empty value', ids, body: { value: '' } });
  await ask({ endpoint: put, what: 'with another name', ids: { secretName: 'crm' }, body: { value: 'x' } });
  await ask({ endpoint: 'GET /secrets' });
  await ask({ endpoint: 'GET /secrets', query: '?limit=1&offset=1' });
  await ask({ endpoint: remove, ids });
  await ask({ endpoint: remove, what: 'again', ids });
}

const manyWrong = {
  name: ' ',
  description: 5,
  steps: [
    { id: '1', type: 'dance' },
    { id: 'a', type: 'prompt', temperature: 2, maxTokens: 0 },
  ],
  inputs: [{ name: '', type: 'date', required: 'yes' }],
  config: [],
  aiProvider: 'NOBODY',
  isActive: 'yes',
  status: 'on',
};

async function recordRuns(caller: Caller, ids: { id: string }): Promise<void> {
  const { ask, dialect } = caller;
  const execute = 'POST /workflows/{id}/execute';
  const given = dialect === 'A' ? { input: 'x', variables: { who: 'me' } } : { inputs: { who: 'me' } };
  const waited = await askThrice(caller, { endpoint: execute, ids, body: { ...given, async: false } }, { input: 'y' });
  const run = { id: runOf(waited.body.data) };
  const started = await ask({ endpoint: execute, what: 'and go on', ids, body: { ...given, async: true } });
  await hasEnded(caller, runOf(started.body.data));
  await ask({ endpoint: execute, what: 'without inputs', ids, body: { async: false } });
  await ask({ endpoint: execute, what: 'with wrong inputs', ids, body: { inputs: { who: 5 }, async: false } });
  await ask({ endpoint: 'GET /runs/{id}', ids: run });
  await ask({ endpoint: 'GET /runs/{id}/input', ids: run });
  await ask({ endpoint: 'GET /runs/{id}/steps', ids: run });
  await ask({ endpoint: 'GET /runs/{id}/events', ids: run });
  await ask({ endpoint: 'GET /runs/{id}/events', what: 'from the third', ids: run, headers: { 'last-event-id': '2' } });
  await ask({ endpoint: 'GET /runs/{id}/events', what: 'from nowhere', ids: run, headers: { 'last-event-id': 'x' } });
  await ask({ endpoint: 'GET /runs/{id}/outputs/{stepId}', ids: { ...run, stepId: 'shout' } });
  await ask({ endpoint: 'GET /runs/{id}/outputs/{stepId}', what: 'of no step', ids: { ...run, stepId: 'none' } });
  const again = await askThrice(
    caller,
    { endpoint: 'POST /runs/{id}/retry', ids: run, body: { fromStep: 'say' } },
    { fromStep: 'shout' },
  );
  await ask({ endpoint: 'POST /runs/{id}/retry', what: 'of a completed one, from nowhere', ids: run, body: {} });
  await hasEnded(caller, runOf(again.body.data));
  await ask({ endpoint: 'POST /runs/{id}/retry', what: 'from no step', ids: run, body: { fromStep: 'none' } });
  await ask({ endpoint: 'POST /runs/{id}/cancel', what: 'once it has ended', ids: run });
  await recordTrigger(caller, ids);
  await ask({ endpoint: 'GET /workflows/{id}/runs', ids });
  await ask({ endpoint: 'GET /workflows/{id}/runs', ids, query: '?status=completed&limit=1' });
  await ask({ endpoint: 'GET /workflows/{id}/runs', ids, query: '?status=gone' });
  await ask({ endpoint: 'DELETE /runs/{id}', ids: run });
  await ask({ endpoint: 'DELETE /runs/{id}', what: 'again', ids: run });
  await recordOtherEndings(caller);
}

async function hasEnded({ ask }: Caller, id: string): Promise<void> {
  const unrecorded = { endpoint: 'GET /runs/{id}', ids: { id }, unrecorded: true };
  await until('the run has ended', async () => {
    const { status } = (await ask(unrecorded)).body.data;
    return /^(completed|failed|cancelled)$/i.test(status);
  });
}

/** Runs that fail, that are cancelled, and whose outputs are too large to be shown. */
async function recordOtherEndings(caller: Caller): Promise<void> {
  const { ask } = caller;
  const made = async (step: object) => {
    const body = { name: 'Ending', steps: [{ id: 'only', ...step }] };
    const answer = await ask({ endpoint: 'POST /workflows', body, unrecorded: true });
    return { id: answer.body.data.id as string };
  };
  const failing = await made({ type: 'prompt', prompt: 'sandbox:fail' });
  const execute = 'POST /workflows/{id}/execute';
  const failed = await ask({ endpoint: execute, what: 'that fails', ids: failing, body: { input: 'x', async: false } });
  const ofFailed = { id: failed.body.error.details.runId as string };
  await ask({ endpoint: 'GET /runs/{id}', what: 'that failed', ids: ofFailed });
  await ask({ endpoint: 'GET /runs/{id}/events', what: 'that failed', ids: ofFailed });
  await ask({ endpoint: 'GET /workflows/{id}/runs', what: 'that failed', ids: failing });

  const slow = await made({ type: 'prompt', prompt: 'sandbox:slow=600' });
  const started = await ask({ endpoint: execute, body: { input: 'x', async: true }, ids: slow, unrecorded: true });
  const ofSlow = { id: runOf(started.body.data) };
  await until('the step has begun', async () => {
    const { body } = await ask({ endpoint: 'GET /runs/{id}', ids: ofSlow, unrecorded: true });
    return /^running$/i.test(body.data.status);
  });
  await ask({ endpoint: 'POST /runs/{id}/retry', what: 'of one that goes on', ids: ofSlow, body: {} });
  await ask({ endpoint: 'POST /runs/{id}/cancel', ids: ofSlow });

  const large = await made({ type: 'transform', expression: 'input' });
  const body = { input: 'x'.repeat(300 * 1024), async: false };
  const executed = await ask({ endpoint: execute, ids: large, body, unrecorded: true });
  const ofLarge = { id: runOf(executed.body.data) };
  await ask({ endpoint: 'GET /runs/{id}/events', what: 'with a large output', ids: ofLarge });
}

async function recordSchedule({ ask }: Caller, ids: { id: string }): Promise<void> {
  const endpoint = (method: string) => `${method} /workflows/{id}/schedule`;
  await ask({ endpoint: endpoint('GET'), what: 'that there is not', ids });
  await ask({ endpoint: endpoint('PUT'), what: 'that is wrong', ids, body: { cron: 'never', timezone: 'Nowhere' } });
  await ask({ endpoint: endpoint('PUT'), ids, body: { cron: '0 9 * * 1-5', timezone: 'Europe/Berlin', input: 1 } });
  await ask({ endpoint: endpoint('GET'), ids });
  await ask({ endpoint: endpoint('DELETE'), ids });
  await ask({ endpoint: endpoint('DELETE'), what: 'again', ids });
}

async function recordTrigger(caller: Caller, ids: { id: string }): Promise<void> {
  const { ask } = caller;
  const rotated = await askThrice(caller, { endpoint: 'POST /workflows/{id}/webhook-secret', ids }, {});
  const trigger = 'POST /webhooks/{id}';
  const withKey = await askThrice(caller, { endpoint: trigger, what: 'as a trigger', ids, body: { who: 'me' } }, {});
  await hasEnded(caller, runOf(withKey.body.data));
  const bySender = (what: string, secret: string) =>
    ask({ endpoint: trigger, what, ids, body: {}, key: null, headers: { 'x-webhook-secret': secret } });
  const started = await bySender('with its secret', rotated.body.data.secret);
  await hasEnded(caller, runOf(started.body.data));
  await bySender('with a wrong secret', 'trg_wrong');
  const byAddress = (what: string, secret: string) =>
    ask({ endpoint: 'POST /webhooks/{id}/{secret}', what, ids: { ...ids, secret }, body: {}, key: null });
  await hasEnded(caller, runOf((await byAddress('', rotated.body.data.secret)).body.data));
  await byAddress('with a wrong secret', 'trg_wrong');
  await ask({ endpoint: trigger, what: 'with wrong inputs', ids, body: { who: 5 } });
}
