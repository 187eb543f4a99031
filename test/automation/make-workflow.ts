import { type ApiClient, untilTaken } from '../api-client.ts';
import { until } from '../until.ts';

export interface MadeWorkflow {
  /** As dialect A names it. */
  id: string;
  /** The same id as dialect B names it. */
  wf: string;
}

export const inB = { 'x-api-variant': 'B' };

/** Creates a workflow with one prompt step, or with the given fields. */
export async function makeWorkflow(api: ApiClient, fields: object | string = '{{input}}'): Promise<MadeWorkflow> {
  const given = typeof fields === 'string' ? { steps: [{ id: 'say', type: 'prompt', prompt: fields }] } : fields;
  const { status, body } = await untilTaken('the workflow is created or refused', () =>
    api.post('/api/v1/workflows', { name: 'Made', ...given }, { 'x-api-variant': 'A' }),
  );
  if (status !== 201) throw new Error(`The workflow was not created: ${JSON.stringify(body)}`);
  const { id } = body.data;
  return { id, wf: `wf_${id.replaceAll('-', '')}` };
}

/** Waits for the end of a run. @returns its detail, in dialect B */
export const endOf = (api: ApiClient, runId: string, withinMs?: number) =>
  until(
    'the run ends',
    async () => {
      const { status, body } = await api.get(`/api/v1/runs/${runId}`, inB);
      // On a busy machine a request may find no connection in time: its caller asks again.
      if (status === 503) return false;
      if (status !== 200) throw new Error(`The run was not read: ${status} ${JSON.stringify(body)}`);
      const { data: detail } = body;
      return detail.status !== 'queued' && detail.status !== 'running' && detail;
    },
    withinMs,
  );
