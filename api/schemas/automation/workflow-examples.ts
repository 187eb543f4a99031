import type { NewWorkflowExample, WorkflowChangeExample } from './workflow.ts';

export const exampleWorkflowIds = {
  A: '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000',
  B: 'wf_0199aaaabbbb7ccc8dddeeeeffff0000',
} as const;

const prompt = 'Summarize in a {{style}} style: {{text}}';
const inputs = [
  { name: 'text', type: 'string', required: true },
  { name: 'style', type: 'string', required: false, default: 'plain', description: 'The style of the summary.' },
] as const;

/** A step of every type. `chat` is the dialect's name of a step that asks a model. */
const triage = <Chat extends string>(chat: Chat) => ({
  name: 'Triage',
  steps: [
    {
      id: 'classify',
      name: 'Classify',
      type: chat,
      prompt: 'Is this about billing, a bug or something else? {{input}}',
      outputSchema: {
        type: 'object',
        properties: { topic: { type: 'string', enum: ['billing', 'bug', 'other'] } },
        required: ['topic'],
      },
      retry: { maxAttempts: 3 },
      fallback: [{ provider: 'OPENAI' as const, model: 'gpt-4o' }],
    },
    {
      id: 'is_bug',
      name: 'Is it a bug?',
      type: 'condition' as const,
      expression: 'steps.classify.output.topic == "bug"',
      then: 'report',
      else: 'end',
    },
    {
      id: 'report',
      name: 'Report',
      type: 'transform' as const,
      expression: '{"title": "Bug report", "text": input, "topic": steps.classify.output.topic}',
    },
    {
      id: 'tell',
      name: 'Tell the team',
      type: 'action' as const,
      integration: 'slack',
      action: 'send_message',
      payload: { channel: 'C0123456789', text: 'A bug was reported: {{input}}' },
    },
  ],
});

export const newWorkflowExamples = {
  A: {
    name: 'Summarize',
    description: 'Summarizes a text.',
    steps: [{ id: 'summarize', type: 'prompt', prompt: 'Summarize in a {{style}} style: {{input}}' }],
  },
  B: {
    name: 'Summarize',
    status: 'active',
    steps: [{ id: 'summarize', name: 'Summary', type: 'ai_chat', prompt, temperature: 0.2 }],
    inputs: [...inputs],
  },
  AEveryStepType: triage('prompt'),
  BEveryStepType: triage('ai_chat'),
  AFromTemplate: { template: 'map-reviews' },
  BFromTemplate: { template: 'podcast', name: 'Our podcast' },
} satisfies Record<string, NewWorkflowExample | { template: string; name?: string }>;

export const workflowChangeExamples = {
  A: { description: 'Summarizes long texts.', isActive: true },
  B: { name: 'Summarize briefly', status: 'active' as const },
} satisfies Record<string, WorkflowChangeExample>;

const createdAt = '2026-11-21T09:30:00.000Z';
const updatedAt = '2026-11-21T09:41:12.482Z';
const { name, description } = newWorkflowExamples.A;

const summary = {
  A: { id: exampleWorkflowIds.A, name, description, totalRuns: 12, createdAt, updatedAt, isActive: true },
  B: {
    id: exampleWorkflowIds.B,
    name,
    description: null,
    totalRuns: 12,
    createdAt,
    updatedAt,
    status: 'active' as const,
  },
};

export const workflowSummaryExamples = {
  A: { ...summary.A, totalRuns: 0, updatedAt: createdAt },
  B: { ...summary.B, totalRuns: 0, updatedAt: createdAt },
};

const definition = { aiModel: 'claude-sonnet-4-20250514', aiProvider: 'ANTHROPIC' as const, config: {} };
const [stepOfA] = newWorkflowExamples.A.steps;
const [stepOfB] = newWorkflowExamples.B.steps;

export const workflowDetailExamples = {
  A: { ...summary.A, version: 1, ...definition, isPaused: false, steps: [{ ...stepOfA!, type: 'prompt' as const }] },
  B: {
    ...summary.B,
    version: 1,
    ...definition,
    isPaused: false,
    steps: [{ ...stepOfB!, type: 'ai_chat' as const }],
    inputs: [...inputs],
    webhookUrl: `https://api.example.com/api/v1/webhooks/${exampleWorkflowIds.B}`,
  },
};

export const workflowListExamples = {
  A: { workflows: [summary.A], pagination: { total: 1, limit: 50, offset: 0, hasMore: false } },
  B: { workflows: [summary.B], total: 1, limit: 20, offset: 0 },
};

const { aiModel } = definition;

export const changedWorkflowExamples = {
  A: { id: exampleWorkflowIds.A, name, ...workflowChangeExamples.A, aiModel, updatedAt },
  B: { id: exampleWorkflowIds.B, ...workflowChangeExamples.B, description: null, aiModel, updatedAt },
};
