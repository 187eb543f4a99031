import type { ExecutionExample } from './run.ts';
import { exampleWorkflowIds } from './workflow-examples.ts';

export const exampleRunIds = {
  A: '0199bbbb-cccc-7ddd-8eee-ffff00001111',
  B: 'run_0199bbbbcccc7ddd8eeeffff00001111',
} as const;

const text = 'Ten sentences about the sea.';

export const executionExamples = {
  A: { input: text, variables: { style: 'plain' } },
  B: { inputs: { text } },
  BWaiting: { inputs: { text, style: 'solemn' }, async: false },
} satisfies Record<string, ExecutionExample>;

const result = 'The sea is large.';
const output = { result, steps: { summarize: result } };
const startedAt = '2026-11-21T09:30:00.000Z';
const completedAt = '2026-11-21T09:30:01.204Z';

const acceptedB = {
  runId: exampleRunIds.B,
  workflowId: exampleWorkflowIds.B,
  status: 'running' as const,
  message: 'Workflow execution started',
};

export const executedExamples = {
  A: { runId: exampleRunIds.A, status: 'COMPLETED' as const, output: result, tokensUsed: 41, durationMs: 1_204 },
  B: acceptedB,
  BWaiting: {
    runId: exampleRunIds.B,
    workflowId: exampleWorkflowIds.B,
    status: 'completed' as const,
    duration: 1_204,
    output,
  },
};

export const acceptedExamples = { A: { runId: exampleRunIds.A, status: 'RUNNING' as const }, B: acceptedB };
export const triggeredExamples = {
  A: acceptedExamples.A,
  B: { runId: exampleRunIds.B, status: 'running' as const },
};

const triggeredBy = { type: 'api' as const };

const summary = {
  A: {
    id: exampleRunIds.A,
    status: 'COMPLETED' as const,
    input: { input: text, variables: { style: 'plain' } },
    output,
    error: null,
    tokensUsed: 41,
    durationMs: 1_204,
    createdAt: startedAt,
    version: 1,
    triggeredBy,
    tags: ['customer:7'],
  },
  B: {
    runId: exampleRunIds.B,
    workflowId: exampleWorkflowIds.B,
    status: 'completed' as const,
    progress: 100,
    startedAt,
    completedAt,
    duration: 1_204,
    output,
    version: 1,
    triggeredBy,
  },
};

const failed = {
  runId: exampleRunIds.B,
  workflowId: exampleWorkflowIds.B,
  status: 'failed' as const,
  progress: 0,
  startedAt,
  failedAt: completedAt,
  version: 1,
  triggeredBy,
  duration: 1_204,
  error: { stepId: 'summarize', message: 'The provider refused the request.', code: 'service_unavailable' as const },
};

const step = { stepId: 'summarize', name: 'Summary', attempts: 1, warnings: [], warningsTotal: 0 };

const done = { output: result, provider: 'ANTHROPIC', model: 'claude-sonnet-4-20250514', tokensUsed: 41 };

export const runDetailExamples = {
  A: {
    ...summary.A,
    workflowId: exampleWorkflowIds.A,
    workflowName: 'Summarize',
    steps: [{ ...step, ...done, status: 'completed' as const, error: null, durationMs: 1_180 }],
  },
  B: {
    ...summary.B,
    stepResults: [
      {
        ...step,
        ...done,
        status: 'completed' as const,
        duration: 1_180,
      },
    ],
  },
  BFailed: { ...failed, stepResults: [{ ...step, status: 'failed' as const, error: failed.error }] },
};

export const stepListExamples = {
  A: { steps: runDetailExamples.A.steps, pagination: { total: 1, limit: 50, offset: 0, hasMore: false } },
  B: { stepResults: runDetailExamples.B.stepResults, total: 1, limit: 20, offset: 0 },
};

export const runListExamples = {
  A: { runs: [summary.A], pagination: { total: 1, limit: 50, offset: 0, hasMore: false } },
  B: { runs: [summary.B, failed], total: 2, limit: 20, offset: 0 },
};

export const runChangeExamples = {
  A: { tags: ['customer:7', 'night'], metadata: { ticket: 'T-1207' } },
  B: { metadata: { ticket: 'T-1207' } },
};

export const runSearchExamples = {
  A: {
    runs: [{ ...summary.A, workflowId: exampleWorkflowIds.A, workflowName: 'Summarize' }],
    pagination: { total: 1, limit: 50, offset: 0, hasMore: false, nextCursor: null },
  },
  B: { runs: [summary.B, failed], total: 2, limit: 20, offset: 0, nextCursor: null },
};

export const retryExamples = {
  A: { fromStep: 'summarize' },
  B: { fromStep: 'summarize', definition: 'current' as const },
};

export const runInputExamples = { A: summary.A.input, B: { input: { text }, variables: { text } } };

const stepOutput = { stepId: 'summarize', output: result };
export const stepOutputExamples = { A: stepOutput, B: stepOutput };

const events = (runId: string) =>
  [
    'retry: 1000',
    '',
    'event: step.started',
    `data: ${JSON.stringify({ runId, at: startedAt, stepId: 'summarize', name: 'Summary' })}`,
    'id: 2',
    '',
    '',
  ].join('\n');
const manyEvents = (runId: string) => events(runId).replace('id: 2', 'id: AZXq0nYUzMzd3d0AAAI');
export const runsEventsExamples = { A: manyEvents(exampleRunIds.A), B: manyEvents(exampleRunIds.B) };
export const runEventsExamples = { A: events(exampleRunIds.A), B: events(exampleRunIds.B) };
