import { describe, expect, test } from '@jest/globals';
import { automationStates } from '../../src/automation/core/automation-state.ts';
import { runStatuses } from '../../src/automation/core/run-status.ts';
import type { AutomationDetail } from '../../src/automation/definitions/automations.ts';
import type { RunDetail } from '../../src/automation/runs/runs.ts';
import {
  acceptedSchema,
  executedSchema,
  runDetailSchema,
  runListSchema,
  triggeredSchema,
} from '../schemas/automation/run.ts';
import {
  changedWorkflowSchema,
  createdWorkflowSchema,
  workflowDetailSchema,
  workflowListSchema,
} from '../schemas/automation/workflow.ts';
import { automationDialects } from './automation.ts';

const at = new Date('2026-11-21T09:30:00.000Z');
const id = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000';

const workflow: AutomationDetail = {
  id,
  name: 'Summarize',
  description: null,
  state: 'active',
  totalRuns: 2,
  createdAt: at,
  updatedAt: at,
  aiModel: 'claude-sonnet-4-20250514',
  aiProvider: 'ANTHROPIC',
  config: { any: 'thing' },
  steps: [{ id: 'say', type: 'prompt', prompt: '{{input}}' }],
  inputs: [{ name: 'who', type: 'string', required: false }],
  concurrency: { limit: 2, key: 'input.customer', strategy: 'queue' },
  maxDurationSeconds: 60,
  isPaused: false,
  mcp: null,
  version: 3,
};

const run: RunDetail = {
  id,
  automationId: id,
  automationName: 'Summarize',
  status: 'completed',
  input: 'x',
  variables: { who: 'me' },
  output: { result: 'y', steps: { say: 'y' } },
  outputsApart: null,
  resultApart: null,
  error: null,
  inputApart: null,
  variablesApart: null,
  returnsInput: false,
  tokensUsed: 3,
  durationMs: 12,
  currentStep: 'say',
  progress: 100,
  createdAt: at,
  startedAt: at,
  finishedAt: at,
  version: 2,
  triggerType: 'batch',
  triggerFacts: { batchId: id },
  tags: ['a'],
  metadata: { a: 1 },
  isTest: false,
  parentRunId: id,
  rootRunId: id,
  batchId: id,
  priority: 1,
  scheduledFor: at,
  expiresAt: at,
  queuedFor: null,
  waitingFor: null,
  stepResults: [
    {
      stepId: 'say',
      path: null,
      counts: null,
      name: null,
      status: 'completed',
      attempts: 1,
      output: 'y',
      outputApart: null,
      error: null,
      durationMs: 12,
      provider: 'ANTHROPIC',
      model: 'claude-sonnet-4-20250514',
      tokensUsed: 3,
      warnings: [],
      warningsTotal: 0,
      models: null,
      toolCalls: null,
      startedAt: at,
      finishedAt: at,
    },
  ],
};

const page = <Item>(...items: Item[]) => ({ items, total: 3, limit: 1, offset: 1 });

describe.each(['A', 'B'] as const)('dialect %s', (variant) => {
  const dialect = automationDialects[variant];

  test.each(automationStates)('writes a workflow that is %s as published', (state) => {
    const one = { ...workflow, state };
    createdWorkflowSchema.parse(dialect.workflowSummary(one));
    workflowDetailSchema.parse(dialect.workflowDetail(one, 'https://example.com/hook'));
    changedWorkflowSchema.parse(dialect.workflowChange(one));
    workflowListSchema.parse(dialect.workflowList(page(one)));
  });

  test.each(runStatuses)('writes a run that is %s as published', (status) => {
    const one = { ...run, status };
    runDetailSchema.parse(dialect.runDetail(one));
    runListSchema.parse(dialect.runList(page(one)));
    executedSchema.parse(dialect.executed(one));
    acceptedSchema.parse(dialect.accepted({ runId: id, automationId: id, replayed: false }));
    triggeredSchema.parse(dialect.skipped());
    triggeredSchema.parse(dialect.triggered({ runId: id, automationId: id, replayed: false, queuedFor: 'delay' }));
  });

  test('replaces large outputs by references in its own form of the id', () => {
    const large = { ...run, outputsApart: { say: 300_000 }, resultApart: 'say' };
    const shown = variant === 'A' ? id : `run_${id.replaceAll('-', '')}`;
    const reference = { $ref: `/api/v1/runs/${shown}/outputs/say`, bytes: 300_000 };
    expect(dialect.runDetail(large)).toMatchObject({ output: { result: reference, steps: { say: reference } } });
  });

  test('reads the fields of both dialects', () => {
    expect(dialect.readExecution({ input: 'x', variables: { who: 'me' }, async: true })).toEqual({
      input: { value: 'x' },
      variables: { who: 'me' },
      wait: false,
    });
    expect(dialect.readExecution({ inputs: { who: 5 }, async: false })).toEqual({
      input: 'whole',
      variables: { who: 5 },
      wait: true,
    });
  });

  test.each([{}, { async: false }])('needs values in B alone: %j', (body) => {
    const read = () => dialect.readExecution(body);
    if (variant === 'A') expect(read()).toMatchObject({ input: { value: undefined }, variables: {} });
    else
      expect(read).toThrow(expect.objectContaining({ facts: { errors: [{ path: 'inputs', message: 'Required.' }] } }));
  });

  test('waits by default in A alone', () => {
    expect(dialect.readExecution({ input: 'x' }).wait).toBe(variant === 'A');
  });
});
