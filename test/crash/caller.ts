import { runIds } from '../../src/automation/core/ids.ts';
import { type Answer, type ApiClient, apiClient, untilTaken } from '../api-client.ts';

/** Dialect B shows the results of steps. */
export const inB = { 'x-api-variant': 'B' };

export interface Execution {
  /** What `{{input}}` stands for. */
  input?: unknown;
  /** Whether the caller waits for the end. */
  wait?: boolean;
  idempotencyKey?: string;
}

/** A customer of the API who keeps a journal: every run that an answer named must be there for ever. */
export class Caller {
  /** Canonical ids, in the order in which they were learnt. */
  readonly acknowledged = new Set<string>();
  readonly #key: string;

  constructor(key: string) {
    this.#key = key;
  }

  /** Speaks to one process of the API. */
  at(api: string): ApiClient {
    return apiClient(api, this.#key);
  }

  /** A workflow with a step for each prompt: step1, step2 … @returns its id */
  async createWorkflow(api: string, prompts: string[]): Promise<string> {
    const steps = prompts.map((prompt, index) => ({ id: `step${index + 1}`, type: 'prompt', prompt }));
    const { status, body } = await untilTaken('the workflow is created or refused', () =>
      this.at(api).post('/api/v1/workflows', { name: 'Crash', steps }, inB),
    );
    if (status !== 201) throw new Error(`The workflow was not created: ${JSON.stringify(body)}`);
    return body.data.id;
  }

  /** Rejects when the connection breaks: then nothing was acknowledged. */
  async execute(api: string, workflowId: string, execution: Execution = {}): Promise<Answer> {
    const { input = 'text', wait = false, idempotencyKey } = execution;
    const headers = { ...inB, ...(idempotencyKey && { 'idempotency-key': idempotencyKey }) };
    const path = `/api/v1/workflows/${workflowId}/execute`;
    const answer = await this.at(api).post(path, { input, async: !wait }, headers);
    const runId = answer.body?.data?.runId ?? answer.body?.error?.details?.runId;
    if (typeof runId === 'string') this.acknowledged.add(runIds.parse(runId)!);
    return answer;
  }

  /** A run as dialect B shows it, with the results of its steps. */
  async read(api: string, runId: string): Promise<Answer> {
    return this.at(api).get(`/api/v1/runs/${runId}`, inB);
  }
}
